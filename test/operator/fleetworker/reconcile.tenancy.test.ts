/**
 * Tests FleetWorkers of different teams for one worker: which one owns it, and that no secret of one is sent to the
 * targets of the other.
 */
import { beforeEach, describe, expect, it } from '@jest/globals'
import { parseTenants, permitsOf } from '../../../src/operator/fleetworker/index.ts'
import { fleetWorker } from './samples.ts'
import { reconcileFixture, type ReconcileFixture } from './reconcile-fixture.ts'

const THEIRS = { url: 'http://attacker' }

let fixture: ReconcileFixture
beforeEach(async () => {
  fixture = await reconcileFixture()
})

/** Configs of the worker that would send the first owner's secret to the second owner's target; must be empty. */
async function leaks(): Promise<readonly unknown[]> {
  const rows = await fixture.master.backend.configs.history({ type: 'job', id: 'w1' }, 50)
  return rows
    .map(({ config }) => JSON.parse(config ?? '{}') as Record<string, unknown>)
    .filter(({ url, ...rest }) => url === THEIRS.url && JSON.stringify(rest).includes('canary'))
}

describe('a worker whose claim changes owner (D64)', () => {
  const owned = async (): Promise<void> => {
    fixture.secret('s', { key: 'canary' })
    fixture.create('first', {
      workerID: 'w1',
      config: { url: 'http://mine', login: { user: 'me', password: 'canary-2' } },
      configFrom: [{ field: 'api_key', secretKeyRef: { name: 's', key: 'key' } }],
    })
    await fixture.settle('first')
    expect(await fixture.config('w1')).toMatchObject({ api_key: 'canary', login: { password: 'canary-2' } })
    fixture.remove('first')
    await fixture.pass('first')
    expect((await fixture.record('w1')).managed_by).toBeNull()
  }

  it.each([
    ['that it does not name', {}],
    ['that it ignores', { ignoreDifferences: ['/api_key', '/login'] }],
    [
      'that it ignores in part',
      { config: { ...THEIRS, login: { user: 'me' } }, ignoreDifferences: ['/login/password'] },
    ],
    [
      'that it names and ignores',
      {
        config: { ...THEIRS, api_key: 'theirs', login: { user: 'me', password: 'theirs' } },
        ignoreDifferences: ['/api_key', '/login'],
      },
    ],
  ])('keeps no secret of the previous FleetWorker in fields of the next one %s', async (_what, spec) => {
    await owned()
    fixture.create('second', { workerID: 'w1', config: THEIRS, ...spec })
    await fixture.settle('second')
    expect((await fixture.config('w1'))['url']).toBe(THEIRS.url)
    expect(JSON.stringify(await fixture.config('w1'))).not.toContain('canary')
    expect(await leaks()).toEqual([])
    await fixture.expectQuiet('second')
  })

  it('keeps none either when the operator is killed between the status write and the PATCH', async () => {
    await owned()
    fixture.create('second', { workerID: 'w1', config: { ...THEIRS, api_key: 'theirs' } })
    fixture.fleet.next('patch', () => ({ kind: 'unavailable', effect: 'not_sent', message: 'it ended' }))
    await fixture.pass('second')
    expect(fixture.object('second').status?.config?.sources).toEqual([
      { field: 'api_key', version: '' },
      { field: 'login', version: '' },
    ])
    fixture.restart()
    await fixture.settle('second')
    expect(await fixture.config('w1')).toMatchObject({ ...THEIRS, api_key: 'theirs' })
    expect(await leaks()).toEqual([])
  })

  it('keeps none after a first config that the master rejected', async () => {
    await owned()
    fixture.create('second', { workerID: 'w1', config: { ...THEIRS, ratio: 'no number' } })
    await fixture.settle('second')
    expect(fixture.condition('second', 'Synced')).toBe('False Rejected')
    fixture.edit('second', { config: { ratio: 0.1 } })
    await fixture.settle('second')
    expect((await fixture.config('w1'))['url']).toBe(THEIRS.url)
    expect(await leaks()).toEqual([])
  })

  it('keeps none when a restored store contains secrets of an earlier owner', async () => {
    await owned()
    const before = await fixture.config('w1')
    fixture.create('second', { workerID: 'w1', config: THEIRS })
    await fixture.settle('second')
    // As after restoring a backup: the earlier claim and secrets are back.
    await fixture.dashboard('w1', { api_key: before['api_key'], login: before['login'] })
    await fixture.claimed('w1', null)
    fixture.restart()
    await fixture.settle('second')
    expect(JSON.stringify(await fixture.config('w1'))).not.toContain('canary')
  })

  it('keeps an ignored secret that was set while this FleetWorker owned the worker', async () => {
    fixture.create('second', { workerID: 'w1', config: THEIRS, ignoreDifferences: ['/api_key'] })
    await fixture.settle('second')
    await fixture.dashboard('w1', { api_key: 'of the dashboard' })
    await fixture.settle('second')
    expect((await fixture.config('w1'))['api_key']).toBe('of the dashboard')
    await fixture.expectQuiet('second')
  })

  it('shows an observed FleetWorker which secrets it would reset', async () => {
    await owned()
    fixture.create('second', { workerID: 'w1', config: { url: 'http://mine' }, managementPolicy: 'Observe' })
    await fixture.settle('second')
    expect(fixture.object('second').status?.drift?.paths).toEqual(['/api_key', '/login'])
    expect(fixture.fleet.count('patch')).toBe(1) // The PATCH of the first FleetWorker.
  })
})

