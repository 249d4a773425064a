/** Revisions and bulk changes of configs over HTTP (D132, D133). */
import { beforeEach, describe, expect, it } from '@jest/globals'
import { buildCatalog, defineBatch, Type } from '../../../src/automation/index.ts'
import { itemsOf } from '../../../src/storage/index.ts'
import { eventually } from '../../kit/index.ts'
import { FleetError } from '../../../src/protocol/index.ts'
import { runMaster, TOKENS } from '../../kit/running-master.ts'

const TYPE = 'crawler'
const MASK = '********'
const HARDWARE = '{"cores":2,"ram_gb":4,"hostname":"node-7","kernel":"6.1"}'
const crawler = defineBatch({
  type: TYPE,
  payload: Type.Object({}),
  config: Type.Object({
    depth: Type.Optional(Type.Integer({ minimum: 1, maximum: 5, default: 1 })),
    label: Type.Optional(Type.String()),
    proxy: Type.Optional(Type.Object({ host: Type.String(), port: Type.Optional(Type.Integer()) })),
    url: Type.Optional(Type.String()),
    key: Type.Optional(Type.String({ writeOnly: true, minLength: 4, 'x-muster-bound-to': ['url'] })),
  }),
  run: async () => undefined,
})
const DEFAULTS = { enabled: false, slots: 1, max_attempts: 3, recycle_seconds: 0, depth: 1 }

interface Result {
  readonly worker_id: string
  readonly config_gen?: number
  readonly changed?: readonly string[]
  readonly error?: { readonly status: number; readonly detail: unknown }
}
interface Call {
  readonly token?: string
  readonly headers?: Record<string, string>
}

class BulkFixture {
  readonly master: Awaited<ReturnType<typeof runMaster>>

  constructor(master: Awaited<ReturnType<typeof runMaster>>) {
    this.master = master
  }

  call(method: string, path: string, body?: unknown, { token = TOKENS.everyType, headers = {} }: Call = {}) {
    const url = `/api/v1/automations/${TYPE}/${path}`
    return this.master.call(method, url, { token, headers, ...(body !== undefined && { body }) })
  }

  async register(...ids: string[]): Promise<void> {
    const defaults = JSON.stringify(DEFAULTS)
    await this.master.backend.workers.register(
      ids.map((id) => ({ type: TYPE, id, conn: 'm/1', instance: '', hardware: HARDWARE, defaults })),
    )
  }

  async revision(name: string, config: object): Promise<void> {
    const { status, json } = await this.call('PUT', `revisions/${name}`, { config })
    expect([status, json]).toEqual([200, { revision: name, created: true }])
  }

  /** One worker of the body, with the generation and the manager that it has now. */
  async item(id: string, more: object = {}): Promise<object> {
    const { config_gen: gen, managed_by: by } = await this.record(id)
    return { worker_id: id, if_match: `${await this.epoch()}.${String(gen)}`, if_managed_by: by, ...more }
  }

  async apply(body: object, options: Call = {}): Promise<readonly Result[]> {
    const { status, json } = await this.call('POST', 'configs', body, options)
    expect([status, status === 200 ? '' : json]).toEqual([200, ''])
    return (json as { results: Result[] }).results
  }

  async record(id: string): Promise<Record<string, unknown>> {
    return (await this.call('GET', `workers/${id}`)).json as Record<string, unknown>
  }

  /** The config of a worker with its secrets. */
  async config(id: string): Promise<unknown> {
    const { json } = await this.call('GET', `workers/${id}/config`, undefined, { token: TOKENS.worker })
    return (json as { config: unknown }).config
  }

  async history(id: string): Promise<readonly Record<string, unknown>[]> {
    return (await this.call('GET', `workers/${id}/config/history`)).json as Record<string, unknown>[]
  }

  async epoch(): Promise<string> {
    return (await this.master.backend.meta.info()).epoch
  }
}

let bulk: BulkFixture
beforeEach(async () => {
  bulk = new BulkFixture(await runMaster({ catalog: buildCatalog([crawler]) }))
  await bulk.register('w1', 'w2', 'w3')
})

/** The paths of the faults of a 422. */
const paths = (json: unknown): readonly string[] =>
  (json as { detail: { path: string }[] }).detail.map(({ path }) => path)

