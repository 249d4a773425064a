import { afterEach, beforeEach, describe, expect, it } from '@jest/globals'
import { FleetError } from '../../../src/protocol/index.ts'
import { eventually } from '../../kit/eventually.ts'
import {
  registerFrame,
  stateFrame,
  statsFrame,
  RegistryFixture,
  WORKER_TOKEN,
  type WorkerClient,
} from '../registry/fixture.ts'

let fixture: RegistryFixture
const others: RegistryFixture[] = []
beforeEach(async () => {
  fixture = await RegistryFixture.open()
})
afterEach(async () => {
  for (const other of others.splice(0)) await other.close()
  await fixture.close()
})

const drain = (id = 'w1'): Promise<unknown> => fixture.call('POST', `/${id}/drain`)
const state = async (id = 'w1'): Promise<unknown> => (await fixture.get(`/${id}`))['state']
async function says(worker: WorkerClient, more: object = {}): Promise<void> {
  worker.send(stateFrame(more))
  await worker.settled()
}

describe('registration', () => {
  it('creates an IDLE record with the default config at generation 0 (D3, D4)', async () => {
    await fixture.worker('w1')
    expect(await fixture.get('/w1')).toMatchObject({
      state: 'IDLE',
      connected: true,
      config_gen: 0,
      config: { enabled: false, slots: 1, max_attempts: 3, recycle_seconds: 0 },
    })
  })

  it('of a known worker keeps state and config, and publishes connected but not registered (D3)', async () => {
    const first = await fixture.worker('w1')
    await says(first)
    await fixture.patch('w1', { slots: 4 })
    await first.close()
    await fixture.worker('w1')
    expect(await fixture.get('/w1')).toMatchObject({
      state: 'RUNNING',
      connected: true,
      config_gen: 1,
      config: { slots: 4 },
    })
    const names = (await fixture.events()).map(({ name }) => name)
    expect(names.filter((name) => name === 'worker.registered')).toHaveLength(1)
    expect(names.filter((name) => name === 'worker.connected')).toHaveLength(2)
  })

  it('is processed in order with the frames that follow it', async () => {
    const worker = fixture.connect('w1')
    await worker.opened
    worker.send(registerFrame('w1'))
    worker.send(stateFrame({ state: 'ERROR', last_error: 'cold start' }))
    worker.send(statsFrame({ ts: 7 }))
    await worker.settled()
    expect(await fixture.get('/w1')).toMatchObject({
      state: 'ERROR',
      last_error: 'cold start',
      current_stats: { ts: 7 },
    })
  })

  it('is rejected with 1008 when the type has too many workers', async () => {
    fixture.deps.backend.workers.register = async (items) => items.map(() => ({ kind: 'full' }))
    const worker = fixture.connect('w1')
    await worker.opened
    worker.send(registerFrame('w1'))
    expect(await worker.closed).toMatchObject({ code: 1008, reason: 'too many workers of this type' })
  })

  it('is closed with 1013 while the store is unavailable', async () => {
    fixture.deps.backend.workers.register = () => Promise.reject(new FleetError('STORAGE_UNAVAILABLE', 'unavailable'))
    const worker = fixture.connect('w1')
    await worker.opened
    worker.send(registerFrame('w1'))
    expect((await worker.closed).code).toBe(1013)
  })
})

