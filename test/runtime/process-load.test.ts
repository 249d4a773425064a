import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { describe, expect, it } from '@jest/globals'
import { systemProcessLoad, systemTime } from '../../src/runtime/index.ts'

describe('the load of the process', () => {
  it('includes the longest delay of the event loop, and restarts with each reading', async () => {
    const load = systemProcessLoad()
    try {
      await systemTime.sleep(50) // The first reading measures nothing.
      const untilMs = systemTime.monotonicMs() + 250
      while (systemTime.monotonicMs() < untilMs); // Blocks the event loop.
      await systemTime.sleep(30)
      expect(load.takeLongestDelayMs()).toBeGreaterThan(150)
      expect(load.takeLongestDelayMs()).toBe(0)
    } finally {
      load.stop()
    }
  })

  it('includes the share of memory in use', () => {
    const load = systemProcessLoad()
    setFlagsFromString('--expose-gc')
    ;(runInNewContext('gc') as () => void)() // So that no collection follows that frees more than is kept below.
    const before = load.memoryShare()
    const kept = Array.from({ length: 1_000_000 }, (_, at) => ({ at }))
    expect(before).toBeGreaterThan(0)
    expect(load.memoryShare()).toBeGreaterThan(before)
    expect(load.memoryShare()).toBeLessThan(1)
    expect(kept).toHaveLength(1_000_000)
    load.stop()
  })
})