describe('PUT of a revision', () => {
  it('stores a valid config once, and neither replaces nor compares it', async () => {
    await bulk.revision('r1', { depth: 3, key: 'canary-1' })
    for (const config of [{ depth: 3, key: 'canary-1' }, { depth: 3, key: 'guess' }, { depth: 4 }]) {
      const { status, json } = await bulk.call('PUT', 'revisions/r1', { config })
      expect([status, json]).toEqual([200, { revision: 'r1', created: false }])
    }
    expect((await bulk.call('GET', 'revisions')).json).toEqual({
      revisions: [
        {
          revision: 'r1',
          managed_by: null,
          created_at: expect.any(Number),
          created_by: 'scoped',
          workers: 0,
          first_used_at: null,
          last_used_at: null,
          counters: {},
          worst: [],
        },
      ],
    })
  })

  it.each([
    [{ config: { depth: 9 } }, '/config/depth'],
    [{ config: { colour: 'red' } }, '/config/colour'],
    [{ config: { key: MASK } }, '/config/key'],
    [{ config: 1 }, '/config'],
    [{}, '/config'],
    [{ config: {}, managed_by: 'x'.repeat(129) }, '/managed_by'],
  ])('rejects %j', async (body, path) => {
    const { status, json } = await bulk.call('PUT', 'revisions/r1', body)
    expect([status, paths(json)]).toEqual([422, [path]])
  })

  it.each(['R1', '-r', 'a b', 'x'.repeat(64), 'a%2Fb'])('rejects the name %s', async (name) => {
    const { status, json } = await bulk.call('PUT', `revisions/${name}`, { config: {} })
    expect([status, paths(json)]).toEqual([422, ['/revision']])
  })
})

