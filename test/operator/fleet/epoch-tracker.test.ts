import { describe, expect, it } from '@jest/globals'
import { EpochTracker } from '../../../src/operator/fleet/epoch-tracker.ts'
import { VirtualTime } from '../../../src/runtime/index.ts'

describe('the epoch of the store', () => {
  it('ignores a response whose request was sent before the epoch changed (D46)', () => {
    const reports: string[] = []
    const tracker = new EpochTracker({
      clock: new VirtualTime(),
      onEpoch: () => reports.push('read again'),
      onReset: (message) => reports.push(message),
    })
    expect(tracker.observe('first', 1, 2)).toBe(true)
    expect(tracker.observe('second', 4, 5)).toBe(true)
    expect(tracker.observe('first', 3, 6)).toBe(false) // Sent by a master that has not noticed the change.
    expect([tracker.epoch, reports]).toEqual([
      'second',
      ['read again', "the master's store is another one than before"],
    ])
  })
})
