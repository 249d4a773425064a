import { beforeEach, describe, expect, it } from '@jest/globals'
import type { FleetEvent } from '../../../src/dashboard/api/feed.ts'
import { ConfigReads } from '../../../src/dashboard/workers/config-reads.ts'

const changed = (...numbers: readonly number[]): readonly FleetEvent[] =>
  numbers.map((n) => ({ name: 'worker.config_changed', data: { type: 'mailer', worker_id: `m-${n}`, config_gen: 2 } }))

let read: string[][]
let timers: (() => void)[]
let reads: ConfigReads

beforeEach(() => {
  read = []
  timers = []
  reads = new ConfigReads({
    read: (workers) => read.push(workers.map(({ type, id }) => `${type}/${id}`)),
    after: (_, act) => {
      timers.push(act)
      return () => void (timers = timers.filter((each) => each !== act))
    },
  })
})
const pass = (): void => timers.splice(0).forEach((act) => act())

describe('a changed config', () => {
  it('is read once for all its events of a second', () => {
    reads.onEvents(changed(1, 2))
    reads.onEvents(changed(1))
    expect([read, timers.length]).toEqual([[], 1])
    pass()
    expect(read).toEqual([['mailer/m-1', 'mailer/m-2']])
    reads.onEvents(changed(1))
    pass()
    expect(read).toHaveLength(2)
  })

  it('is left to the next round if there are more than 20', () => {
    reads.onEvents(changed(...Array.from({ length: 21 }, (_, n) => n)))
    pass()
    expect(read).toEqual([])
    reads.onEvents(changed(...Array.from({ length: 20 }, (_, n) => n)))
    pass()
    expect(read).toHaveLength(1)
  })

  it('is not read for other events, nor after the end', () => {
    reads.onEvents([
      { name: 'worker.state', data: { type: 'mailer', worker_id: 'm-1' } },
      { name: 'reset', data: {} },
    ])
    expect(timers).toEqual([])
    reads.onEvents(changed(1))
    reads.end()
    pass()
    expect(read).toEqual([])
  })
})
