/**
 * Tests what happens to a rollout of a FleetWorkerSet when something else changes meanwhile: with a real API server, a
 * real master and real workers. The same cases with every fault are in fleetworkerset/model.
 */
import { afterAll, beforeAll, beforeEach, expect, it } from '@jest/globals'
import { Cluster } from './cluster.ts'
import { BEFORE, StagedSet } from './staged-set.ts'
import { withApiServer } from './with-programs.ts'

const COUNT = 3
const TEST_MS = 180_000

withApiServer('the rollout of a FleetWorkerSet', () => {
  let cluster: Cluster
  let set: StagedSet

  beforeAll(async () => {
    cluster = await Cluster.start('cluster-wide')
    await cluster.startOperator()
  }, TEST_MS)
  afterAll(() => cluster.close(), 60_000)

  /** Each set has one updated worker, and waits for an approval. */
  beforeEach(async () => {
    set = await StagedSet.started(cluster, COUNT)
    await set.begin()
    expect(await set.updated()).toHaveLength(1)
  }, TEST_MS)

  it(
    'is over when Git reverts the edit: the updated worker returns, and no revision has failed',
    async () => {
      await set.apply(BEFORE)
      await set.updatedBecome(0)
      await set.wait('condition=Ready')
      expect(await set.get('.status.failed')).toBe('')
    },
    TEST_MS,
  )

  it(
    'does not count an updated worker that gets a FleetWorker of its own',
    async () => {
      const [id = ''] = await set.updated()
      await cluster.apply(id, { config: { enabled: true, interval_seconds: 50 } })
      await cluster.condition(id, 'Ready=True')
      await set.wait('jsonpath={.status.workers.pinned}=1')
      expect((await cluster.worker(id))?.config['interval_seconds']).toBe(50)
      await cluster.kubectl('delete', '-n', 'team-a', `fwk/${id}`)
      await set.wait('jsonpath={.status.workers.pinned}=0')
    },
    TEST_MS,
  )

  it(
    'keeps its stage when the updated worker restarts',
    async () => {
      const before = [await set.updated(), await set.generations()]
      const [id = ''] = await set.updated()
      set.procs.get(id)?.child.kill('SIGKILL')
      await set.procs.get(id)?.exited
      await cluster.startWorker(id)
      await set.wait(`jsonpath={.status.workers.acknowledged}=${COUNT}`)
      expect([await set.updated(), await set.generations()]).toEqual(before)
      expect(await set.get('.status.rollout.phase')).toBe('WaitingForApproval')
    },
    TEST_MS,
  )

  it(
    'begins again when the master has lost its store: all workers get the current config, then one the new one',
    async () => {
      const epoch = await set.get('.status.rollout.epoch')
      const current = await set.get('.status.currentRevision')
      await cluster.fleet.stopMaster()
      await cluster.fleet.startMaster()
      await cluster.until(
        'the first stage has begun again',
        async () => ![epoch, ''].includes(await set.get('.status.rollout.epoch')),
        90_000,
      )
      await cluster.until(
        'it waits for an approval',
        async () => (await set.get('.status.rollout.phase')) === 'WaitingForApproval',
        90_000,
      )
      expect([await set.get('.status.currentRevision'), (await set.updated()).length]).toEqual([current, 1])
    },
    TEST_MS,
  )

  it(
    'leaves the configs as they are when the set is deleted with Retain, and an Event says so',
    async () => {
      const before = [await set.updated(), await set.generations()]
      await cluster.kubectl('delete', '-n', 'team-a', `fws/${set.name}`, '--timeout=60s')
      await cluster.until(
        'the set is gone',
        async () => !(await cluster.kubectl('get', '-n', 'team-a', 'fws', '-o', 'name')).includes(`/${set.name}\n`),
      )
      expect([await set.updated(), await set.generations()]).toEqual(before)
      const events = ['get', 'events', '-n', 'team-a', '-o', 'jsonpath={.items[*].reason}']
      await cluster.until('an Event says so', async () =>
        (await cluster.kubectl(...events)).includes('DeletedDuringRollout'),
      )
    },
    TEST_MS,
  )

  it(
    'needs no write for workers with one config when the status was lost',
    async () => {
      await set.apply(BEFORE)
      await set.updatedBecome(0)
      await set.wait('condition=Ready')
      const before = await set.generations()
      await cluster.stopOperator()
      const path = `/apis/muster.dev/v1alpha1/namespaces/team-a/fleetworkersets/${set.name}/status`
      await cluster.ok('PATCH', path, { status: null }, 'application/merge-patch+json')
      await cluster.startOperator()
      await set.wait('condition=Ready')
      expect(await set.generations()).toEqual(before)
    },
    TEST_MS,
  )
})