describe('a bulk change', () => {
  it('brings workers to a revision, each with its own patch, and returns one result each, in order', async () => {
    await bulk.revision('r1', { enabled: true, depth: 3 })
    const results = await bulk.apply({
      revision: 'r1',
      managed_by: 'set:a',
      patch: { slots: 4 },
      variant: 'all',
      workers: [
        await bulk.item('w2'),
        { worker_id: 'unknown' },
        await bulk.item('w1', { patch: { slots: 2, label: 'one' }, variant: 'own' }),
      ],
    })
    expect(results).toEqual([
      { worker_id: 'w2', config_gen: 1, changed: ['depth', 'enabled', 'slots'] },
      { worker_id: 'unknown', error: { status: 404, detail: expect.stringContaining('no worker "unknown"') } },
      { worker_id: 'w1', config_gen: 1, changed: ['depth', 'enabled', 'label', 'slots'] },
    ])
    expect(await bulk.config('w2')).toEqual({ ...DEFAULTS, enabled: true, depth: 3, slots: 4 })
    expect(await bulk.config('w1')).toEqual({ ...DEFAULTS, enabled: true, depth: 3, slots: 2, label: 'one' })
    expect(await bulk.record('w2')).toMatchObject({ config_revision: 'r1/all', managed_by: 'set:a', config_gen: 1 })
    expect((await bulk.call('GET', 'workers?view=summary')).json).toMatchObject([
      { worker_id: 'w1', config_revision: 'r1/own' },
      { worker_id: 'w2', config_revision: 'r1/all' },
      { worker_id: 'w3', config_revision: null },
    ])
    expect((await bulk.call('GET', 'revisions')).json).toMatchObject({ revisions: [{ revision: 'r1', workers: 2 }] })
  })

  it('returns the same results when it is repeated, and raises no generation', async () => {
    await bulk.revision('r1', { enabled: true, key: 'canary-1', url: 'https://a' })
    const body = { revision: 'r1', patch: { slots: 4 }, workers: [await bulk.item('w1'), await bulk.item('w2')] }
    await bulk.apply(body)
    expect(await bulk.apply(body)).toEqual([
      { worker_id: 'w1', config_gen: 1, changed: [] },
      { worker_id: 'w2', config_gen: 1, changed: [] },
    ])
    expect(await bulk.apply({ ...body, workers: [{ worker_id: 'w1' }] })).toMatchObject([{ changed: [] }])
    expect(await bulk.history('w1')).toHaveLength(1)
  })

  it('only labels a worker that has the config already', async () => {
    await bulk.revision('r1', { depth: 1 })
    expect(await bulk.apply({ revision: 'r1', workers: [{ worker_id: 'w1' }] })).toEqual([
      { worker_id: 'w1', config_gen: 0, changed: [] },
    ])
    expect(await bulk.record('w1')).toMatchObject({ config_revision: 'r1/-', config_gen: 0, config_changed_at: null })
  })

  it('shows * after a PATCH, and brings the worker back (D133)', async () => {
    await bulk.revision('r1', { depth: 3 })
    await bulk.apply({ revision: 'r1', workers: [await bulk.item('w1')] })
    await bulk.call('PATCH', 'workers/w1/config', { depth: 2 })
    expect(await bulk.record('w1')).toMatchObject({ config_revision: 'r1/*' })
    expect(await bulk.apply({ revision: 'r1', workers: [await bulk.item('w1')] })).toMatchObject([
      { config_gen: 3, changed: ['depth'] },
    ])
    expect(await bulk.record('w1')).toMatchObject({ config_revision: 'r1/-' })
  })

  it('requires the generation and the manager of each worker that it changes', async () => {
    await bulk.revision('r1', { depth: 3 })
    await bulk.call('PUT', 'workers/w3/claim', { managed_by: 'other' })
    const stale = { worker_id: 'w1', if_match: `${await bulk.epoch()}.7`, if_managed_by: null }
    const results = await bulk.apply({
      revision: 'r1',
      workers: [stale, { worker_id: 'w2', if_managed_by: null }, await bulk.item('w3', { if_managed_by: null })],
    })
    expect(results.map(({ error }) => error?.status)).toEqual([412, 422, 412])
    expect(results[0]?.error?.detail).toContain('generation 0')
    expect(paths(results[1]?.error)).toEqual(['/workers/1/if_match'])
    expect(results[2]?.error?.detail).toContain('"other"')
    for (const id of ['w1', 'w2', 'w3']) expect(await bulk.record(id)).toMatchObject({ config_gen: 0 })
    const [unnamed] = await bulk.apply({
      revision: 'r1',
      workers: [{ ...stale, if_match: `"${await bulk.epoch()}.0"`, if_managed_by: undefined }],
    })
    expect(paths(unnamed?.error)).toEqual(['/workers/0/if_managed_by'])
    const [other] = await bulk.apply({ revision: 'r1', workers: [{ ...stale, if_match: 'another-epoch.0' }] })
    expect(other?.error?.status).toBe(412)
  })

  it('takes a worker from another manager only as that manager or as an admin (D66)', async () => {
    await bulk.revision('r1', { depth: 3 })
    await bulk.call('PUT', 'workers/w1/claim', { managed_by: 'other' })
    const body = { revision: 'r1', managed_by: 'set:a', workers: [await bulk.item('w1')] }
    expect((await bulk.apply(body))[0]?.error?.status).toBe(409)
    expect((await bulk.apply(body, { headers: { 'muster-actor': 'other' } }))[0]).toMatchObject({ config_gen: 1 })
    await bulk.call('PUT', 'workers/w2/claim', { managed_by: 'other' })
    const second = { ...body, workers: [await bulk.item('w2')] }
    expect((await bulk.apply(second, { token: TOKENS.admin }))[0]).toMatchObject({ config_gen: 1 })
    expect(await bulk.record('w2')).toMatchObject({ managed_by: 'set:a' })
  })

  it('changes nothing in a dry run, and returns what it would change', async () => {
    await bulk.revision('r1', { depth: 3 })
    const workers = [await bulk.item('w1'), await bulk.item('w2', { patch: { depth: 9 } })]
    const results = await bulk.apply({ revision: 'r1', managed_by: 'set:a', dry_run: true, workers })
    expect(results[0]).toEqual({ worker_id: 'w1', config_gen: 0, changed: ['depth'] })
    expect(results[1]?.error?.status).toBe(422)
    expect(await bulk.record('w1')).toMatchObject({ config_gen: 0, config_revision: null, managed_by: null })
  })

  it('validates each worker, and a failed one affects no other', async () => {
    await bulk.revision('r1', { depth: 3 })
    const workers = [await bulk.item('w1', { patch: { depth: 9 } }), await bulk.item('w2')]
    const results = await bulk.apply({ revision: 'r1', workers })
    expect(paths(results[0]?.error)).toEqual(['/depth'])
    expect(results[1]).toMatchObject({ config_gen: 1 })
  })

  it('keeps the values of the worker at the given pointers', async () => {
    await bulk.revision('r1', { depth: 3, proxy: { host: 'new', port: 80 } })
    await bulk.call('PATCH', 'workers/w1/config', { label: 'mine', proxy: { host: 'old', port: 8_080 } })
    await bulk.apply({
      revision: 'r1',
      keep: ['/proxy/port', '/label'],
      workers: [await bulk.item('w1'), await bulk.item('w2')],
    })
    expect(await bulk.config('w1')).toEqual({
      ...DEFAULTS,
      depth: 3,
      label: 'mine',
      proxy: { host: 'new', port: 8_080 },
    })
    expect(await bulk.config('w2')).toEqual({ ...DEFAULTS, depth: 3, proxy: { host: 'new', port: 80 } })
  })

  it('resets fields to their defaults that neither revision nor patch names', async () => {
    await bulk.call('PATCH', 'workers/w1/config', { label: 'mine', slots: 9 })
    await bulk.revision('r1', { depth: 3, label: 'new' })
    await bulk.apply({ revision: 'r1', patch: { label: null }, workers: [await bulk.item('w1')] })
    expect(await bulk.config('w1')).toEqual({ ...DEFAULTS, depth: 3 })
    expect((await bulk.history('w1'))[0]).toMatchObject({ config: { ...DEFAULTS, depth: 3 } })
  })

  it('shows its configs in the history until the revision is dropped', async () => {
    await bulk.revision('r1', { depth: 3, key: 'canary-1' })
    await bulk.apply(
      { revision: 'r1', patch: { slots: 2 }, workers: [await bulk.item('w1')] },
      { headers: { 'muster-actor': 'ana' } },
    )
    const row = { config_gen: 1, ts: expect.any(Number), actor: 'scoped ana', revision: 'r1' }
    const [entry] = await bulk.history('w1')
    expect(entry).toMatchObject({ ...row, config: { ...DEFAULTS, depth: 3, slots: 2, key: MASK } })
    await bulk.call('PATCH', 'workers/w1/config', { label: 'mine' })
    await bulk.revision('r2', {})
    await bulk.apply({ revision: 'r2', workers: [await bulk.item('w1')] })
    for (let i = 0; i < 32; i += 1) await bulk.revision(`n${i}`, {})
    expect(
      (await bulk.history('w1')).map(({ config_gen: gen, config, revision }) => [gen, config === null, revision]),
    ).toEqual([
      [3, false, 'r2'],
      [2, false, undefined],
      [1, true, 'r1'],
    ])
  })

  it('notifies workers and publishes one event for each change, none for a repeat', async () => {
    await bulk.revision('r1', { depth: 3 })
    const body = { revision: 'r1', managed_by: 'set:a', workers: [await bulk.item('w1'), await bulk.item('w2')] }
    await bulk.apply(body)
    await bulk.apply(body)
    await bulk.call('POST', 'workers/w1/drain') // Its event follows all others.
    let names: readonly string[] = []
    await eventually('the last event', async () => {
      const read = await bulk.master.backend.events.read('', 1_000)
      const entries = read.kind === 'reset' ? [] : read.events
      names = entries.flatMap((entry) => itemsOf(entry).map(() => entry.name))
      return names.includes('worker.draining')
    })
    expect(names.filter((name) => name === 'worker.config_changed')).toHaveLength(2)
    expect(names.filter((name) => name === 'worker.claimed')).toHaveLength(2)
  })

  it('serves 1,000 workers in one call', async () => {
    const ids = Array.from({ length: 1_000 }, (_, i) => `many-${String(i).padStart(4, '0')}`)
    await bulk.register(...ids)
    await bulk.revision('r1', { depth: 3 })
    const if_match = `${await bulk.epoch()}.0`
    const results = await bulk.apply({
      revision: 'r1',
      workers: ids.map((worker_id) => ({ worker_id, if_match, if_managed_by: null })),
    })
    expect(results.map(({ worker_id, config_gen }) => [worker_id, config_gen])).toEqual(ids.map((id) => [id, 1]))
  })
})