describe('a FleetWorker that its namespace may not manage (D65)', () => {
  const refused = async (): Promise<void> => {
    fixture.permits = permitsOf(parseTenants('{"ns": {"types": ["job"], "workers": ["team-*"]}}'))
    await fixture.pass('w1')
  }
  const conditions = (): unknown => [
    fixture.condition('w1', 'Synced'),
    fixture.condition('w1', 'Stalled'),
    fixture.condition('w1', 'Online'),
  ]

  it('reports it, changes nothing at the master, and shows no data of the worker', async () => {
    await fixture.dashboard('w1', { url: 'http://mine' })
    fixture.create('w1', { config: THEIRS, deletionPolicy: 'Reset', desiredState: 'Drained' })
    await refused()
    expect(conditions()).toEqual(['False NotPermitted', 'True NotPermitted', 'Unknown Pending'])
    expect([fixture.changes, fixture.object('w1').metadata.finalizers]).toEqual([0, undefined])
    const { conditions: all, observedGeneration, selector, ...shown } = fixture.object('w1').status ?? {}
    expect([all?.find(({ type }) => type === 'Synced')?.message, observedGeneration, shown]).toEqual([
      expect.stringContaining('may not manage the worker job/w1'),
      1,
      {},
    ])
    expect(selector).toMatch(/^muster/)
    await fixture.expectQuiet('w1')
    fixture.permits = () => true
    await fixture.settle('w1')
    expect((await fixture.config('w1'))['url']).toBe(THEIRS.url)
  })

  it('releases its earlier claim, and resets nothing when it is deleted', async () => {
    fixture.create('w1', { config: { url: 'http://mine' }, deletionPolicy: 'Reset' })
    await fixture.settle('w1')
    await refused()
    expect([conditions(), (await fixture.record('w1')).managed_by]).toEqual([
      ['False NotPermitted', 'True NotPermitted', 'Unknown Pending'],
      null,
    ])
    expect(fixture.object('w1').status?.state).toBeUndefined()
    fixture.remove('w1')
    await fixture.pass('w1')
    expect([fixture.names, (await fixture.config('w1'))['url']]).toEqual([[], 'http://mine'])
  })
})

