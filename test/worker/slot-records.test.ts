/** What the statistics of a worker say about its slots (D196). */
import { expect, it } from '@jest/globals'
import type { TaskLease } from '../../src/automation/index.ts'
import { VirtualTime } from '../../src/runtime/index.ts'
import { ActiveErrors } from '../../src/worker/active-errors.ts'
import { slotLogOf } from '../../src/worker/logs.ts'
import { SlotRecords } from '../../src/worker/slot-records.ts'
import { recordingLog } from '../kit/recording-log.ts'

it('names the task of each slot and how long it runs, until the slot takes the next one or ends', async () => {
  const time = new VirtualTime()
  const records = new SlotRecords(time, slotLogOf(recordingLog()), new ActiveErrors(() => {}))
  const leases: (TaskLease | null)[] = [{ id: 'a' } as TaskLease, null, { id: 'b' } as TaskLease]
  const source = records.watch(3, { take: () => Promise.resolve(leases.shift() ?? null) })
  const { signal } = new AbortController()
  const shown = (canNameTasks = true) => records.perSlot([{ slotId: 3, ageMs: 9_000 }], canNameTasks)
  const idle = [{ slot_id: 3, age_seconds: 9, counters: {} }]
  expect(shown()).toEqual(idle)
  await source.take(signal)
  await time.advance(1_500)
  expect(shown()).toEqual([{ ...idle[0], task_id: 'a', task_seconds: 1.5 }])
  expect(shown(false)).toEqual(idle)
  await source.take(signal)
  expect(shown()).toEqual(idle)
  await source.take(signal)
  expect(shown()).toMatchObject([{ task_id: 'b', task_seconds: 0 }])
  records.forget(3)
  expect(shown()).toEqual(idle)
})