describe('a bulk change while the store', () => {
  /** Calls `before` ahead of each step that writes. */
  function interrupt(before: (step: number) => Promise<unknown>): void {
    const { configs } = bulk.master.backend
    const putMany = configs.putMany.bind(configs)
    let step = 0
    Object.assign(configs, {
      putMany: async (...args: Parameters<typeof putMany>) => {
        await before((step += 1))
        return putMany(...args)
      },
    })
  }
  const unavailable = new FleetError('STORAGE_UNAVAILABLE', 'the store does not respond', { outcome: 'unknown' })
  const many = Array.from({ length: 401 }, (_, i) => `many-${i}`)
  const items = async () => {
    const if_match = `${await bulk.epoch()}.0`
    return many.map((worker_id) => ({ worker_id, if_match, if_managed_by: null }))
  }

  it('gets another change of a worker returns 412 for it alone', async () => {
    await bulk.revision('r1', { depth: 3 })
    const workers = [await bulk.item('w1'), await bulk.item('w2')]
    interrupt((step) => (step === 1 ? bulk.call('PATCH', 'workers/w1/config', { depth: 2 }) : Promise.resolve()))
    const [one, two] = await bulk.apply({ revision: 'r1', workers })
    expect([one?.error?.status, two]).toEqual([412, { worker_id: 'w2', config_gen: 1, changed: ['depth'] }])
    expect(await bulk.record('w1')).toMatchObject({ config: { depth: 2 }, config_revision: null })
  })

  it('fails in one step returns 503 for the workers of this step alone', async () => {
    await bulk.register(...many)
    await bulk.revision('r1', { depth: 3 })
    interrupt(async (step) => {
      if (step === 2) throw unavailable
    })
    const results = await bulk.apply({ revision: 'r1', workers: await items() })
    expect(results.flatMap(({ error }, at) => (error?.status === 503 ? [at] : []))).toEqual(
      Array.from({ length: 200 }, (_, i) => 200 + i),
    )
    expect(results[400]).toMatchObject({ config_gen: 1 })
  })

  it('fails in all steps returns 503', async () => {
    await bulk.revision('r1', { depth: 3 })
    interrupt(async () => {
      throw unavailable
    })
    const body = { revision: 'r1', workers: [await bulk.item('w1')] }
    expect((await bulk.call('POST', 'configs', body)).status).toBe(503)
  })
})