describe('an object that cannot be applied owns no worker (D65)', () => {
  it.each([
    ['invalid', { config: { slots: 1 }, slots: 2 }, {}],
    ['suspended', { suspend: true }, {}],
    ['of another namespace, and not permitted', {}, { namespace: 'other' }],
  ])('one that is %s', async (_what, spec, { namespace = 'ns' }: { namespace?: string }) => {
    fixture.create('older', { workerID: 'w1', ...spec }, namespace)
    await fixture.time.advance(2_000)
    fixture.create('younger', { workerID: 'w1', config: { url: 'http://mine' } })
    fixture.permits = ({ metadata }) => metadata.namespace === 'ns'
    await fixture.pass('older', namespace)
    await fixture.settle('younger')
    expect([fixture.condition('younger', 'Synced'), (await fixture.record('w1')).managed_by]).toEqual([
      'True InSync',
      fixture.claim('younger'),
    ])
  })

  it('one that is being deleted, even while its finalizer remains', async () => {
    fixture.create('older', { workerID: 'w1', config: THEIRS, deletionPolicy: 'Reset' })
    await fixture.settle('older')
    await fixture.time.advance(2_000)
    fixture.create('younger', { workerID: 'w1', config: { url: 'http://mine' } })
    await fixture.settle('younger')
    expect(fixture.condition('younger', 'Synced')).toBe('False OwnershipConflict')
    fixture.remove('older')
    await fixture.settle('younger')
    expect([fixture.condition('younger', 'Synced'), (await fixture.config('w1'))['url']]).toEqual([
      'True InSync',
      'http://mine',
    ])
    await fixture.pass('older')
    expect([fixture.names, (await fixture.config('w1'))['url']]).toEqual([['younger'], 'http://mine'])
  })

  it('one that can be applied again becomes the owner again', async () => {
    fixture.create('older', { workerID: 'w1', config: { url: 'http://mine' }, suspend: true })
    await fixture.time.advance(2_000)
    fixture.create('younger', { workerID: 'w1' })
    await fixture.settle('younger')
    fixture.edit('older', { suspend: false })
    for (const name of ['older', 'younger', 'older']) await fixture.settle(name)
    expect([fixture.condition('older', 'Synced'), fixture.condition('younger', 'Synced')]).toEqual([
      'True InSync',
      'False OwnershipConflict',
    ])
  })
})

describe('the tenant map', () => {
  const may = (text: string, namespace: string, type: string, workerId: string): boolean => {
    const { metadata, spec } = fleetWorker({ type, workerId })
    return permitsOf(parseTenants(text))({ metadata: { ...metadata, namespace }, spec })
  }
  const MAP = '{"a": {"types": ["job"], "workers": ["a-*", "one"]}, "b": {"types": ["*"], "workers": ["*"]}}'

  it.each([
    ['a', 'job', 'a-1', true],
    ['a', 'job', 'one', true],
    ['a', 'job', 'one-more', false],
    ['a', 'job', 'b-1', false],
    ['a', 'jobs', 'a-1', false],
    ['b', 'any', 'a-1', true],
    ['c', 'job', 'a-1', false],
    ['__proto__', 'job', 'a-1', false],
  ])('for namespace %s and worker %s/%s permits: %j', (namespace, type, id, isPermitted) => {
    expect(may(MAP, namespace, type, id)).toBe(isPermitted)
  })

  it('uses "*" for namespaces without an entry', () => {
    const map = '{"*": {"types": ["*"], "workers": ["*"]}, "a": {"types": [], "workers": []}}'
    expect([may(map, 'c', 'job', 'w'), may(map, 'a', 'job', 'w')]).toEqual([true, false])
  })

  it('permits everything if it is not configured', () => {
    expect(permitsOf(undefined)(fleetWorker())).toBe(true)
  })

  it.each([
    ['{', 'is not JSON'],
    ['[]', 'is not an object'],
    ['{"A": {}}', '"A" is not the name of a namespace'],
    ['{"a": []}', 'a is not an object'],
    ['{"a": {"types": "job", "workers": []}}', 'types of a: is not a list'],
    ['{"a": {"types": ["Job"], "workers": []}}', 'types of a: "Job" is not an automation type'],
    ['{"a": {"types": [], "workers": ["*-a"]}}', 'workers of a: "*-a" is not a worker id'],
    ['{"a": {"types": [], "workers": [], "worker": []}}', 'unknown key "worker"'],
  ])('rejects %s and reports the problem, with an example', (text, problem) => {
    expect(() => parseTenants(text)).toThrow(problem)
  })
})
