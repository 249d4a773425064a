import { describe, expect, it } from '@jest/globals'
import { systemLoopDelay, systemTime } from '../../src/runtime/index.ts'

describe('the delay of the event loop', () => {
  it('measures how long it was blocked, and restarts with each reading', async () => {
    const delay = systemLoopDelay()
    try {
      await systemTime.sleep(50) // The first reading measures nothing.
      const untilMs = systemTime.monotonicMs() + 250
      while (systemTime.monotonicMs() < untilMs); // Blocks the event loop.
      await systemTime.sleep(30)
      expect(delay.takeP99Ms()).toBeGreaterThan(150)
      expect(delay.takeP99Ms()).toBe(0)
    } finally {
      delay.stop()
    }
  })
})