describe('secrets in a bulk change', () => {
  const KEY = 'canary-of-the-revision'

  it('of the revision reach the worker and are masked everywhere else', async () => {
    await bulk.revision('r1', { key: KEY })
    await bulk.apply({ revision: 'r1', workers: [await bulk.item('w1')] })
    expect(await bulk.config('w1')).toMatchObject({ key: KEY })
    const shown = [await bulk.record('w1'), await bulk.history('w1'), (await bulk.call('GET', 'revisions')).json]
    expect(JSON.stringify(shown)).not.toContain('canary')
  })

  it('are kept by the mask in the patch and by keep', async () => {
    await bulk.revision('r1', { depth: 3 })
    for (const id of ['w1', 'w2']) await bulk.call('PATCH', `workers/${id}/config`, { key: `own-${id}` })
    await bulk.apply({ revision: 'r1', keep: ['/key'], workers: [await bulk.item('w1')] })
    await bulk.apply({ revision: 'r1', patch: { key: MASK }, workers: [await bulk.item('w2'), await bulk.item('w3')] })
    expect(await bulk.config('w1')).toMatchObject({ depth: 3, key: 'own-w1' })
    expect(await bulk.config('w2')).toMatchObject({ depth: 3, key: 'own-w2' })
    expect(await bulk.config('w3')).toEqual({ ...DEFAULTS, depth: 3 })
  })

  it('show by nothing whether a guess is right (D89)', async () => {
    await bulk.call('PATCH', 'workers/w1/config', { key: 'right' })
    await bulk.call('PATCH', 'workers/w2/config', { key: 'other' })
    await bulk.revision('guess', { key: 'right' })
    await bulk.revision('plain', {})
    const call = async (body: object) => {
      const workers = [await bulk.item('w1'), await bulk.item('w2')]
      const [one, two] = await bulk.apply({ ...body, workers })
      expect({ ...one, worker_id: '' }).toEqual({ ...two, worker_id: '' })
      return one
    }
    expect(await call({ revision: 'guess', dry_run: true })).toMatchObject({ changed: ['key'] })
    expect(await call({ revision: 'plain', patch: { key: 'right' }, dry_run: true })).toMatchObject({
      changed: ['key'],
    })
    expect(await call({ revision: 'guess' })).toMatchObject({ changed: ['key'], config_gen: 2 })
  })

  it.each([
    ['of the revision to a patched destination', { revision: 'r1', patch: { url: 'https://attacker' } }, null],
    ['of the revision to a kept destination', { revision: 'r1', keep: ['/url'] }, null],
    [
      'of the revision to a kept destination, where the worker has no secret',
      { revision: 'r1', keep: ['/url', '/key'] },
      null,
    ],
    ['of the worker to the destination of the revision', { revision: 'r2', keep: ['/key'] }, 'own-secret'],
    [
      'of the worker to the destination of the revision, by the mask',
      { revision: 'r2', patch: { key: MASK } },
      'own-secret',
    ],
  ])('are not sent elsewhere: one %s (D88)', async (_, body, key) => {
    await bulk.revision('r1', { key: KEY, url: 'https://owner' })
    await bulk.revision('r2', { url: 'https://attacker' })
    const own = { url: key === null ? 'https://attacker' : 'https://owner', ...(key !== null && { key }) }
    await bulk.call('PATCH', 'workers/w1/config', own)
    const [result] = await bulk.apply({ ...body, workers: [await bulk.item('w1')] })
    expect(result?.error?.detail).toMatchObject([{ path: '/key', keyword: 'boundSecret', params: { fields: ['url'] } }])
    expect(await bulk.record('w1')).toMatchObject({ config_gen: 1 })
  })

  it('are sent with their own destination', async () => {
    await bulk.revision('r1', { key: KEY, url: 'https://owner' })
    await bulk.call('PATCH', 'workers/w1/config', { key: 'own-secret', url: 'https://own' })
    await bulk.apply({ revision: 'r1', keep: ['/key', '/url'], workers: [await bulk.item('w1')] })
    expect(await bulk.config('w1')).toMatchObject({ key: 'own-secret', url: 'https://own' })
    await bulk.apply({ revision: 'r1', workers: [await bulk.item('w1')] })
    expect(await bulk.config('w1')).toMatchObject({ key: KEY, url: 'https://owner' })
    await bulk.apply({
      revision: 'r1',
      patch: { key: 'new-secret', url: 'https://new' },
      workers: [await bulk.item('w1')],
    })
    expect(await bulk.config('w1')).toMatchObject({ key: 'new-secret', url: 'https://new' })
  })
})

