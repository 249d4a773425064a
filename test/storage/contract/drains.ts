/** Contract of drains (D6, D61): which process a drain applies to, which connections are notified, and what ends it. */
import { describe, expect, it } from '@jest/globals'
import { HARDWARE, SECOND, TYPE, conn, ref, registration, sole, storeFixtures } from './fixture.ts'
import type { Create } from './fixture.ts'
import type { Backend, WorkerRow } from '../../../src/storage/index.ts'

const row = async (backend: Backend): Promise<WorkerRow | null> => sole(await backend.workers.get([ref('w1')]))
const reported = async (backend: Backend, name: string, instance = ''): Promise<unknown> =>
  (await backend.workers.register([registration('w1', name, { instance })])).map((answer) =>
    answer.kind === 'registered' ? answer.drain : answer,
  )

export function drains(name: string, create: Create): void {
  describe(`${name} backend: workers.drain`, () => {
    const open = storeFixtures(create)
    const connected = async (instance = '') => {
      const fixture = await open()
      await fixture.backend.meta.beat('m1')
      await reported(fixture.backend, 'm1/1', instance)
      return fixture
    }
    const unavailable = async (instance = '') => {
      const fixture = await connected(instance)
      await fixture.backend.workers.disconnect([conn('w1', 'm1/1')])
      return fixture
    }

    it('returns the connection to notify and sets the state to DRAINING', async () => {
      const { backend, clock } = await connected()
      clock.advance(SECOND)
      expect(await backend.workers.drain([ref('w1'), ref('unknown')])).toEqual([
        { kind: 'draining', conn: 'm1/1' },
        { kind: 'not_found' },
      ])
      expect(await row(backend)).toMatchObject({ state: 'DRAINING', draining: true, stateSinceMs: clock.wallMs() })
    })

    it('keeps DRAINING when that process reports another state, and stores the rest of the report', async () => {
      const { backend, clock } = await connected()
      await backend.workers.drain([ref('w1')])
      const since = clock.wallMs()
      clock.advance(SECOND)
      const state = { state: 'RUNNING', gen: 2, lastError: 'x' } as const
      expect(await backend.workers.beat([{ ...conn('w1', 'm1/1'), state }])).toEqual([{ status: 'drain', gen: 0 }])
      expect(await row(backend)).toMatchObject({
        state: 'DRAINING',
        stateSinceMs: since,
        lastSeenAtMs: clock.wallMs(),
        appliedGen: 2,
        lastError: 'x',
      })
    })

    it('is idempotent', async () => {
      const { backend, clock } = await connected('i1')
      await backend.workers.drain([ref('w1')])
      const before = await row(backend)
      clock.advance(SECOND)
      expect(await backend.workers.drain([ref('w1')])).toEqual([{ kind: 'draining', conn: 'm1/1' }])
      expect(await row(backend)).toEqual(before)
    })

    it('notifies the same process again when it reconnects', async () => {
      const { backend } = await connected('i1')
      await backend.workers.drain([ref('w1')])
      expect(await reported(backend, 'm1/2', 'i1')).toEqual([true])
      await backend.workers.disconnect([conn('w1', 'm1/2')])
      expect(await row(backend)).toMatchObject({ state: 'DRAINING', draining: true })
      expect(await reported(backend, 'm1/3', 'i1')).toEqual([true])
    })

    it('reports the drain to the next registration, with the previous record (D51)', async () => {
      const { backend } = await connected('i1')
      await backend.workers.beat([{ ...conn('w1', 'm1/1'), state: { state: 'RUNNING', gen: 3, lastError: 'a:b' } }])
      await backend.workers.drain([ref('w1')])
      const before = { state: 'DRAINING', lastError: 'a:b', appliedGen: 3 }
      expect(await backend.workers.register([registration('w1', 'm1/2', { instance: 'i1' })])).toMatchObject([
        { previous: before, drain: true },
      ])
      expect(await backend.workers.register([registration('w1', 'm1/3', { instance: 'i2' })])).toMatchObject([
        { previous: before, drain: false },
      ])
      expect(await backend.workers.register([registration('w1', 'm1/4', { instance: 'i2' })])).toMatchObject([
        { previous: { ...before, state: 'IDLE' }, drain: false },
      ])
    })

    it('ends with state IDLE when another process registers', async () => {
      const { backend, clock } = await connected('i1')
      await backend.workers.drain([ref('w1')])
      await backend.workers.beat([{ ...conn('w1', 'm1/1'), state: { state: 'RUNNING', gen: 0, lastError: null } }])
      clock.advance(SECOND)
      expect(await reported(backend, 'm1/2', 'i2')).toEqual([false])
      expect(await row(backend)).toMatchObject({ state: 'IDLE', draining: false, stateSinceMs: clock.wallMs() })
      expect(await backend.workers.beat([conn('w1', 'm1/2')])).toMatchObject([{ status: 'ok' }])
    })

    it('applies only to the connection when the process has no instance id', async () => {
      const { backend } = await connected()
      await backend.workers.drain([ref('w1')])
      expect(await reported(backend, 'm1/2')).toEqual([false])
      expect(await row(backend)).toMatchObject({ state: 'IDLE', draining: false })
    })

    it('applies to the next process that registers when requested while disconnected (D61)', async () => {
      const { backend } = await unavailable('i1')
      expect(await backend.workers.drain([ref('w1')])).toEqual([{ kind: 'draining', conn: null }])
      expect(await row(backend)).toMatchObject({ state: 'DRAINING', draining: true })
      expect(await reported(backend, 'm1/2', 'i2')).toEqual([true])
      expect(await reported(backend, 'm1/3', 'i2')).toEqual([true])
      expect(await reported(backend, 'm1/4', 'i3')).toEqual([false])
      expect(await row(backend)).toMatchObject({ state: 'IDLE', draining: false })
    })

    it('applies to the next connection when the next process has no instance id', async () => {
      const { backend } = await unavailable()
      await backend.workers.drain([ref('w1')])
      expect(await reported(backend, 'm1/2')).toEqual([true])
      expect(await backend.workers.beat([conn('w1', 'm1/2')])).toMatchObject([{ status: 'drain' }])
      expect(await reported(backend, 'm1/3')).toEqual([false])
    })

    it('treats the workers of a dead master as disconnected', async () => {
      const { backend, clock } = await connected('i1')
      clock.advance(15 * SECOND)
      await backend.workers.drain([ref('w1')])
      expect(await reported(backend, 'm2/1', 'i2')).toEqual([true])
    })

    it('keeps who requested it and when, until it ends, also when the process reconnects (D195)', async () => {
      const { backend, clock } = await connected('i1')
      const request = async () => (await row(backend))?.drainRequest
      await backend.workers.drain([
        { ...ref('w1'), actor: 'admin a:b%c' },
        { ...ref('w1'), actor: 'second' },
      ])
      const expected = { atMs: clock.wallMs(), actor: 'admin a:b%c' }
      expect(await request()).toEqual(expected)
      clock.advance(SECOND)
      await backend.workers.drain([{ ...ref('w1'), actor: 'later' }])
      expect(await request()).toEqual(expected)
      expect(await reported(backend, 'm1/2', 'i1')).toEqual([true])
      expect(await request()).toEqual(expected)
      clock.advance(SECOND)
      await backend.workers.disconnect([conn('w1', 'm1/2')])
      expect(await request()).toEqual(expected)
      expect(await reported(backend, 'm1/3', 'i2')).toEqual([false])
      expect(await request()).toBeUndefined()
      await backend.workers.drain([ref('w1')])
      expect(await request()).toBeUndefined()
    })

    it('keeps the request of a drain for the process that registers next (D195)', async () => {
      const { backend, clock } = await unavailable('i1')
      await backend.workers.drain([{ ...ref('w1'), actor: 'ana' }])
      const expected = { atMs: clock.wallMs(), actor: 'ana' }
      clock.advance(SECOND)
      expect(await reported(backend, 'm1/2', 'i2')).toEqual([true])
      expect(await row(backend)).toMatchObject({ drainRequest: expected })
    })

    it('keeps how the last connection ended, until the next register (D195)', async () => {
      const { backend, clock } = await connected('i1')
      const departure = async () => {
        const [listed] = await backend.workers.page(TYPE, null, 10)
        expect(listed).toEqual(await row(backend))
        return listed?.departure
      }
      const end = { by: 'network', code: 1006, reason: 'no close: frame' } as const
      clock.advance(SECOND)
      await backend.workers.disconnect([{ ...conn('w1', 'm1/1'), end }])
      const atMs = clock.wallMs()
      expect(await departure()).toEqual({ ...end, atMs, wasDraining: false, drain: null })
      clock.advance(SECOND)
      await backend.workers.disconnect([conn('w1', 'm1/1')])
      await backend.workers.drain([{ ...ref('w1'), actor: 'ana' }])
      expect(await departure()).toEqual({ ...end, atMs, wasDraining: false, drain: null })
      expect(await reported(backend, 'm1/2', 'i2')).toEqual([true])
      expect(await departure()).toBeUndefined()
      const orderly = { by: 'worker', code: 4100, reason: '' } as const
      await backend.workers.disconnect([{ ...conn('w1', 'm1/2'), ended: true, end: orderly }])
      const drain = { atMs: atMs + SECOND, actor: 'ana' }
      expect(await departure()).toEqual({ ...orderly, atMs: clock.wallMs(), wasDraining: true, drain })
      await reported(backend, 'm1/3', 'i3')
      await backend.workers.disconnect([conn('w1', 'm1/3')]) // How it ended is not known.
      expect(await departure()).toBeUndefined()
      await backend.workers.forget([ref('w1')])
      await reported(backend, 'm1/4', 'i4')
      expect(await departure()).toBeUndefined()
    })

    it('ends when the worker is forgotten', async () => {
      const { backend } = await connected()
      await backend.workers.drain([ref('w1')])
      await backend.workers.forget([ref('w1')])
      expect(await reported(backend, 'm1/2')).toEqual([false])
      expect(await row(backend)).toMatchObject({ state: 'IDLE', draining: false, hardware: HARDWARE })
    })
  })
}
