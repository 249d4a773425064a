import { beforeEach, describe, expect, it } from '@jest/globals'
import type { ConfigSource } from '../../../src/operator/fleetworker/index.ts'
import { reconcileWorld, type ReconcileWorld } from './reconcile-world.ts'

const KEY: ConfigSource = { field: 'api_key', secretKeyRef: { name: 's', key: 'key' } }
const CANARY = 'canary-of-the-secret'

let world: ReconcileWorld
beforeEach(async () => {
  world = await reconcileWorld()
})

/** Creates a FleetWorker with a secret, and applies it. */
async function sent(spec: object = {}): Promise<void> {
  world.secret('s', { key: CANARY })
  world.create('w1', { config: { url: 'http://a' }, configFrom: [KEY], ...spec })
  await world.settle('w1')
  expect((await world.config('w1'))['api_key']).toBe(CANARY)
}

describe('reconcile: secrets', () => {
  it('records a secret in the status before it is sent, and never sends it again', async () => {
    world.secret('s', { key: CANARY })
    world.create('w1', { configFrom: [KEY] })
    const remembered: unknown[] = []
    world.fleet.next('patch', () => void remembered.push(world.object('w1').status?.config?.sources))
    // Within one reconcile, and without waiting for other status writes.
    expect(await world.pass('w1')).toEqual({ kind: 'ok' })
    expect(remembered).toEqual([[{ field: 'api_key', version: '' }]])
    expect(world.fleet.bodies('patch')).toEqual([{ api_key: CANARY }])
    await world.expectQuiet('w1')
  })

  it('does not send it again before its status is in the cache', async () => {
    world.secret('s', { key: CANARY })
    world.create('w1', { configFrom: [KEY] })
    await world.see()
    for (let n = 0; n < 3; n += 1) {
      await world.reconcile('w1')
      await world.fleet.read()
    }
    expect([world.fleet.count('patch'), world.object('w1').status?.config?.sources]).toEqual([
      1,
      [{ field: 'api_key', version: '' }],
    ])
  })

  it('does not send it while the API server rejects the status that names it, and retries with backoff', async () => {
    world.secret('s', { key: CANARY })
    world.create('w1', { configFrom: [KEY] })
    world.fake.script({ method: 'PATCH', path: /status$/ }, { kind: 'refuse', status: 500 })
    await world.see()
    expect(await world.reconcile('w1')).toEqual({ kind: 'retry' })
    expect([world.fleet.count('patch'), world.statusWrites]).toEqual([0, 1])
    await world.settle('w1')
    expect(world.fleet.count('patch')).toBe(1)
  })

  it('sends a rotated secret under Warn as well', async () => {
    await sent({ managementPolicy: 'Warn' })
    world.secret('s', { key: 'rotated' })
    await polled()
    await world.pass('w1')
    expect((await world.config('w1'))['api_key']).toBe('rotated')
  })

  it('shows no value anywhere except at the master', async () => {
    await sent({ managementPolicy: 'Warn' })
    await world.dashboard('w1', { api_key: 'canary-of-alice', url: 'http://b' })
    await world.pass('w1')
    world.fleet.next('patch', () => ({ kind: 'rejected', faults: [], message: 'refused' }))
    world.edit('w1', { slots: 3 })
    await world.pass('w1')
    const written = world.fake.requests.filter(({ path }) => !path.includes('/secrets/')).map(({ body }) => body)
    expect(
      JSON.stringify([world.fake.seen('PATCH'), written, world.events, world.log.lines, world.object('w1')]),
    ).not.toMatch(/canary/)
  })

  it('resets a secret that is no longer named', async () => {
    await sent()
    world.edit('w1', { configFrom: null })
    await world.pass('w1')
    expect(await world.config('w1')).not.toHaveProperty('api_key')
    expect(world.object('w1').status?.config).not.toHaveProperty('sources')
    await world.expectQuiet('w1')
  })

  it('resets a secret after a crash between its PATCH and the status', async () => {
    world.secret('s', { key: CANARY })
    world.create('w1', { configFrom: [KEY] })
    world.fleet.next('patch', () => {
      world.isLeading = false // Its status is not written.
    })
    await world.pass('w1')
    expect((await world.config('w1'))['api_key']).toBe(CANARY)
    world.isLeading = true
    world.restart()
    world.edit('w1', { configFrom: null })
    await world.settle('w1')
    expect(await world.config('w1')).not.toHaveProperty('api_key')
  })

  it('detects a secret that was changed on the dashboard while all visible fields are equal', async () => {
    await sent()
    await world.dashboard('w1', { api_key: 'theirs' })
    await world.pass('w1')
    expect((await world.config('w1'))['api_key']).toBe(CANARY)
    await world.expectQuiet('w1')
  })

  it('sends a secret again when the history does not go back far enough', async () => {
    await sent()
    for (let n = 1; n <= 60; n += 1) await world.dashboard('w1', { url: 'http://a' })
    await world.pass('w1')
    expect(world.fleet.bodies('patch').at(-1)).toEqual({ api_key: CANARY })
    await world.expectQuiet('w1')
  })

  it('sends a rotated secret, but not one whose metadata changed alone', async () => {
    await sent()
    world.touchSecret('s')
    await polled()
    await world.pass('w1')
    expect(world.fleet.count('patch')).toBe(1)
    world.secret('s', { key: 'rotated' })
    await polled()
    await world.pass('w1')
    expect((await world.config('w1'))['api_key']).toBe('rotated')
    await world.expectQuiet('w1')
  })

  /** Advances time until the poll has found a change. */
  async function polled(): Promise<void> {
    const end = new AbortController()
    const polling = world.sources.run(end.signal)
    const before = world.changedSources.length
    for (let n = 0; n < 200 && world.changedSources.length === before; n += 1) await world.time.advance(1_000)
    end.abort()
    await polling
    expect(world.changedSources.at(-1)).toBe('secrets/ns/s')
  }

  it('keeps the config while a Secret is missing, and continues when it exists', async () => {
    await sent()
    world.removeSecret('s')
    await polled()
    await world.pass('w1')
    expect([world.condition('w1', 'Synced'), world.condition('w1', 'Reconciling')]).toEqual([
      'False SourceNotFound',
      'True SourceNotFound',
    ])
    expect((await world.config('w1'))['api_key']).toBe(CANARY)
    world.secret('s', { other: 'x' })
    await world.pass('w1')
    expect(world.condition('w1', 'Synced')).toBe('False SourceNotFound')
    world.secret('s', { key: 'new' })
    await polled()
    await world.pass('w1')
    expect((await world.config('w1'))['api_key']).toBe('new')
  })

  it('reports that it may not read a Secret', async () => {
    world.secret('s', { key: CANARY })
    world.create('w1', { configFrom: [KEY] })
    world.fake.script({ method: 'GET', path: /\/secrets\// }, { kind: 'refuse', status: 403, reason: 'Forbidden' })
    await world.pass('w1')
    expect([world.condition('w1', 'Synced'), world.fleet.count('patch')]).toEqual(['False SourceForbidden', 0])
  })

  it('retries a rejected config when the Secret is rotated, and not before', async () => {
    world.secret('s', { key: 'bad' })
    world.create('w1', { config: { slots: 2 }, configFrom: [KEY] })
    world.fleet.next('patch', () => ({
      kind: 'rejected',
      faults: [{ path: '/api_key', message: 'is wrong', keyword: 'x', params: {} }],
      message: '',
    }))
    expect(await world.pass('w1')).toEqual({ kind: 'terminal' })
    await world.pass('w1')
    expect([world.fleet.count('patch'), world.condition('w1', 'Stalled')]).toEqual([1, 'True Rejected'])
    world.secret('s', { key: 'good' })
    await polled()
    await world.settle('w1')
    expect([(await world.config('w1'))['api_key'], world.condition('w1', 'Synced')]).toEqual(['good', 'True InSync'])
  })

  it('does not write a Secret to a field that every read shows', async () => {
    world.secret('s', { key: CANARY })
    world.create('w1', { configFrom: [{ field: 'url', secretKeyRef: { name: 's', key: 'key' } }] })
    await world.pass('w1')
    expect([world.changes > 1, world.condition('w1', 'Stalled')]).toEqual([false, 'True SecretNotWriteOnly'])
  })

  it('reads ConfigMaps, as text and as JSON, once per version', async () => {
    world.configMap('m', { url: 'http://map', limits: '{"cpu": 3.0}' })
    world.create('w1', {
      configFrom: [
        { field: 'url', configMapKeyRef: { name: 'm', key: 'url' } },
        { field: 'limits', configMapKeyRef: { name: 'm', key: 'limits' }, as: 'JSON' },
      ],
    })
    await world.pass('w1')
    expect(await world.config('w1')).toMatchObject({ url: 'http://map', limits: { cpu: 3 } })
    const reads = world.fake.seen('GET', /configmaps/).length
    await world.pass('w1')
    expect(world.fake.seen('GET', /configmaps/)).toHaveLength(reads)
    await world.expectQuiet('w1')
  })

  it('warns about a secret in the spec, and sends it once', async () => {
    world.create('w1', { config: { login: { user: 'u', password: CANARY } } })
    await world.settle('w1')
    expect(await world.config('w1')).toMatchObject({ login: { user: 'u', password: CANARY } })
    expect(world.events.filter(({ reason }) => reason === 'SecretInSpec')).toHaveLength(1)
    await world.expectQuiet('w1')
    world.edit('w1', { config: { login: { user: 'v', password: '********' } } })
    await world.pass('w1')
    expect(world.condition('w1', 'Stalled')).toBe('True ConfigInvalid')
  })

  it('sends possibly lost secrets again after a suspension', async () => {
    await sent()
    world.edit('w1', { suspend: true })
    await world.pass('w1')
    expect((await world.record('w1')).managed_by).toBeNull()
    await world.dashboard('w1', { api_key: 'theirs' })
    await world.pass('w1')
    expect(world.object('w1').status?.drift?.paths).toEqual(['/api_key'])
    world.edit('w1', { suspend: false })
    // The claim succeeds, the PATCH is not sent.
    world.fleet.next('patch', () => ({ kind: 'forbidden', message: 'not now' }))
    await world.pass('w1')
    world.restart()
    await world.settle('w1')
    expect((await world.config('w1'))['api_key']).toBe(CANARY)
  })

  it('keeps the config while a source that an earlier release read has no consent (D62)', async () => {
    await sent()
    world.secret('s', { key: CANARY }, null)
    world.restart()
    const before = world.fleet.count('patch')
    world.edit('w1', { config: { url: 'http://elsewhere' } })
    await world.pass('w1')
    expect([world.condition('w1', 'Synced'), world.condition('w1', 'Reconciling')]).toEqual([
      'False SourceForbidden',
      'True SourceForbidden',
    ])
    expect(world.object('w1').status?.conditions?.find(({ type }) => type === 'Synced')?.message).toContain(
      'kubectl annotate secret s -n ns muster.dev/config-for=job --overwrite',
    )
    expect([world.fleet.count('patch'), await world.config('w1')]).toEqual([
      before,
      expect.objectContaining({ url: 'http://a', api_key: CANARY }),
    ])
    world.secret('s', { key: CANARY }, 'job')
    await world.time.advance(6_000)
    await polled()
    await world.settle('w1')
    expect([world.condition('w1', 'Synced'), (await world.config('w1'))['url']]).toEqual([
      'True InSync',
      'http://elsewhere',
    ])
  })
})

describe('reconcile: secrets that are bound to their destination (D88)', () => {
  const BOUND: ConfigSource = { field: 'bound_key', secretKeyRef: { name: 's', key: 'key' } }

  it('sends the secret with the PATCH that changes its destination, and with no other', async () => {
    world.secret('s', { key: CANARY })
    world.create('w1', { config: { endpoint: 'http://a' }, configFrom: [BOUND] })
    await world.settle('w1')
    world.edit('w1', { config: { endpoint: 'http://b' } })
    await world.settle('w1')
    world.edit('w1', { slots: 4 })
    await world.settle('w1')
    expect(world.fleet.bodies('patch')).toEqual([
      { endpoint: 'http://a', bound_key: CANARY },
      { endpoint: 'http://b', bound_key: CANARY },
      { slots: 4 },
    ])
    await world.expectQuiet('w1')
  })

  it('sends it after a restart as well, when only its version is remembered', async () => {
    world.secret('s', { key: CANARY })
    world.create('w1', { config: { endpoint: 'http://a' }, configFrom: [BOUND] })
    await world.settle('w1')
    world.restart()
    world.edit('w1', { config: { endpoint: 'http://b' } })
    await world.settle('w1')
    expect(world.fleet.bodies('patch').at(-1)).toEqual({ endpoint: 'http://b', bound_key: CANARY })
    await world.expectQuiet('w1')
  })

  it('clears a secret that the resource does not name, when the resource changes its destination', async () => {
    world.create('w1', { config: { endpoint: 'http://a' } })
    await world.settle('w1')
    await world.dashboard('w1', { bound_key: 'theirs' })
    world.edit('w1', { config: { endpoint: 'http://b' } })
    await world.settle('w1')
    expect(world.fleet.bodies('patch').at(-1)).toEqual({ endpoint: 'http://b', bound_key: null })
    expect(await world.config('w1')).not.toHaveProperty('bound_key')
    await world.expectQuiet('w1')
  })

  it('leaves an ignored secret unchanged, and reports that the master rejects the change', async () => {
    world.create('w1', { config: { endpoint: 'http://a' }, ignoreDifferences: ['/bound_key'] })
    await world.settle('w1')
    await world.dashboard('w1', { bound_key: 'theirs' })
    world.edit('w1', { config: { endpoint: 'http://b' } })
    await world.settle('w1')
    expect(world.condition('w1', 'Synced')).toBe('False Rejected')
    expect(await world.config('w1')).toMatchObject({ endpoint: 'http://a', bound_key: 'theirs' })
  })
})
