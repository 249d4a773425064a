/**
 * Tests what happens to the rollout of a FleetWorkerSet when its workers come and go, belong to another cluster, or
 * when another replica of the operator leads: with a real API server, a real master and real workers.
 */
import { setTimeout as pause } from 'node:timers/promises'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals'
import { Cluster } from './cluster.ts'
import type { Replica } from './replica.ts'
import { AFTER, StagedSet } from './staged-set.ts'
import { withApiServer } from './with-programs.ts'

const TEST_MS = 240_000
const COUNT = 3
const ELSEWHERE = 'kubernetes:elsewhere/fleetworkersets/theirs#12345678'

withApiServer('the members of a FleetWorkerSet in a rollout', () => {
  let cluster: Cluster
  let set: StagedSet
  let replicas: readonly Replica[]

  beforeAll(async () => {
    cluster = await Cluster.start('cluster-wide')
    // An operator takes a claim of a namespace that it watches for that of a deleted object.
    const settings = { SVC_WATCH_NAMESPACES: 'muster,team-a' }
    replicas = [await cluster.startReplica({ settings }), await cluster.startReplica({ settings })]
    await cluster.until('one of them leads', async () => (await leader()) !== undefined)
  }, TEST_MS)
  afterAll(() => cluster.close(), 60_000)
  beforeEach(async () => {
    set = await StagedSet.started(cluster, COUNT)
  }, TEST_MS)

  const leader = async (): Promise<Replica | undefined> => {
    for (const each of replicas) if (await each.leads()) return each
    return undefined
  }
  const end = async (id: string, signal: NodeJS.Signals): Promise<void> => {
    set.procs.get(id)?.child.kill(signal)
    await set.procs.get(id)?.exited
  }
  const counts = async (): Promise<Readonly<Record<string, number>>> =>
    JSON.parse(await set.get('.status.workers')) as Readonly<Record<string, number>>

  describe('the members of a FleetWorkerSet in a rollout', () => {
    it(
      'one that is lost counts as unavailable, one that ends in order as absent; they return with their configs',
      async () => {
        await set.begin()
        const [lost = ''] = await set.updated()
        const ended = set.ids.find((id) => id !== lost) ?? ''
        const generations = await set.generations()
        await end(lost, 'SIGKILL')
        await end(ended, 'SIGTERM')
        await cluster.until(
          'both are counted',
          async () => {
            const { absent, online, unavailable } = await counts()
            return absent === 1 && online === 1 && unavailable === 1
          },
          90_000,
          async () => set.get('.status'),
        )
        expect(await set.ready('reason')).toBe('WaitingForApproval')
        for (const id of [lost, ended]) await cluster.startWorker(id)
        await set.wait(`jsonpath={.status.workers.acknowledged}=${COUNT}`)
        expect([await set.updated(), await set.generations()]).toEqual([[lost], generations])
        await set.promote()
        await set.becomes('Complete')
      },
      TEST_MS,
    )

    it(
      'one that flaps keeps its config, and the stage keeps its workers',
      async () => {
        await set.begin()
        const [id = ''] = await set.updated()
        const generations = await set.generations()
        for (let n = 0; n < 4; n += 1) {
          await end(id, 'SIGKILL')
          set.procs.set(id, await cluster.startWorker(id))
        }
        await set.wait(`jsonpath={.status.workers.acknowledged}=${COUNT}`)
        expect([await set.updated(), await set.generations()]).toEqual([[id], generations])
        expect(await set.ready('reason')).toBe('WaitingForApproval')
      },
      TEST_MS,
    )

    it(
      'one that was forgotten joins as a new worker, with the current config',
      async () => {
        await set.begin()
        const [id = ''] = await set.updated()
        await end(id, 'SIGKILL')
        await cluster.fleet.ok('DELETE', `/automations/http-probe/workers/${id}`)
        await set.wait(`jsonpath={.status.workers.matched}=${COUNT - 1}`)
        await cluster.startWorker(id)
        await set.wait(`jsonpath={.status.workers.acknowledged}=${COUNT}`)
        expect(await set.updated()).not.toContain(id)
        await set.becomes('WaitingForApproval')
        await set.promote()
        await set.becomes('Complete')
        expect(await set.updated()).toHaveLength(COUNT)
      },
      TEST_MS,
    )

    it(
      'one that another cluster manages is not written, and named in the condition Conflicted',
      async () => {
        const [theirs = ''] = set.ids
        await cluster.fleet.ok('PUT', `/automations/http-probe/workers/${theirs}/claim`, { managed_by: ELSEWHERE })
        await set.wait('condition=Conflicted')
        expect(await set.get('.status.conditions[?(@.type=="Conflicted")].message')).toContain(ELSEWHERE)
        await set.begin()
        await set.promote()
        await set.becomes('Complete')
        expect((await set.updated()).length).toBe(COUNT - 1)
        expect(await set.updated()).not.toContain(theirs)
        expect((await cluster.worker(theirs))?.managed_by).toBe(ELSEWHERE)
      },
      TEST_MS,
    )

    it(
      'are not written by a leader that was stopped and wakes after another one took over',
      async () => {
        const old = await leader()
        old?.proc.child.kill('SIGSTOP')
        try {
          await cluster.until('the other one leads', async () => {
            for (const each of replicas) if (each !== old && (await each.leads())) return true
            return false
          })
          await set.begin()
          const sinceMs = Date.now()
          old?.proc.child.kill('SIGCONT')
          await pause(5_000)
          expect(await old?.leads()).toBe(false)
          expect(old?.writes(sinceMs)).toEqual([])
          expect(await set.updated()).toHaveLength(1)
          await set.promote()
          await set.becomes('Complete')
          expect(await set.having(AFTER)).toHaveLength(COUNT)
        } finally {
          old?.proc.child.kill('SIGCONT')
        }
      },
      TEST_MS,
    )
  })
})
