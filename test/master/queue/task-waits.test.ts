/** Tests how clients wait for the end of tasks: what wakes a wait, what ends it, and how many there may be (D111). */
import { describe, expect, it } from '@jest/globals'
import { TaskWaits } from '../../../src/master/queue/task-waits.ts'
import { VirtualTime } from '../../../src/runtime/index.ts'
import type { TaskPlace, TaskState } from '../../../src/storage/index.ts'

const TYPE = 'mailer'
const SECOND = 1_000
const PENDING: TaskState = { kind: 'stored', place: 'pending' }
const DONE: TaskState = {
  kind: 'done',
  finishedAtMs: 1,
  retainedUntilMs: 2,
  attempt: 0,
  worker: 'w',
  result: { kind: 'json', text: '1' },
}

function waitsOn(time: VirtualTime) {
  const states = new Map<string, TaskState>()
  const errors: unknown[] = []
  const store = { states, errors, reads: 0, isAvailable: true, beforeRead: async (): Promise<void> => {} }
  const read = async <T>(of: () => T): Promise<T> => {
    store.reads += 1
    if (!store.isAvailable) throw new Error('unavailable')
    const result = of()
    await store.beforeRead()
    return result
  }
  const placeOf = (state: TaskState | undefined): TaskPlace | null => (state?.kind === 'stored' ? state.place : null)
  const waits = new TaskWaits({
    clock: time,
    timers: time,
    describe: (_, ids) => read(() => ids.map((id) => states.get(id) ?? null)),
    locate: (_, ids) => read(() => ids.map((id) => placeOf(states.get(id)))),
    onCheckFailed: (error) => void errors.push(error),
  })
  return { store, waits }
}

const never = new AbortController().signal

/** Whether the promise has settled after everything that is ready has run. */
async function isSettled(promise: Promise<unknown>): Promise<boolean> {
  let settled = false
  promise.then(
    () => (settled = true),
    () => (settled = true),
  )
  for (let i = 0; i < 20; i += 1) await Promise.resolve()
  return settled
}

describe('waits for tasks', () => {
  it('return immediately without a time, or when one task has finished or is unknown', async () => {
    const { store, waits } = waitsOn(new VirtualTime())
    store.states.set('a', PENDING).set('b', DONE)
    expect(await waits.wait(TYPE, ['a'], 0, never)).toEqual([PENDING])
    expect(await waits.wait(TYPE, ['a', 'b'], 30 * SECOND, never)).toEqual([PENDING, DONE])
    expect(await waits.wait(TYPE, ['a', 'x'], 30 * SECOND, never)).toEqual([PENDING, null])
    expect(waits.size).toBe(0)
  })

  it('return the states at the end of their time', async () => {
    const time = new VirtualTime()
    const { store, waits } = waitsOn(time)
    store.states.set('a', PENDING)
    const waiting = waits.wait(TYPE, ['a'], 2 * SECOND, never)
    await time.advance(2 * SECOND - 1)
    expect(await isSettled(waiting)).toBe(false)
    store.states.set('a', { kind: 'stored', place: 'in_flight' })
    await time.advance(1)
    expect(await waiting).toEqual([{ kind: 'stored', place: 'in_flight' }])
    expect(waits.size).toBe(0)
  })

  it('are woken by a settle of one of their tasks, and by no other', async () => {
    const { store, waits } = waitsOn(new VirtualTime())
    store.states.set('a', PENDING).set('b', PENDING)
    const waiting = waits.wait(TYPE, ['a', 'b'], 30 * SECOND, never)
    await isSettled(waiting)
    const { reads } = store
    waits.finished(TYPE, ['c'])
    waits.finished('other', ['a'])
    expect(await isSettled(waiting)).toBe(false)
    expect(store.reads).toBe(reads)
    store.states.set('b', DONE)
    waits.finished(TYPE, ['b'])
    expect(await waiting).toEqual([PENDING, DONE])
  })

  it('miss no end that comes while the first read is under way', async () => {
    const { store, waits } = waitsOn(new VirtualTime())
    store.states.set('a', PENDING)
    store.beforeRead = async () => {
      store.beforeRead = async () => {}
      store.states.set('a', DONE)
      waits.finished(TYPE, ['a'])
    }
    expect(await waits.wait(TYPE, ['a'], 30 * SECOND, never)).toEqual([DONE])
  })

  it('are woken by the check if every message was lost, also after a check that failed', async () => {
    const { store, waits } = waitsOn(new VirtualTime())
    store.states.set('a', PENDING)
    const waiting = waits.wait(TYPE, ['a'], 30 * SECOND, never)
    await isSettled(waiting)
    store.states.set('a', DONE)
    store.isAvailable = false
    await waits.check()
    expect(store.errors).toHaveLength(1)
    expect(await isSettled(waiting)).toBe(false)
    store.isAvailable = true
    await waits.check()
    expect(await waiting).toEqual([DONE])
    const { reads } = store
    await waits.check()
    expect(store.reads).toBe(reads)
  })

  it('return what they read last when the client disconnects or the master stops', async () => {
    const { store, waits } = waitsOn(new VirtualTime())
    store.states.set('a', PENDING)
    const stop = new AbortController()
    const waiting = waits.wait(TYPE, ['a'], 30 * SECOND, stop.signal)
    await isSettled(waiting)
    stop.abort()
    expect(await waiting).toEqual([PENDING])
    expect(waits.size).toBe(0)
  })

  it('are at most 20,000 in all, and leave their place when the store fails', async () => {
    const { store, waits } = waitsOn(new VirtualTime())
    const ids = Array.from({ length: 1_000 }, (_, i) => `t${i}`)
    for (const id of ids) store.states.set(id, PENDING)
    const stop = new AbortController()
    const all = Array.from({ length: 20 }, () => waits.wait(TYPE, ids, 30 * SECOND, stop.signal))
    expect(waits.size).toBe(20_000)
    await expect(waits.wait(TYPE, ['t0'], SECOND, never)).rejects.toMatchObject({ code: 'OVERLOADED' })
    expect(await waits.wait(TYPE, ['t0'], 0, never)).toEqual([PENDING])
    stop.abort()
    await Promise.all(all)
    store.isAvailable = false
    await expect(waits.wait(TYPE, ['t0'], SECOND, never)).rejects.toThrow('unavailable')
    expect(waits.size).toBe(0)
  })
})
