/**
 * Tests a FleetWorkerSet that a GitOps engine applies again and again, on a real API server: a config that failed is
 * not rolled out again, and Git ends the failure with a revert.
 */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { Cluster } from './cluster.ts'
import { AFTER, BEFORE, StagedSet } from './staged-set.ts'
import { withApiServer } from './with-programs.ts'

const TEST_MS = 240_000
/** As often as Argo CD applies in 10 minutes, if it does so every 10 s. */
const APPLIES = 60
const READY_WITHIN_MS = 2_000
const GIT = ['--server-side', '--force-conflicts', '--field-manager=git']

interface Managed {
  readonly manager: string
  readonly subresource?: string
}

withApiServer('a FleetWorkerSet in Git', () => {
  let cluster: Cluster
  let set: StagedSet

  beforeAll(async () => {
    cluster = await Cluster.start('cluster-wide')
    await cluster.startOperator()
    set = await StagedSet.started(cluster, 3)
    await set.apply(BEFORE, ...GIT)
    await set.begin()
    await set.annotate('abort', `${await set.get('.status.updateRevision')}/1`)
    await set.becomes('RolledBack')
  }, TEST_MS)
  afterAll(() => cluster.close(), 60_000)

  const writes = (sinceMs: number): readonly string[] =>
    cluster
      .audit(sinceMs)
      .filter(({ verb, objectRef }) => /update|patch|create|delete/.test(verb) && objectRef?.resource !== 'leases')
      .map(({ verb, requestURI }) => `${verb} ${requestURI}`)

  describe('a FleetWorkerSet in Git', () => {
    it(
      'is not rolled out again however often the config that failed is applied: 0 writes',
      async () => {
        await set.apply(AFTER, ...GIT)
        await set.becomes('RolledBack')
        const [generations, sinceMs] = [await set.generations(), Date.now()]
        for (let n = 0; n < APPLIES; n += 1) {
          await set.apply(AFTER, ...GIT)
          // As a sync wave that changes metadata only.
          await cluster.kubectl('annotate', '-n', 'team-a', '--overwrite', `fws/${set.name}`, `example.com/sync=${n}`)
        }
        expect(writes(sinceMs)).toEqual([])
        expect([await set.generations(), await set.updated()]).toEqual([generations, []])
        expect(await set.ready('reason')).toBe('RolledBack')
      },
      TEST_MS,
    )

    it(
      'is Ready within 2 s after a revert in Git, without a rollout',
      async () => {
        const generations = await set.generations()
        await set.apply(BEFORE, ...GIT)
        await set.becomes('Complete', READY_WITHIN_MS)
        expect(await set.generations()).toEqual(generations)
        expect(await set.get('.status.rollout')).toBe('')
      },
      TEST_MS,
    )

    it(
      'has fields of the operator in its status only',
      async () => {
        const path = `/apis/muster.dev/v1alpha1/namespaces/team-a/fleetworkersets/${set.name}`
        const { metadata } = await cluster.ok<{ metadata: { managedFields: Managed[] } }>('GET', path)
        const owners = metadata.managedFields.map(({ manager, subresource = 'object' }) => `${manager} ${subresource}`)
        expect(owners).toEqual(expect.arrayContaining(['git object', 'muster-operator status']))
        expect(owners).not.toContain('muster-operator object')
      },
      TEST_MS,
    )
  })
})
