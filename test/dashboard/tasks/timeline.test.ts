import { describe, expect, it } from '@jest/globals'
import { timelineOf } from '../../../src/dashboard/tasks/timeline.ts'
import type { ListedTask } from '../../../src/dashboard/tasks/task-text.ts'

const listed: ListedTask = {
  task_id: 't',
  place: 'scheduled',
  payload: {},
  priority: 0,
  attempt: 1,
  submitted_at: 10,
  not_before: 20,
  due_at: 60,
}
const failed = { attempt: 1, at: 30, kind: 'failed', error: 'boom', worker_id: 'w-1' } as const
const lost = { attempt: 1, at: 40, kind: 'lease_lost', error: null, worker_id: 'w-2' } as const

describe('the timeline of a task', () => {
  it('lists submit, delay, failed attempts, lost leases and what the task waits for', () => {
    const steps = timelineOf({ task_id: 't', place: 'scheduled', attempts: [failed, lost] }, listed)
    expect(steps.map(({ at, worker, error, kind }) => [at, worker, error, kind])).toEqual([
      [10, null, null, 'past'],
      [20, null, null, 'past'],
      [30, 'w-1', 'boom', 'bad'],
      [40, 'w-2', null, 'bad'],
      [60, null, null, 'next'],
    ])
  })

  it('shows only the place if the master returned nothing else', () => {
    expect(timelineOf({ task_id: 't', place: 'pending' }, null)).toEqual([
      { at: null, text: 'Waiting for a worker', worker: null, error: null, kind: 'next' },
    ])
  })

  it('ends with the end of a finished task', () => {
    const done = { task_id: 't', place: 'done', finished_at: 50, worker_id: 'w-1' } as const
    expect(timelineOf(done, listed).at(-1)).toMatchObject({ at: 50, text: 'Completed', worker: 'w-1', kind: 'past' })
  })

  it('names who cancelled a task', () => {
    const cancelled = { task_id: 't', place: 'cancelled', finished_at: 50, actor: 'cli:ada' } as const
    expect(timelineOf(cancelled, null)).toMatchObject([{ at: 50, text: 'Cancelled by cli:ada', kind: 'past' }])
  })

  it('does not take the time of a task from a list that is older than its place', () => {
    expect(timelineOf({ task_id: 't', place: 'in_flight' }, listed).at(-1)).toMatchObject({ at: null, kind: 'next' })
  })

  it('says that older failures are not kept when it shows as many as the master keeps', () => {
    const five = [1, 2, 3, 4, 5].map((attempt) => ({ ...failed, attempt }))
    const texts = (attempts: readonly (typeof five)[number][]) =>
      timelineOf({ task_id: 't', place: 'pending', attempts: [...attempts] }, null).map(({ text }) => text)
    expect(texts(five)[0]).toBe('Only the newest 5 failures are kept')
    expect(texts(five.slice(1))).not.toContain('Only the newest 5 failures are kept')
  })
})
