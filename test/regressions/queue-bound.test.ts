/**
 * Regression: queues grew without limit, or the limit lost tasks. At the limit, a submit must be rejected without any
 * effect (D54).
 */
import { expect, it } from '@jest/globals'
import type { Backend, NewTask, SubmitItemResult } from '../../src/storage/index.ts'
import { DAY, MINUTE, SECOND, TYPE, ids, killed, nack, reserve, submit, task } from '../storage/contract/fixture.ts'
import { onEachBackend } from './backends.ts'

const BOUND = 4
const QUEUED = { kind: 'queued' }
const put = (backend: Backend, ...tasks: readonly NewTask[]): Promise<readonly SubmitItemResult[]> =>
  backend.tasks.submit(TYPE, DAY, tasks, BOUND)
const own = (id: string, more: Partial<NewTask> = {}): NewTask => task(id, { ownId: true, ...more })

/** Fills the queue with one task in every state. */
async function full(backend: Backend): Promise<void> {
  await killed(backend, own('dead', { key: 'k' }))
  await submit(backend, own('scheduled'), own('in flight'))
  const [first] = await reserve(backend)
  await nack(backend, first === undefined ? [] : [first], { retryInMs: MINUTE })
  await submit(backend, own('pending'))
}

onEachBackend('queue bound', (open) => {
  it('counts the tasks in every state', async () => {
    const { backend } = await open()
    await full(backend)
    expect(await backend.tasks.locate(TYPE, ['dead', 'scheduled', 'in flight', 'pending'])).toEqual([
      'dead',
      'scheduled',
      'in_flight',
      'pending',
    ])
    expect(await put(backend, task('one more'))).toEqual([{ kind: 'queue_full' }])
    expect(await backend.tasks.submit('another type', DAY, [task('a')], BOUND)).toEqual([QUEUED])
  })

  it('still reports duplicates by key and by id', async () => {
    const { backend } = await open()
    await full(backend)
    expect(
      await put(backend, task('x', { key: 'k' }), own('in flight'), own('scheduled'), own('dead'), own('new')),
    ).toEqual([
      { kind: 'duplicate', duplicateOf: 'dead' },
      { kind: 'duplicate', duplicateOf: 'in flight' },
      { kind: 'duplicate', duplicateOf: 'scheduled' },
      { kind: 'duplicate', duplicateOf: 'dead' },
      { kind: 'queue_full' },
    ])
  })

  it('stores neither the id nor the key of a rejected task', async () => {
    const { backend } = await open()
    await full(backend)
    expect(await put(backend, own('late', { key: 'late' }))).toEqual([{ kind: 'queue_full' }])
    expect(await backend.tasks.locate(TYPE, ['late'])).toEqual([null])
    await backend.tasks.clearDead(TYPE)
    expect(await put(backend, own('other', { key: 'late' }))).toEqual([QUEUED])
    expect((await backend.tasks.counts([TYPE]))[0]?.totals.submitted).toBe(5)
  })

  it('accepts the tasks of a batch in order until the limit', async () => {
    const { backend } = await open()
    expect(await put(backend, ...['a', 'b', 'b', 'c', 'd', 'e', 'a'].map((id) => own(id)))).toEqual([
      QUEUED,
      QUEUED,
      { kind: 'duplicate', duplicateOf: 'b' },
      QUEUED,
      QUEUED,
      { kind: 'queue_full' },
      { kind: 'duplicate', duplicateOf: 'a' },
    ])
  })

  it('is never exceeded by concurrent callers', async () => {
    const { backend } = await open()
    const responses = await Promise.all(Array.from({ length: 50 }, async (_, i) => put(backend, task(`t${i}`))))
    expect(responses.flat().filter((answer) => answer.kind !== 'queue_full')).toHaveLength(BOUND)
  })

  it('can take new tasks after others were acked, dropped, removed or cleared', async () => {
    const { backend, clock } = await open()
    const fill = async (id: string): Promise<void> => {
      expect(await put(backend, task(id), task('too many'))).toEqual([QUEUED, { kind: 'queue_full' }])
    }
    await submit(backend, task('brief', { ttlMs: SECOND }), 'a', 'b', 'c')
    clock.advance(SECOND)
    const leases = await reserve(backend)
    expect(ids(leases)).toEqual(['a', 'b', 'c'])
    await fill('after the drop')
    await backend.tasks.ack(TYPE, leases.slice(0, 1))
    await fill('after the ack')
    await nack(backend, leases.slice(1), { permanent: true })
    await backend.tasks.applyToDead(TYPE, 'remove', ['b'])
    await fill('after the removal')
    await backend.tasks.clearDead(TYPE)
    await fill('after the clearing')
  })
})