describe('two connections of one worker', () => {
  it('keep only the newest: the older one is closed with 1008 (D11)', async () => {
    const older = await fixture.worker('w1')
    const newer = await fixture.worker('w1')
    expect(await older.closed).toEqual({ code: 1008, reason: 'replaced by a newer connection' })
    await says(newer, { state: 'ERROR' })
    expect(await fixture.get('/w1')).toMatchObject({ connected: true, state: 'ERROR' })
    expect((await fixture.events()).filter(({ name }) => name === 'worker.disconnected')).toEqual([])
  })

  it('publish no disconnect for the older one, also if the store lost that it was registered (G10)', async () => {
    const { workers } = fixture.deps.backend
    const register = workers.register.bind(workers)
    workers.register = async (items) =>
      (await register(items)).map((each) => (each.kind === 'registered' ? { ...each, replaced: null } : each))
    const disconnects = async (): Promise<number> =>
      (await fixture.events()).filter(({ name }) => name === 'worker.disconnected').length
    const older = await fixture.worker('w1')
    const newer = await fixture.worker('w1')
    older.socket.close()
    await older.closed
    await newer.settled()
    newer.socket.close()
    await eventually('a disconnect is published', async () => (await disconnects()) > 0, { withinMs: 5_000 })
    expect(await disconnects()).toBe(1)
    expect(await fixture.get('/w1')).toMatchObject({ connected: false })
  })

  it('on two masters keep only the newest, by signal (D11, D33)', async () => {
    const other = await RegistryFixture.open({ shared: fixture, masterId: 'm2' })
    others.push(other)
    const older = await fixture.worker('w1')
    const newer = await other.worker('w1')
    expect((await older.closed).reason).toBe('replaced by a newer connection')
    await newer.settled()
  })

  it('on two masters: the older one closes at its next frame although the signal was lost (D11, G6)', async () => {
    const other = await RegistryFixture.open({ shared: fixture, masterId: 'm2' })
    others.push(other)
    fixture.deps.backend.bus.signal = async () => {}
    const older = await fixture.worker('w1')
    await other.worker('w1')
    older.send(stateFrame({ state: 'ERROR' }))
    expect((await older.closed).reason).toBe('replaced by a newer connection')
    expect(await state()).toBe('IDLE')
  })
})