describe('the list of revisions', () => {
  const metrics = (more: object): object => ({ 'gauge.muster.config_gen': 1, ...more })
  const runs = (ok: number, failed: number): object =>
    metrics({ 'counter.muster.runs_ok': ok, 'counter.muster.runs_failed': failed })

  it('lists counters and the worst workers of each revision (D138)', async () => {
    const { backend } = bulk.master
    await bulk.revision('r1', { depth: 3 })
    await bulk.revision('r2', { depth: 2 })
    const ids = Array.from({ length: 14 }, (_, i) => `x${i}`)
    await bulk.register(...ids, 'other')
    await bulk.apply({ revision: 'r1', workers: await Promise.all(ids.map((id) => bulk.item(id))) })
    await backend.revisions.addTallies(TYPE, [{ revision: 'r1', counters: { runs_ok: 7, 'counter.http_5xx': 1 } }])
    const report = (id: string, state: 'RUNNING' | 'ERROR', sent: object, lastError: string | null = null) => ({
      type: TYPE,
      id,
      conn: 'm/1',
      state: { state, gen: 1, lastError },
      stats: [JSON.stringify({ slots: 1, cpu_pct: 1, rss_mb: 1, ts: 1, per_slot: [], metrics: sent })],
    })
    await backend.workers.beat([
      report('x0', 'RUNNING', runs(1, 1)),
      report('x1', 'RUNNING', runs(300, 300)),
      report('x2', 'ERROR', metrics({}), 'x'.repeat(1_000)),
      report('x3', 'RUNNING', metrics({ 'gauge.muster.refused_config_gen': 1 })),
      report('x4', 'RUNNING', { ...runs(1, 9), 'gauge.muster.config_gen': 0 }),
      report('x5', 'RUNNING', metrics({ 'gauge.muster.refused_config_gen': 0 })),
      ...ids.slice(6).map((id) => report(id, 'RUNNING', runs(1_000, 1))),
      report('other', 'ERROR', {}),
    ])
    const { json } = await bulk.call('GET', 'revisions')
    const failures = (id: string, message: string) => ({ worker_id: id, reason: 'failures', message })
    expect(json).toMatchObject({
      revisions: [
        { revision: 'r2', counters: {}, worst: [] },
        {
          revision: 'r1',
          counters: { runs_ok: 7, 'counter.http_5xx': 1 },
          worst: [
            { worker_id: 'x2', reason: 'error', message: expect.stringMatching(/^x{190,}/) },
            { worker_id: 'x3', reason: 'config_refused', message: 'the worker refuses config_gen 1' },
            failures('x1', '50 % of 600 runs failed'),
            failures('x0', '50 % of 2 runs failed'),
            ...['x10', 'x11', 'x12', 'x13', 'x6', 'x7'].map((id) => failures(id, '0 % of 1001 runs failed')),
          ],
        },
      ],
    })
    const [, { worst }] = (json as { revisions: [unknown, { worst: { message: string }[] }] }).revisions
    expect(worst[0]?.message.length).toBeLessThanOrEqual(200)
  })
})

