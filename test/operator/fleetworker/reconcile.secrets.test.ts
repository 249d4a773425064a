import { beforeEach, describe, expect, it } from '@jest/globals'
import type { ConfigSource } from '../../../src/operator/config/index.ts'
import { reconcileFixture, type ReconcileFixture } from './reconcile-fixture.ts'

const KEY: ConfigSource = { field: 'api_key', secretKeyRef: { name: 's', key: 'key' } }
const CANARY = 'canary-of-the-secret'

let fixture: ReconcileFixture
beforeEach(async () => {
  fixture = await reconcileFixture()
})

/** Creates a FleetWorker with a secret, and applies it. */
async function sent(spec: object = {}): Promise<void> {
  fixture.secret('s', { key: CANARY })
  fixture.create('w1', { config: { url: 'http://a' }, configFrom: [KEY], ...spec })
  await fixture.settle('w1')
  expect((await fixture.config('w1'))['api_key']).toBe(CANARY)
}

describe('reconcile: secrets', () => {
  it('records a secret in the status before it is sent, and never sends it again', async () => {
    fixture.secret('s', { key: CANARY })
    fixture.create('w1', { configFrom: [KEY] })
    const remembered: unknown[] = []
    fixture.fleet.next('patch', () => void remembered.push(fixture.object('w1').status?.config?.sources))
    // Within one reconcile, and without waiting for other status writes.
    expect(await fixture.pass('w1')).toEqual({ kind: 'ok' })
    expect(remembered).toEqual([[{ field: 'api_key', version: '' }]])
    expect(fixture.fleet.bodies('patch')).toEqual([{ api_key: CANARY }])
    await fixture.expectQuiet('w1')
  })

  it('does not send it again before its status is in the cache', async () => {
    fixture.secret('s', { key: CANARY })
    fixture.create('w1', { configFrom: [KEY] })
    await fixture.see()
    for (let n = 0; n < 3; n += 1) {
      await fixture.reconcile('w1')
      await fixture.fleet.read()
    }
    expect([fixture.fleet.count('patch'), fixture.object('w1').status?.config?.sources]).toEqual([
      1,
      [{ field: 'api_key', version: expect.any(String) }],
    ])
  })

  it('does not send it while the API server rejects the status that names it, and retries with backoff', async () => {
    fixture.secret('s', { key: CANARY })
    fixture.create('w1', { configFrom: [KEY] })
    fixture.fake.script({ method: 'PATCH', path: /status$/ }, { kind: 'refuse', status: 500 })
    await fixture.see()
    expect(await fixture.reconcile('w1')).toEqual({ kind: 'retry' })
    expect([fixture.fleet.count('patch'), fixture.statusWrites]).toEqual([0, 1])
    await fixture.settle('w1')
    expect(fixture.fleet.count('patch')).toBe(1)
  })

  it('sends a rotated secret under Warn as well', async () => {
    await sent({ managementPolicy: 'Warn' })
    fixture.secret('s', { key: 'rotated' })
    await polled()
    await fixture.pass('w1')
    expect((await fixture.config('w1'))['api_key']).toBe('rotated')
  })

  it('shows no value anywhere except at the master', async () => {
    await sent({ managementPolicy: 'Warn' })
    await fixture.dashboard('w1', { api_key: 'canary-of-alice', url: 'http://b' })
    await fixture.pass('w1')
    fixture.fleet.next('patch', () => ({ kind: 'rejected', faults: [], message: 'refused' }))
    fixture.edit('w1', { slots: 3 })
    await fixture.pass('w1')
    const written = fixture.fake.requests.filter(({ path }) => !path.includes('/secrets/')).map(({ body }) => body)
    expect(
      JSON.stringify([fixture.fake.seen('PATCH'), written, fixture.events, fixture.log.lines, fixture.object('w1')]),
    ).not.toMatch(/canary/)
  })

  it('resets a secret that is no longer named', async () => {
    await sent()
    fixture.edit('w1', { configFrom: null })
    await fixture.pass('w1')
    expect(await fixture.config('w1')).not.toHaveProperty('api_key')
    expect(fixture.object('w1').status?.config).not.toHaveProperty('sources')
    await fixture.expectQuiet('w1')
  })

  it('resets a secret after a crash between its PATCH and the status', async () => {
    fixture.secret('s', { key: CANARY })
    fixture.create('w1', { configFrom: [KEY] })
    fixture.fleet.next('patch', () => {
      fixture.isLeading = false // Its status is not written.
    })
    await fixture.pass('w1')
    expect((await fixture.config('w1'))['api_key']).toBe(CANARY)
    fixture.isLeading = true
    fixture.restart()
    fixture.edit('w1', { configFrom: null })
    await fixture.settle('w1')
    expect(await fixture.config('w1')).not.toHaveProperty('api_key')
  })

  it('detects a secret that was changed on the dashboard while all visible fields are equal', async () => {
    await sent()
    await fixture.dashboard('w1', { api_key: 'theirs' })
    await fixture.pass('w1')
    expect((await fixture.config('w1'))['api_key']).toBe(CANARY)
    await fixture.expectQuiet('w1')
  })

  it('sends a secret again when the history does not go back far enough', async () => {
    await sent()
    for (let n = 1; n <= 60; n += 1) await fixture.dashboard('w1', { url: 'http://a' })
    await fixture.pass('w1')
    expect(fixture.fleet.bodies('patch').at(-1)).toEqual({ api_key: CANARY })
    await fixture.expectQuiet('w1')
  })

  it('sends a rotated secret, but not one whose metadata changed alone', async () => {
    await sent()
    fixture.touchSecret('s')
    await polled()
    await fixture.pass('w1')
    expect(fixture.fleet.count('patch')).toBe(1)
    fixture.secret('s', { key: 'rotated' })
    await polled()
    await fixture.pass('w1')
    expect((await fixture.config('w1'))['api_key']).toBe('rotated')
    await fixture.expectQuiet('w1')
  })

  /** Advances time until the poll has found a change. */
  async function polled(): Promise<void> {
    const end = new AbortController()
    const polling = fixture.sources.run(end.signal)
    const before = fixture.changedSources.length
    for (let n = 0; n < 200 && fixture.changedSources.length === before; n += 1) await fixture.time.advance(1_000)
    end.abort()
    await polling
    expect(fixture.changedSources.at(-1)).toBe('secrets/ns/s')
  }

  it('keeps the config while a Secret is missing, and continues when it exists', async () => {
    await sent()
    fixture.removeSecret('s')
    await polled()
    await fixture.pass('w1')
    expect([fixture.condition('w1', 'Synced'), fixture.condition('w1', 'Reconciling')]).toEqual([
      'False SourceNotFound',
      'True SourceNotFound',
    ])
    expect((await fixture.config('w1'))['api_key']).toBe(CANARY)
    fixture.secret('s', { other: 'x' })
    await fixture.pass('w1')
    expect(fixture.condition('w1', 'Synced')).toBe('False SourceNotFound')
    fixture.secret('s', { key: 'new' })
    await polled()
    await fixture.pass('w1')
    expect((await fixture.config('w1'))['api_key']).toBe('new')
  })

  it('reports that it may not read a Secret', async () => {
    fixture.secret('s', { key: CANARY })
    fixture.create('w1', { configFrom: [KEY] })
    fixture.fake.script({ method: 'GET', path: /\/secrets\// }, { kind: 'refuse', status: 403, reason: 'Forbidden' })
    await fixture.pass('w1')
    expect([fixture.condition('w1', 'Synced'), fixture.fleet.count('patch')]).toEqual(['False SourceForbidden', 0])
  })

  it('retries a rejected config when the Secret is rotated, and not before', async () => {
    fixture.secret('s', { key: 'bad' })
    fixture.create('w1', { config: { slots: 2 }, configFrom: [KEY] })
    fixture.fleet.next('patch', () => ({
      kind: 'rejected',
      faults: [{ path: '/api_key', message: 'is wrong', keyword: 'x', params: {} }],
      message: '',
    }))
    expect(await fixture.pass('w1')).toEqual({ kind: 'terminal' })
    await fixture.pass('w1')
    expect([fixture.fleet.count('patch'), fixture.condition('w1', 'Stalled')]).toEqual([1, 'True Rejected'])
    fixture.secret('s', { key: 'good' })
    await polled()
    await fixture.settle('w1')
    expect([(await fixture.config('w1'))['api_key'], fixture.condition('w1', 'Synced')]).toEqual([
      'good',
      'True InSync',
    ])
  })

  it('does not write a Secret to a field that every read shows', async () => {
    fixture.secret('s', { key: CANARY })
    fixture.create('w1', { configFrom: [{ field: 'url', secretKeyRef: { name: 's', key: 'key' } }] })
    await fixture.pass('w1')
    expect([fixture.changes > 1, fixture.condition('w1', 'Stalled')]).toEqual([false, 'True SecretNotWriteOnly'])
  })

  it('reads ConfigMaps, as text and as JSON, once per version', async () => {
    fixture.configMap('m', { url: 'http://map', limits: '{"cpu": 3.0}' })
    fixture.create('w1', {
      configFrom: [
        { field: 'url', configMapKeyRef: { name: 'm', key: 'url' } },
        { field: 'limits', configMapKeyRef: { name: 'm', key: 'limits' }, format: 'JSON', as: 'String' },
      ],
    })
    await fixture.pass('w1')
    expect(await fixture.config('w1')).toMatchObject({ url: 'http://map', limits: { cpu: 3 } })
    const reads = fixture.fake.seen('GET', /configmaps/).length
    await fixture.pass('w1')
    expect(fixture.fake.seen('GET', /configmaps/)).toHaveLength(reads)
    await fixture.expectQuiet('w1')
  })

  it('warns about a secret in the spec, and sends it once', async () => {
    fixture.create('w1', { config: { login: { user: 'u', password: CANARY } } })
    await fixture.settle('w1')
    expect(await fixture.config('w1')).toMatchObject({ login: { user: 'u', password: CANARY } })
    expect(fixture.events.filter(({ reason }) => reason === 'SecretInSpec')).toHaveLength(1)
    await fixture.expectQuiet('w1')
    fixture.edit('w1', { config: { login: { user: 'v', password: '********' } } })
    await fixture.pass('w1')
    expect(fixture.condition('w1', 'Stalled')).toBe('True ConfigInvalid')
  })

  it('sends possibly lost secrets again after a suspension', async () => {
    await sent()
    fixture.edit('w1', { suspend: true })
    await fixture.pass('w1')
    expect((await fixture.record('w1')).managed_by).toBeNull()
    await fixture.dashboard('w1', { api_key: 'theirs' })
    await fixture.pass('w1')
    expect(fixture.object('w1').status?.drift?.paths).toEqual(['/api_key'])
    fixture.edit('w1', { suspend: false })
    // The claim succeeds, the PATCH is not sent.
    fixture.fleet.next('patch', () => ({ kind: 'forbidden', message: 'not now' }))
    await fixture.pass('w1')
    fixture.restart()
    await fixture.settle('w1')
    expect((await fixture.config('w1'))['api_key']).toBe(CANARY)
  })

  it('keeps the config while a source that an earlier release read has no consent (D62)', async () => {
    await sent()
    fixture.secret('s', { key: CANARY }, null)
    fixture.restart()
    const before = fixture.fleet.count('patch')
    fixture.edit('w1', { config: { url: 'http://elsewhere' } })
    await fixture.pass('w1')
    expect([fixture.condition('w1', 'Synced'), fixture.condition('w1', 'Reconciling')]).toEqual([
      'False SourceForbidden',
      'True SourceForbidden',
    ])
    expect(fixture.object('w1').status?.conditions?.find(({ type }) => type === 'Synced')?.message).toContain(
      'kubectl annotate secret s -n ns muster.dev/config-for=job --overwrite',
    )
    expect([fixture.fleet.count('patch'), await fixture.config('w1')]).toEqual([
      before,
      expect.objectContaining({ url: 'http://a', api_key: CANARY }),
    ])
    fixture.secret('s', { key: CANARY }, 'job')
    await fixture.time.advance(6_000)
    await polled()
    await fixture.settle('w1')
    expect([fixture.condition('w1', 'Synced'), (await fixture.config('w1'))['url']]).toEqual([
      'True InSync',
      'http://elsewhere',
    ])
  })
})

describe('reconcile: secrets that are bound to their destination (D88)', () => {
  const BOUND: ConfigSource = { field: 'bound_key', secretKeyRef: { name: 's', key: 'key' } }

  it('sends the secret with the PATCH that changes its destination, and with no other', async () => {
    fixture.secret('s', { key: CANARY })
    fixture.create('w1', { config: { endpoint: 'http://a' }, configFrom: [BOUND] })
    await fixture.settle('w1')
    fixture.edit('w1', { config: { endpoint: 'http://b' } })
    await fixture.settle('w1')
    fixture.edit('w1', { slots: 4 })
    await fixture.settle('w1')
    expect(fixture.fleet.bodies('patch')).toEqual([
      { endpoint: 'http://a', bound_key: CANARY },
      { endpoint: 'http://b', bound_key: CANARY },
      { slots: 4 },
    ])
    await fixture.expectQuiet('w1')
  })

  it('sends it after a restart as well, when only its version is remembered', async () => {
    fixture.secret('s', { key: CANARY })
    fixture.create('w1', { config: { endpoint: 'http://a' }, configFrom: [BOUND] })
    await fixture.settle('w1')
    fixture.restart()
    fixture.edit('w1', { config: { endpoint: 'http://b' } })
    await fixture.settle('w1')
    expect(fixture.fleet.bodies('patch').at(-1)).toEqual({ endpoint: 'http://b', bound_key: CANARY })
    await fixture.expectQuiet('w1')
  })

  it('clears a secret that the resource does not name, when the resource changes its destination', async () => {
    fixture.create('w1', { config: { endpoint: 'http://a' } })
    await fixture.settle('w1')
    await fixture.dashboard('w1', { bound_key: 'theirs' })
    fixture.edit('w1', { config: { endpoint: 'http://b' } })
    await fixture.settle('w1')
    expect(fixture.fleet.bodies('patch').at(-1)).toEqual({ endpoint: 'http://b', bound_key: null })
    expect(await fixture.config('w1')).not.toHaveProperty('bound_key')
    await fixture.expectQuiet('w1')
  })

  it('leaves an ignored secret unchanged, and reports that the master rejects the change', async () => {
    fixture.create('w1', { config: { endpoint: 'http://a' }, ignoreDifferences: ['/bound_key'] })
    await fixture.settle('w1')
    await fixture.dashboard('w1', { bound_key: 'theirs' })
    fixture.edit('w1', { config: { endpoint: 'http://b' } })
    await fixture.settle('w1')
    expect(fixture.condition('w1', 'Synced')).toBe('False Rejected')
    expect(await fixture.config('w1')).toMatchObject({ endpoint: 'http://a', bound_key: 'theirs' })
  })
})