describe('the end of a connection', () => {
  it('is stored in the record and published as an event, after the last frames', async () => {
    const worker = await fixture.worker('w1')
    worker.send(stateFrame({ state: 'ERROR', last_error: 'last words' }))
    await worker.close()
    await fixture.time.advance(0)
    expect(await fixture.get('/w1')).toMatchObject({ connected: false, state: 'ERROR', last_error: 'last words' })
    expect((await fixture.events()).at(-1)).toMatchObject({
      name: 'worker.disconnected',
      data: { worker_id: 'w1', connected: false },
    })
  })

  it('is shown as an orderly one after close code 4100, until the next register (D142)', async () => {
    const shown = async () => (await fixture.get('/w1'))['ended']
    for (const [code, ended] of [
      [4100, true],
      [1000, false],
      [4101, false],
      [4100, true],
    ] as const) {
      const worker = await fixture.worker('w1')
      expect(await shown()).toBe(false)
      worker.send(stateFrame({ state: 'IDLE' }))
      worker.socket.close(code)
      await worker.closed
      await fixture.time.advance(0)
      expect([code, await shown()]).toEqual([code, ended])
      expect((await fixture.get<{ ended: boolean }[]>('?view=summary'))[0]?.ended).toBe(ended)
      expect((await fixture.events()).at(-1)).toMatchObject({
        name: 'worker.disconnected',
        data: { worker_id: 'w1', connected: false, ended },
      })
    }
    expect(await fixture.metric('svc_control_closed_total{code="4100"}')).toMatch(/ 2$/)
  })

  it('shows how the connection ended, and who drained the worker (D195)', async () => {
    const record = () => fixture.get<{ departure: unknown; drain_requested_by: unknown }>('/w1')
    const ends: readonly [unknown, (worker: WorkerClient) => Promise<void> | void][] = [
      [{ kind: 'lost', by: null, code: 1006, reason: '' }, (worker) => worker.socket.terminate()],
      [{ kind: 'stopped', by: null, code: 4100, reason: 'SIGTERM' }, (worker) => worker.socket.close(4100, 'SIGTERM')],
      [
        { kind: 'evicted', by: null, code: 1007, reason: expect.stringContaining('JSON') },
        (worker) => worker.socket.send('{'),
      ],
      [
        { kind: 'drained', by: 'admin ana', code: 4100, reason: '' },
        async (worker) => {
          const headers = { 'muster-actor': 'ana' }
          expect((await fixture.call('POST', '/w1/drain', { headers })).status).toBe(200)
          expect(await record()).toMatchObject({ drain_requested_by: 'admin ana', departure: null })
          worker.socket.close(4100)
        },
      ],
    ]
    for (const [departure, end] of ends) {
      const worker = await fixture.worker('w1')
      expect(await record()).toMatchObject({ departure: null, drain_requested_by: null })
      await end(worker)
      await worker.closed
      await fixture.time.advance(0)
      const at = fixture.time.wallMs() / 1_000
      expect((await record()).departure).toEqual({ at, ...(departure as object) })
      expect((await fixture.events()).at(-1)).toMatchObject({ name: 'worker.disconnected', data: { departure } })
    }
    expect(await record()).toMatchObject({ drain_requested_by: 'admin ana' })
  })

  it('is stored after frames that wait for an earlier write', async () => {
    const worker = await fixture.worker('w1')
    const { workers } = fixture.deps.backend
    const beat = workers.beat.bind(workers)
    let proceed = (): void => {}
    const held = new Promise<void>((resolve) => (proceed = resolve))
    workers.beat = (items) => held.then(() => beat(items))
    await says(worker, { state: 'RUNNING' })
    await says(worker, { state: 'ERROR', last_error: 'last words' })
    await worker.close()
    workers.beat = beat
    proceed()
    await fixture.time.advance(0)
    expect(await fixture.get('/w1')).toMatchObject({ connected: false, state: 'ERROR', last_error: 'last words' })
  })

  it('during registration does not leave the worker connected', async () => {
    const { workers } = fixture.deps.backend
    const register = workers.register.bind(workers)
    let release = (): void => {}
    const held = new Promise<void>((resolve) => (release = resolve))
    workers.register = async (items) => {
      await held
      return register(items)
    }
    const worker = fixture.connect('w1')
    await worker.opened
    worker.send(registerFrame('w1'))
    await fixture.time.advance(0)
    fixture.control.closeRevoked() // The token is still valid: nothing is closed.
    worker.socket.terminate()
    await worker.closed
    fixture.validTokens.delete(WORKER_TOKEN)
    fixture.control.closeRevoked()
    await fixture.time.advance(3_000)
    release()
    await fixture.time.advance(0)
    expect(await fixture.get('/w1')).toMatchObject({ connected: false })
  })

  it('is stored when the store is available again', async () => {
    const worker = await fixture.worker('w1')
    const { workers } = fixture.deps.backend
    const disconnect = workers.disconnect.bind(workers)
    workers.disconnect = () => Promise.reject(new FleetError('STORAGE_UNAVAILABLE', 'unavailable'))
    await worker.close()
    await fixture.time.advance(3_000)
    expect(await fixture.get('/w1')).toMatchObject({ connected: true })
    workers.disconnect = disconnect
    await fixture.time.advance(1_000)
    expect(await fixture.get('/w1')).toMatchObject({ connected: false })
  })
})

describe('an unavailable store', () => {
  it('receives the newest state and every statistics frame when it is available again (G18)', async () => {
    const worker = await fixture.worker('w1')
    const { workers } = fixture.deps.backend
    const beat = workers.beat.bind(workers)
    workers.beat = () => Promise.reject(new FleetError('STORAGE_UNAVAILABLE', 'unavailable'))
    worker.send(stateFrame({ state: 'RUNNING' }))
    worker.send(statsFrame({ ts: 1 }))
    await worker.settled()
    worker.send(stateFrame({ state: 'ERROR' }))
    worker.send(statsFrame({ ts: 2 }))
    await worker.settled()
    expect(await state()).toBe('IDLE')
    workers.beat = beat
    await fixture.time.advance(1_000)
    expect(await state()).toBe('ERROR')
    expect((await fixture.get<{ ts: number }[]>('/w1/stats')).map(({ ts }) => ts)).toEqual([1, 2])
    expect(fixture.log.lines.filter(({ message }) => message.includes('failed to store'))).toHaveLength(1)
  })
})

