/**
 * Tests what happens to a rollout of a FleetWorkerSet when something else changes meanwhile: with a real API server, a
 * real master and real workers. The same cases with every fault are in fleetworkerset/model.
 */
import { afterAll, beforeAll, beforeEach, expect, it } from '@jest/globals'
import type { Proc } from '../e2e/fleet.ts'
import { applySet } from './apply-set.ts'
import { Cluster } from './cluster.ts'
import { withApiServer } from './with-programs.ts'

const PROBE = { enabled: true, targets: [{ name: 'self', url: 'http://127.0.0.1:1/' }] }
const COUNT = 3
const BEFORE = 60
const AFTER = 45
const TEST_MS = 180_000

withApiServer('the rollout of a FleetWorkerSet', () => {
  let cluster: Cluster
  let name = ''
  let sets = 0
  const procs = new Map<string, Proc>()

  const ids = (): readonly string[] => Array.from({ length: COUNT }, (_, index) => `${name}-${index}`)
  const apply = (interval: number): Promise<string> =>
    applySet(cluster, name, {
      config: { ...PROBE, interval_seconds: interval },
      rollout: { stages: [{ workers: 1, bakeSeconds: 0, approval: 'Manual' }] },
    })
  const wait = (what: string): Promise<string> =>
    cluster.kubectl('wait', '-n', 'team-a', `fleetworkerset/${name}`, `--for=${what}`, '--timeout=60s')
  const get = (path: string): Promise<string> =>
    cluster.kubectl('get', '-n', 'team-a', `fws/${name}`, '-o', `jsonpath={${path}}`)
  /** The workers that have the new config. */
  const updated = async (): Promise<readonly string[]> => {
    const all = await Promise.all(ids().map(async (id) => (await cluster.worker(id))?.config['interval_seconds']))
    return ids().filter((_, index) => all[index] === AFTER)
  }
  const updatedBecome = (count: number): Promise<void> =>
    cluster.until(`${count} workers are updated`, async () => (await updated()).length === count, 90_000)
  const generations = async (): Promise<readonly unknown[]> =>
    Promise.all(ids().map(async (id) => (await cluster.worker(id))?.config_gen))

  beforeAll(async () => {
    cluster = await Cluster.start('cluster-wide')
    await cluster.startOperator()
  }, TEST_MS)
  afterAll(() => cluster.close(), 60_000)

  /** Each set has one updated worker, and waits for an approval. */
  beforeEach(async () => {
    name = `set${sets}`
    sets += 1
    for (const id of ids()) procs.set(id, await cluster.startWorker(id))
    await apply(BEFORE)
    await wait(`jsonpath={.status.workers.acknowledged}=${COUNT}`)
    await wait('condition=Ready')
    await apply(AFTER)
    await wait('jsonpath={.status.rollout.phase}=WaitingForApproval')
    expect(await updated()).toHaveLength(1)
  }, TEST_MS)

  it(
    'is over when Git reverts the edit: the updated worker returns, and no revision has failed',
    async () => {
      await apply(BEFORE)
      await updatedBecome(0)
      await wait('condition=Ready')
      expect(await get('.status.failed')).toBe('')
    },
    TEST_MS,
  )

  it(
    'does not count an updated worker that gets a FleetWorker of its own',
    async () => {
      const [id = ''] = await updated()
      await cluster.apply(id, { config: { ...PROBE, interval_seconds: 50 } })
      await cluster.condition(id, 'Ready=True')
      await wait('jsonpath={.status.workers.pinned}=1')
      expect((await cluster.worker(id))?.config['interval_seconds']).toBe(50)
      await cluster.kubectl('delete', '-n', 'team-a', `fw/${id}`)
      await wait('jsonpath={.status.workers.pinned}=0')
    },
    TEST_MS,
  )

  it(
    'keeps its stage when the updated worker restarts',
    async () => {
      const before = [await updated(), await generations()]
      const [id = ''] = await updated()
      procs.get(id)?.child.kill('SIGKILL')
      await procs.get(id)?.exited
      await cluster.startWorker(id)
      await wait(`jsonpath={.status.workers.acknowledged}=${COUNT}`)
      expect([await updated(), await generations()]).toEqual(before)
      expect(await get('.status.rollout.phase')).toBe('WaitingForApproval')
    },
    TEST_MS,
  )

  it(
    'begins again when the master has lost its store: all workers get the current config, then one the new one',
    async () => {
      const epoch = await get('.status.rollout.epoch')
      const current = await get('.status.currentRevision')
      await cluster.fleet.stopMaster()
      await cluster.fleet.startMaster()
      await cluster.until(
        'the first stage has begun again',
        async () => ![epoch, ''].includes(await get('.status.rollout.epoch')),
        90_000,
      )
      await cluster.until(
        'it waits for an approval',
        async () => (await get('.status.rollout.phase')) === 'WaitingForApproval',
        90_000,
      )
      expect([await get('.status.currentRevision'), (await updated()).length]).toEqual([current, 1])
    },
    TEST_MS,
  )

  it(
    'leaves the configs as they are when the set is deleted with Retain',
    async () => {
      const before = [await updated(), await generations()]
      await cluster.kubectl('delete', '-n', 'team-a', `fws/${name}`, '--timeout=60s')
      await cluster.until(
        'the set is gone',
        async () => !(await cluster.kubectl('get', '-n', 'team-a', 'fws', '-o', 'name')).includes(`/${name}\n`),
      )
      expect([await updated(), await generations()]).toEqual(before)
    },
    TEST_MS,
  )

  it(
    'needs no write for workers with one config when the status was lost',
    async () => {
      await apply(BEFORE)
      await updatedBecome(0)
      await wait('condition=Ready')
      const before = await generations()
      await cluster.stopOperator()
      const path = `/apis/muster.dev/v1alpha1/namespaces/team-a/fleetworkersets/${name}/status`
      await cluster.ok('PATCH', path, { status: null }, 'application/merge-patch+json')
      await cluster.startOperator()
      await wait('condition=Ready')
      expect(await generations()).toEqual(before)
    },
    TEST_MS,
  )
})
