import { describe, expect, it } from '@jest/globals'
import { systemLoopDelay, systemTime } from '../../src/runtime/index.ts'

describe('the delay of the event loop', () => {
  it('shows what held it up, and begins anew after each look', async () => {
    const delay = systemLoopDelay()
    try {
      await systemTime.sleep(50) // Its first look measures nothing.
      const untilMs = systemTime.monotonicMs() + 250
      while (systemTime.monotonicMs() < untilMs); // Holds it up.
      await systemTime.sleep(30)
      expect(delay.takeP99Ms()).toBeGreaterThan(150)
      expect(delay.takeP99Ms()).toBe(0)
    } finally {
      delay.stop()
    }
  })
})