describe('a state that the store rejected', () => {
  it('is written again without another frame (G18)', async () => {
    const worker = await fixture.worker('w1')
    const { workers } = fixture.deps.backend
    const beat = workers.beat.bind(workers)
    workers.beat = () => Promise.reject(new FleetError('STORAGE_UNAVAILABLE', 'unavailable'))
    await says(worker, { state: 'ERROR' })
    workers.beat = beat
    await fixture.time.advance(1_000)
    expect(await state()).toBe('ERROR')
  })

  it('does not overwrite a newer state', async () => {
    const worker = await fixture.worker('w1')
    const { workers } = fixture.deps.backend
    const beat = workers.beat.bind(workers)
    let refuse = (): void => {}
    workers.beat = () =>
      new Promise((_, reject) => (refuse = () => reject(new FleetError('STORAGE_UNAVAILABLE', 'unavailable'))))
    await says(worker, { state: 'ERROR' })
    await says(worker, { state: 'RUNNING' })
    workers.beat = beat
    refuse()
    await fixture.time.advance(1_000)
    expect(await state()).toBe('RUNNING')
  })
})

describe('config_changed', () => {
  it('is sent immediately after a PATCH', async () => {
    const worker = await fixture.worker('w1')
    await fixture.patch('w1', { slots: 3 })
    expect(await worker.next()).toEqual({ type: 'config_changed', config_gen: 1 })
  })

  it('is sent once, with the next state frame, when its signal was lost (G6)', async () => {
    const worker = await fixture.worker('w1')
    await fixture.deps.backend.configs.put({
      type: 'mailer',
      id: 'w1',
      expectGen: 0,
      config: '{}',
      changed: [],
      actor: 'admin',
    })
    await says(worker)
    expect(await worker.next()).toEqual({ type: 'config_changed', config_gen: 1 })
    await says(worker)
    await says(worker, { config_gen: 1 })
    expect(worker.frames).toEqual([])
  })

  it('is sent when its signal was lost and the worker has left the generations of an earlier epoch (G6)', async () => {
    const worker = await fixture.worker('w1')
    await says(worker, { config_gen: 2 }) // Of the epoch before.
    await says(worker, { config_gen: 0 })
    await fixture.deps.backend.configs.put({
      type: 'mailer',
      id: 'w1',
      expectGen: 0,
      config: '{}',
      changed: [],
      actor: 'admin',
    })
    await says(worker, { config_gen: 0 })
    expect(worker.frames).toEqual([{ type: 'config_changed', config_gen: 1 }])
  })

  it('is sent again when the store lost the change and reached its generation once more (G6, G26)', async () => {
    const worker = await fixture.worker('w1')
    await fixture.patch('w1', { slots: 3 })
    expect(await worker.next()).toEqual({ type: 'config_changed', config_gen: 1 })
    const { workers } = fixture.deps.backend
    const beat = workers.beat.bind(workers)
    workers.beat = async (items) => (await beat(items)).map((each) => ({ ...each, gen: 0 }))
    await says(worker)
    workers.beat = beat
    await says(worker)
    expect(worker.frames).toEqual([{ type: 'config_changed', config_gen: 1 }])
  })

  it('is not sent to a worker that already reports the generation', async () => {
    await (await fixture.worker('w1')).close()
    await fixture.patch('w1', { slots: 3 })
    const again = await fixture.worker('w1')
    await says(again, { config_gen: 1 })
    expect(again.frames).toEqual([])
  })

  it('is also sent after a PATCH on another master (D33)', async () => {
    const other = await RegistryFixture.open({ shared: fixture, masterId: 'm2' })
    others.push(other)
    const worker = await fixture.worker('w1')
    await other.patch('w1', { slots: 3 })
    expect(await worker.next()).toEqual({ type: 'config_changed', config_gen: 1 })
  })
})

