/**
 * Tests FleetWorkers of different teams for one worker: which one owns it, and that no secret of one is sent to the
 * targets of the other.
 */
import { beforeEach, describe, expect, it } from '@jest/globals'
import { parseTenants, permitsOf } from '../../../src/operator/fleetworker/index.ts'
import { fleetWorker } from './world.ts'
import { reconcileWorld, type ReconcileWorld } from './reconcile-world.ts'

const THEIRS = { url: 'http://attacker' }

let world: ReconcileWorld
beforeEach(async () => {
  world = await reconcileWorld()
})

/** Configs of the worker that would send the first owner's secret to the second owner's target; must be empty. */
async function leaks(): Promise<readonly unknown[]> {
  const rows = await world.master.backend.configs.history({ type: 'job', id: 'w1' }, 50)
  return rows
    .map(({ config }) => JSON.parse(config) as Record<string, unknown>)
    .filter(({ url, ...rest }) => url === THEIRS.url && JSON.stringify(rest).includes('canary'))
}

describe('a worker whose claim changes owner (D64)', () => {
  const owned = async (): Promise<void> => {
    world.secret('s', { key: 'canary' })
    world.create('first', {
      workerId: 'w1',
      config: { url: 'http://mine', login: { user: 'me', password: 'canary-2' } },
      configFrom: [{ field: 'api_key', secretKeyRef: { name: 's', key: 'key' } }],
    })
    await world.settle('first')
    expect(await world.config('w1')).toMatchObject({ api_key: 'canary', login: { password: 'canary-2' } })
    world.remove('first')
    await world.pass('first')
    expect((await world.record('w1')).managed_by).toBeNull()
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
    world.create('second', { workerId: 'w1', config: THEIRS, ...spec })
    await world.settle('second')
    expect((await world.config('w1'))['url']).toBe(THEIRS.url)
    expect(JSON.stringify(await world.config('w1'))).not.toContain('canary')
    expect(await leaks()).toEqual([])
    await world.expectQuiet('second')
  })

  it('keeps none either when the operator is killed between the status write and the PATCH', async () => {
    await owned()
    world.create('second', { workerId: 'w1', config: { ...THEIRS, api_key: 'theirs' } })
    world.fleet.next('patch', () => ({ kind: 'unavailable', effect: 'not_sent', message: 'it ended' }))
    await world.pass('second')
    expect(world.object('second').status?.config?.sources).toEqual([
      { field: 'api_key', version: '' },
      { field: 'login', version: '' },
    ])
    world.restart()
    await world.settle('second')
    expect(await world.config('w1')).toMatchObject({ ...THEIRS, api_key: 'theirs' })
    expect(await leaks()).toEqual([])
  })

  it('keeps none after a first config that the master rejected', async () => {
    await owned()
    world.create('second', { workerId: 'w1', config: { ...THEIRS, ratio: 'no number' } })
    await world.settle('second')
    expect(world.condition('second', 'Synced')).toBe('False Rejected')
    world.edit('second', { config: { ratio: 0.1 } })
    await world.settle('second')
    expect((await world.config('w1'))['url']).toBe(THEIRS.url)
    expect(await leaks()).toEqual([])
  })

  it('keeps none when a restored store contains secrets of an earlier owner', async () => {
    await owned()
    const before = await world.config('w1')
    world.create('second', { workerId: 'w1', config: THEIRS })
    await world.settle('second')
    // As after restoring a backup: the earlier claim and secrets are back.
    await world.dashboard('w1', { api_key: before['api_key'], login: before['login'] })
    await world.claimed('w1', null)
    world.restart()
    await world.settle('second')
    expect(JSON.stringify(await world.config('w1'))).not.toContain('canary')
  })

  it('keeps an ignored secret that was set while this FleetWorker owned the worker', async () => {
    world.create('second', { workerId: 'w1', config: THEIRS, ignoreDifferences: ['/api_key'] })
    await world.settle('second')
    await world.dashboard('w1', { api_key: 'of the dashboard' })
    await world.settle('second')
    expect((await world.config('w1'))['api_key']).toBe('of the dashboard')
    await world.expectQuiet('second')
  })

  it('shows an observed FleetWorker which secrets it would reset', async () => {
    await owned()
    world.create('second', { workerId: 'w1', config: { url: 'http://mine' }, managementPolicy: 'Observe' })
    await world.settle('second')
    expect(world.object('second').status?.drift?.paths).toEqual(['/api_key', '/login'])
    expect(world.fleet.count('patch')).toBe(1) // The PATCH of the first FleetWorker.
  })
})

