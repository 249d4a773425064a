/**
 * Tests the rollout of a FleetWorkerSet when the store of the master or etcd is restored to an older state: the status
 * and the workers then differ in how far the rollout is. Real API server, real master on a file, real workers.
 */
import { cpSync, readdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals'
import { Fleet } from '../e2e/fleet.ts'
import { Cluster } from './cluster.ts'
import { AFTER, BEFORE, StagedSet } from './staged-set.ts'
import { withApiServer } from './with-programs.ts'

const TEST_MS = 240_000
const COUNT = 3

withApiServer('the rollout of a FleetWorkerSet after a restore', () => {
  let cluster: Cluster
  let set: StagedSet

  beforeAll(async () => {
    cluster = await Cluster.start('cluster-wide', {}, new Fleet())
    await cluster.startOperator()
  }, TEST_MS)
  afterAll(() => cluster.close(), 60_000)
  beforeEach(async () => {
    set = await StagedSet.started(cluster, COUNT)
  }, TEST_MS)

  /** Copies the files of the store, while the master is stopped. */
  const copyStore = async (from: string, to: string): Promise<void> => {
    await cluster.fleet.stopMaster()
    const files = (folder: string): readonly string[] =>
      readdirSync(folder).filter((name) => name.startsWith('master.db'))
    for (const name of to === cluster.fleet.directory ? files(to) : []) rmSync(join(to, name))
    for (const name of files(from)) cpSync(join(from, name), join(to, name))
    await cluster.fleet.startMaster()
  }
  const haveAcknowledged = (): Promise<void> =>
    cluster.until('the workers are back', async () => (await set.get('.status.workers.acknowledged')) === `${COUNT}`)

  describe('the rollout of a FleetWorkerSet after a restore', () => {
    it(
      'continues in its stage when the store of the master is from before the rollout',
      async () => {
        const [store, copy] = [cluster.fleet.directory, join(cluster.server.folder, 'store')]
        rmSync(copy, { recursive: true, force: true })
        cpSync(store, copy, { recursive: true, filter: (path) => path === store })
        await copyStore(store, copy)
        await haveAcknowledged()
        await set.begin()
        expect(await set.updated()).toHaveLength(1)
        await copyStore(copy, store)
        await haveAcknowledged()
        await set.becomes('WaitingForApproval')
        expect((await set.updated()).length).toBeLessThanOrEqual(1)
        expect((await set.having(BEFORE)).length).toBeGreaterThanOrEqual(COUNT - 1)
        expect(await set.get('.status.failed')).toBe('')
        await set.promote()
        await set.becomes('Complete')
        expect(await set.updated()).toHaveLength(COUNT)
      },
      TEST_MS,
    )

    it(
      'is over when etcd is from before the edit: the updated worker returns',
      async () => {
        await cluster.server.backup()
        await cluster.until('the set is Ready', async () => (await set.ready('reason')) === 'Complete')
        await set.begin()
        expect(await set.updated()).toHaveLength(1)
        await cluster.server.restore()
        await cluster.until('no worker is updated', async () => (await set.having(BEFORE)).length === COUNT, 90_000)
        await set.becomes('Complete')
        expect(await set.get('.status.failed')).toBe('')
      },
      TEST_MS,
    )

    it(
      'leaves the workers that have the new config when etcd is from a stage before, and continues',
      async () => {
        await set.begin()
        await cluster.server.backup()
        await set.promote()
        await set.becomes('Complete')
        const generations = await set.generations()
        await cluster.server.restore()
        await set.becomes('WaitingForApproval')
        await cluster.until('the workers are counted', async () => (await set.get('.status.workers.updated')) === '3')
        expect([await set.generations(), (await set.having(AFTER)).length]).toEqual([generations, COUNT])
        await set.promote()
        await set.becomes('Complete')
        expect(await set.generations()).toEqual(generations)
      },
      TEST_MS,
    )
  })
})