describe('drain', () => {
  it('sends one frame per request, and no state frame of that process clears DRAINING (D6)', async () => {
    const worker = await fixture.worker('w1', { instance: 'p1' })
    await drain()
    expect(await worker.next()).toEqual({ type: 'drain' })
    await says(worker, { state: 'RUNNING', last_error: 'still busy' })
    expect(await fixture.get('/w1')).toMatchObject({ state: 'DRAINING', draining: true, last_error: 'still busy' })
    await drain()
    expect(await worker.next()).toEqual({ type: 'drain' })
    await says(worker)
    expect(worker.frames).toEqual([])
    const states = (await fixture.events())
      .filter(({ name }) => name === 'worker.state')
      .map(({ data }) => [data['state'], data['last_error']])
    expect(states).toEqual([
      ['DRAINING', 'still busy'],
      ['DRAINING', null],
    ])
  })

  it('is repeated to the same process when it reconnects (D6)', async () => {
    const worker = await fixture.worker('w1', { instance: 'p1' })
    await drain()
    await worker.close()
    const again = await fixture.worker('w1', { instance: 'p1' })
    expect(await again.next()).toEqual({ type: 'drain' })
    expect(await state()).toBe('DRAINING')
  })

  it('ends with a new process, which is IDLE (D6)', async () => {
    const worker = await fixture.worker('w1', { instance: 'p1' })
    await drain()
    await worker.close()
    const next = await fixture.worker('w1', { instance: 'p2' })
    expect(next.frames).toEqual([])
    expect(await fixture.get('/w1')).toMatchObject({ state: 'IDLE', draining: false })
  })

  it('without instance_id is bound to the connection (D5, D6)', async () => {
    const worker = await fixture.worker('w1')
    await drain()
    await says(worker, { state: 'RUNNING' })
    expect(await state()).toBe('DRAINING')
    await worker.close()
    const next = await fixture.worker('w1')
    expect(next.frames).toEqual([])
    expect(await state()).toBe('IDLE')
  })

  it('requested while the worker is disconnected is sent to the next process that registers (D6, D61)', async () => {
    await (await fixture.worker('w1', { instance: 'p1' })).close()
    await fixture.time.advance(0)
    await drain()
    const next = await fixture.worker('w1', { instance: 'p2' })
    expect(await next.next()).toEqual({ type: 'drain' })
    expect(await state()).toBe('DRAINING')
  })

  it('is sent with the next state frame when its signal was lost (G6)', async () => {
    const worker = await fixture.worker('w1', { instance: 'p1' })
    await fixture.deps.backend.workers.drain([{ type: 'mailer', id: 'w1' }])
    await says(worker)
    expect(await worker.next()).toEqual({ type: 'drain' })
    await says(worker)
    expect(worker.frames).toEqual([])
  })

  it('reaches the queue of the master that has the socket (G14)', async () => {
    const other = await RegistryFixture.open({ shared: fixture, masterId: 'm2' })
    others.push(other)
    const worker = await fixture.worker('w1')
    await other.call('POST', '/w1/drain')
    expect(await worker.next()).toEqual({ type: 'drain' })
    expect(other.drains).toContainEqual({ type: 'mailer', id: 'w1' }) // Both masters share the bus of one store.
    expect(fixture.drains).toContainEqual({ type: 'mailer', id: 'w1' })
  })
})

describe('a forgotten worker', () => {
  it('is disconnected at its next frame, so that it registers again with a higher generation (D46)', async () => {
    const worker = await fixture.worker('w1')
    await fixture.patch('w1', { slots: 3 })
    await fixture.call('DELETE', '/w1')
    worker.send(stateFrame())
    expect(await worker.closed).toMatchObject({ code: 1008, reason: expect.stringContaining('register again') })
    expect((await fixture.call('GET', '/w1')).status).toBe(404)
    await fixture.worker('w1')
    expect(await fixture.get('/w1')).toMatchObject({ config_gen: 2, config: { slots: 1 } })
    const names = (await fixture.events()).map(({ name }) => name)
    expect(names.filter((name) => name === 'worker.disconnected')).toEqual([])
  })
})