describe('a FleetWorker that its namespace may not manage (D65)', () => {
  const refused = async (): Promise<void> => {
    world.permits = permitsOf(parseTenants('{"ns": {"types": ["job"], "workers": ["team-*"]}}'))
    await world.pass('w1')
  }
  const conditions = (): unknown => [
    world.condition('w1', 'Synced'),
    world.condition('w1', 'Stalled'),
    world.condition('w1', 'Online'),
  ]

  it('reports it, changes nothing at the master, and shows no data of the worker', async () => {
    await world.dashboard('w1', { url: 'http://mine' })
    world.create('w1', { config: THEIRS, deletionPolicy: 'Reset', drain: true })
    await refused()
    expect(conditions()).toEqual(['False NotPermitted', 'True NotPermitted', 'Unknown Pending'])
    expect([world.changes, world.object('w1').metadata.finalizers]).toEqual([0, undefined])
    const { conditions: all, observedGeneration, selector, ...shown } = world.object('w1').status ?? {}
    expect([all?.find(({ type }) => type === 'Synced')?.message, observedGeneration, shown]).toEqual([
      expect.stringContaining('may not manage the worker job/w1'),
      1,
      {},
    ])
    expect(selector).toMatch(/^muster/)
    await world.expectQuiet('w1')
    world.permits = () => true
    await world.settle('w1')
    expect((await world.config('w1'))['url']).toBe(THEIRS.url)
  })

  it('releases its earlier claim, and resets nothing when it is deleted', async () => {
    world.create('w1', { config: { url: 'http://mine' }, deletionPolicy: 'Reset' })
    await world.settle('w1')
    await refused()
    expect([conditions(), (await world.record('w1')).managed_by]).toEqual([
      ['False NotPermitted', 'True NotPermitted', 'Unknown Pending'],
      null,
    ])
    expect(world.object('w1').status?.state).toBeUndefined()
    world.remove('w1')
    await world.pass('w1')
    expect([world.names, (await world.config('w1'))['url']]).toEqual([[], 'http://mine'])
  })
})

describe('an object that cannot be applied owns no worker (D65)', () => {
  it.each([
    ['invalid', { config: { slots: 1 }, slots: 2 }, {}],
    ['suspended', { suspend: true }, {}],
    ['of another namespace, and not permitted', {}, { namespace: 'other' }],
  ])('one that is %s', async (_what, spec, { namespace = 'ns' }: { namespace?: string }) => {
    world.create('older', { workerId: 'w1', ...spec }, namespace)
    await world.time.advance(2_000)
    world.create('younger', { workerId: 'w1', config: { url: 'http://mine' } })
    world.permits = ({ metadata }) => metadata.namespace === 'ns'
    await world.pass('older', namespace)
    await world.settle('younger')
    expect([world.condition('younger', 'Synced'), (await world.record('w1')).managed_by]).toEqual([
      'True InSync',
      world.claim('younger'),
    ])
  })

  it('one that is being deleted, even while its finalizer remains', async () => {
    world.create('older', { workerId: 'w1', config: THEIRS, deletionPolicy: 'Reset' })
    await world.settle('older')
    await world.time.advance(2_000)
    world.create('younger', { workerId: 'w1', config: { url: 'http://mine' } })
    await world.settle('younger')
    expect(world.condition('younger', 'Synced')).toBe('False OwnershipConflict')
    world.remove('older')
    await world.settle('younger')
    expect([world.condition('younger', 'Synced'), (await world.config('w1'))['url']]).toEqual([
      'True InSync',
      'http://mine',
    ])
    await world.pass('older')
    expect([world.names, (await world.config('w1'))['url']]).toEqual([['younger'], 'http://mine'])
  })

  it('one that can be applied again becomes the owner again', async () => {
    world.create('older', { workerId: 'w1', config: { url: 'http://mine' }, suspend: true })
    await world.time.advance(2_000)
    world.create('younger', { workerId: 'w1' })
    await world.settle('younger')
    world.edit('older', { suspend: false })
    for (const name of ['older', 'younger', 'older']) await world.settle(name)
    expect([world.condition('older', 'Synced'), world.condition('younger', 'Synced')]).toEqual([
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
