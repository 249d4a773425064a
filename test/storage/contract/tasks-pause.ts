/** Contract of pauses: a paused queue leases nothing, and everything else continues (D106). */
import { describe, expect, it } from '@jest/globals'
import {
  DAY,
  MINUTE,
  SECOND,
  TYPE,
  VISIBILITY,
  ask,
  dead,
  ids,
  inFlight,
  nack,
  pending,
  reopen,
  reserve,
  sole,
  storeFixtures,
  submit,
  task,
} from './fixture.ts'
import type { Create, StoreFixture } from './fixture.ts'
import type { Backend, Pause } from '../../../src/storage/index.ts'

const BY = { note: null, actor: 'admin', untilMs: null }
const NOTHING = { kind: 'leased', leases: [] }
const ONE = [{ worker: 'w1', limit: 10, defaultMaxAttempts: 3 }]

/** What the counts and the listing show, which must be the same. */
async function shown(backend: Backend, type = TYPE): Promise<Pause | undefined> {
  const [counts] = await backend.tasks.counts([type])
  const { paused } = await backend.tasks.queue(type, 1)
  expect(counts?.paused).toEqual(paused)
  return paused
}

export function tasksPause(name: string, create: Create): void {
  const open: () => Promise<StoreFixture> = storeFixtures(create)

  describe(`${name} backend: pauses`, () => {
    it('lease nothing until the queue is resumed, and show who paused it, why and since when', async () => {
      const { backend, clock } = await open()
      await submit(backend, 'a', 'b')
      expect(await shown(backend)).toBeUndefined()
      const since = clock.wallMs()
      const pause = { note: 'naïve 🦊 "deploy|', actor: 'admin cli:ada', untilMs: null }
      expect(await backend.tasks.pause(TYPE, pause)).toEqual({ ...pause, sinceMs: since })
      clock.advance(SECOND)
      expect(await ask(backend, ONE)).toEqual({ results: [NOTHING], dropped: 0, nextDueAtMs: null })
      expect(await shown(backend)).toEqual({ ...pause, sinceMs: since })
      expect(await pending(backend)).toEqual(['a', 'b'])
      expect(await backend.tasks.resume(TYPE)).toBe(true)
      expect(await shown(backend)).toBeUndefined()
      expect(ids(await reserve(backend))).toEqual(['a', 'b'])
      expect(await backend.tasks.resume(TYPE)).toBe(false)
    })

    it('are replaced by a later one, and last since the first', async () => {
      const { backend, clock } = await open()
      const since = clock.wallMs()
      await backend.tasks.pause(TYPE, { note: 'first', actor: 'ada', untilMs: since + MINUTE })
      clock.advance(MINUTE - 1)
      const second = { note: null, actor: 'bob', untilMs: since + 2 * MINUTE }
      expect(await backend.tasks.pause(TYPE, second)).toEqual({ ...second, sinceMs: since })
      clock.advance(1)
      expect(await shown(backend)).toEqual({ ...second, sinceMs: since })
      clock.advance(MINUTE)
      const third = await backend.tasks.pause(TYPE, BY)
      expect(third.sinceMs).toBe(since + 2 * MINUTE)
    })

    it('end by time without a call, and a reserve says when', async () => {
      const { backend, clock } = await open()
      await submit(backend, 'a')
      const end = clock.wallMs() + MINUTE
      await backend.tasks.pause(TYPE, { ...BY, untilMs: end })
      clock.advance(MINUTE - 1)
      expect(await ask(backend, ONE)).toEqual({ results: [NOTHING], dropped: 0, nextDueAtMs: end })
      clock.advance(1)
      expect(await shown(backend)).toBeUndefined()
      expect(await ask(backend, ONE)).toMatchObject({ results: [{ leases: [{ id: 'a' }] }], nextDueAtMs: null })
      expect(await backend.tasks.resume(TYPE)).toBe(false)
    })

    it('whose end has passed pause nothing', async () => {
      const { backend, clock } = await open()
      await submit(backend, 'a')
      await backend.tasks.pause(TYPE, { ...BY, untilMs: clock.wallMs() })
      expect(await shown(backend)).toBeUndefined()
      expect(ids(await reserve(backend))).toEqual(['a'])
      expect(await backend.tasks.resume(TYPE)).toBe(false)
    })

    it.each([
      ['a scheduled task is due first', SECOND, MINUTE, SECOND],
      ['the pause ends first', MINUTE, SECOND, SECOND],
      ['no task is scheduled', null, SECOND, SECOND],
      ['only a resume ends the pause', MINUTE, null, MINUTE],
    ])('tell a reserve the earlier time: %s', async (_, dueInMs, endsInMs, expected) => {
      const { backend, clock } = await open()
      const now = clock.wallMs()
      await submit(backend, 'pending')
      if (dueInMs !== null) await submit(backend, task('later', { notBeforeMs: now + dueInMs }))
      await backend.tasks.pause(TYPE, { ...BY, untilMs: endsInMs === null ? null : now + endsInMs })
      expect(await ask(backend, ONE)).toMatchObject({ results: [NOTHING], nextDueAtMs: now + expected })
    })

    it('that keep no task from a worker do not tell it when they end', async () => {
      const { backend, clock } = await open()
      await backend.tasks.pause(TYPE, { ...BY, untilMs: clock.wallMs() + SECOND })
      expect(await ask(backend, ONE)).toEqual({ results: [NOTHING], dropped: 0, nextDueAtMs: null })
      await submit(backend, 'a')
      await backend.workers.drain([{ type: TYPE, id: 'w1' }])
      expect(await ask(backend, ONE)).toMatchObject({ results: [{ kind: 'refused' }], nextDueAtMs: null })
    })

    it('let submits, settles, promotions and sweeps continue', async () => {
      const { backend, clock } = await open()
      const [acked, failed, released, doomed] = await inFlight(backend, 'acked', 'failed', 'released', 'doomed', 'lost')
      if (acked === undefined || failed === undefined || released === undefined || doomed === undefined)
        throw new Error('four leases are missing')
      await backend.tasks.pause(TYPE, BY)
      await submit(backend, 'new')
      expect(await backend.tasks.ack(TYPE, [acked])).toEqual(['ok'])
      expect(await nack(backend, [failed], { retryInMs: SECOND })).toEqual(['scheduled'])
      expect(await nack(backend, [doomed], { permanent: true })).toEqual(['dead'])
      expect(await backend.tasks.release(TYPE, [released])).toEqual(['ok'])
      clock.advance(SECOND)
      expect(await ask(backend, ONE)).toMatchObject({ results: [NOTHING] })
      expect(await pending(backend)).toEqual(['released', 'new', 'failed'])
      clock.advance(VISIBILITY)
      expect(await backend.tasks.sweep(TYPE, 0, 100)).toMatchObject({ requeued: 1 })
      expect(await dead(backend)).toEqual(['doomed'])
      expect(await backend.tasks.replay(TYPE, 1)).toBe(1)
      await backend.tasks.resume(TYPE)
      expect(ids(await reserve(backend))).toEqual(['lost', 'released', 'new', 'failed', 'doomed'])
    })

    it('let tasks expire', async () => {
      const { backend, clock } = await open()
      await submit(backend, task('short', { ttlMs: SECOND }), 'long')
      await backend.tasks.pause(TYPE, BY)
      clock.advance(SECOND)
      expect(await ask(backend, ONE)).toMatchObject({ results: [NOTHING], dropped: 0 })
      await backend.tasks.resume(TYPE)
      expect(await ask(backend, ONE)).toMatchObject({ results: [{ leases: [{ id: 'long' }] }], dropped: 1 })
    })

    it('refuse a drained or unknown worker as before', async () => {
      const { backend } = await open()
      await ask(backend, ONE)
      await backend.workers.drain([{ type: TYPE, id: 'w1' }])
      await backend.tasks.pause(TYPE, BY)
      const requests = ['w1', 'w2'].map((worker) => ({ worker, limit: 1, gen: 0, defaultMaxAttempts: 1 }))
      expect((await backend.tasks.reserve(TYPE, VISIBILITY, requests)).results).toEqual([
        { kind: 'refused', reason: 'draining' },
        { kind: 'refused', reason: 'unknown' },
      ])
    })

    it('concern one type, which needs no task', async () => {
      const { backend } = await open()
      await backend.tasks.pause('other', BY)
      expect(await shown(backend, 'other')).toMatchObject(BY)
      expect(await shown(backend)).toBeUndefined()
      await submit(backend, 'a')
      expect(ids(await reserve(backend))).toEqual(['a'])
    })

    it('lease nothing to a reserve that is called after the pause, whatever is under way', async () => {
      const { backend } = await open()
      await ask(backend, ONE)
      await submit(backend, ...Array.from({ length: 20 }, (_, i) => `t${i}`))
      const request = { worker: 'w1', limit: 1, gen: 0, defaultMaxAttempts: 3 }
      const before = backend.tasks.reserve(TYPE, VISIBILITY, [request])
      const pause = backend.tasks.pause(TYPE, BY)
      await pause
      const after = await backend.tasks.reserve(TYPE, VISIBILITY, [{ ...request, limit: 20 }])
      expect(sole(after.results)).toEqual(NOTHING)
      await before
    })

    it('survive a reopened store, if it is durable', async () => {
      const { backend, clock } = await open()
      const pause = { note: 'n', actor: 'ada', untilMs: clock.wallMs() + DAY }
      const stored = await backend.tasks.pause(TYPE, pause)
      await submit(backend, 'a')
      await reopen(backend)
      expect(await shown(backend)).toEqual(backend.capabilities.durable ? stored : undefined)
    })

    it.each([
      ['an empty actor', { ...BY, actor: '' }],
      ['an empty note', { ...BY, note: '' }],
      ['a long note', { ...BY, note: 'x'.repeat(257) }],
      ['a negative end', { ...BY, untilMs: -1 }],
      ['an end with a fraction', { ...BY, untilMs: 1.5 }],
    ])('reject %s before any effect', async (_, pause) => {
      const { backend } = await open()
      await expect(backend.tasks.pause(TYPE, pause)).rejects.toThrow(TypeError)
      expect(await shown(backend)).toBeUndefined()
    })
  })
}