describe('the body of a bulk change', () => {
  const item = { worker_id: 'w1' }
  it.each([
    ['no workers', { workers: [] }, '/workers'],
    ['1,001 workers', { workers: Array.from({ length: 1_001 }, (_, i) => ({ worker_id: `w${i}` })) }, '/workers'],
    ['a worker twice', { workers: [item, { worker_id: 'w2' }, item] }, '/workers/2/worker_id'],
    ['a worker id with a slash', { workers: [{ worker_id: 'a/b' }] }, '/workers/0/worker_id'],
    ['an unknown field', { workers: [{ ...item, force: true }] }, '/workers/0/force'],
    ['a fence', { fence: 1 }, '/fence'],
    ['a pointer without a slash', { keep: ['depth'] }, '/keep/0'],
    ['the whole config', { keep: [''] }, '/keep/0'],
    ['a wrong escape', { keep: ['/depth', '/a~2'] }, '/keep/1'],
    ['an unknown field of the config', { keep: ['/colour'] }, '/keep/0'],
    ['a prototype', { keep: ['/__proto__/x'] }, '/keep/0'],
    ['a pointer into a secret', { keep: ['/key/0'] }, '/keep/0'],
    ['a long pointer', { keep: [`/${'a'.repeat(256)}`] }, '/keep/0'],
    ['65 pointers', { keep: Array.from({ length: 65 }, () => '/depth') }, '/keep'],
    ['a variant with a slash', { variant: 'a/b' }, '/variant'],
    ['the variant *', { variant: '*' }, '/variant'],
    ['a long revision', { revision: 'x'.repeat(64) }, '/revision'],
    ['a patch that is no object', { patch: [] }, '/patch'],
    ['a long if_match', { workers: [{ ...item, if_match: 'x'.repeat(257) }] }, '/workers/0/if_match'],
  ])('is rejected as a whole: %s', async (_, body, path) => {
    await bulk.revision('r1', { depth: 3 })
    const { status, json } = await bulk.call('POST', 'configs', { revision: 'r1', workers: [item], ...body })
    expect([status, paths(json).slice(0, 1)]).toEqual([422, [path]])
  })

  it.each(['{"__proto__":{"slots":2}}', '{"label":{"constructor":1}}'])(
    'is rejected with the patch %s',
    async (patch) => {
      await bulk.revision('r1', { depth: 3 })
      for (const text of [
        `{"revision":"r1","workers":[{"worker_id":"w1"}],"patch":${patch}}`,
        `{"revision":"r1","workers":[{"worker_id":"w1","patch":${patch}}]}`,
      ]) {
        expect((await bulk.call('POST', 'configs', text)).status).toBe(422)
      }
    },
  )

  it('must name a stored revision', async () => {
    const { status, json } = await bulk.call('POST', 'configs', { revision: 'r9', workers: [item] })
    expect([status, json]).toEqual([404, { detail: expect.stringContaining('PUT …/revisions/r9') }])
  })
})
