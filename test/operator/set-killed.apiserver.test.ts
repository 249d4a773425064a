/**
 * Kills the operator at each step of a rollout: before a call of the step takes effect, and after it, when nothing can
 * read the response. A real API server, a real master and real workers. The next operator continues in the stage that
 * the status says. No worker is written twice, and a failure is not forgotten.
 */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import type { Deed } from '../client/faulty-proxy.ts'
import { ProxiedCluster } from './proxied-cluster.ts'
import { StagedSet } from './staged-set.ts'
import { withApiServer } from './with-programs.ts'

const TEST_MS = 240_000
const LEASE = '/apis/coordination.k8s.io/v1/namespaces/muster/leases/muster-operator'
const WHEN = ['before', 'after'] as const
type When = (typeof WHEN)[number]

interface Call {
  readonly method: string
  readonly path: string
}
/** The calls of a rollout in their order, each to the API server or to the master. */
const STEPS: readonly (readonly [name: string, isOf: (call: Call) => boolean])[] = [
  ['stores the revision', ({ method, path }) => method === 'PUT' && path.includes('/revisions/')],
  ['records the history', ({ method, path }) => method === 'POST' && path.includes('/controllerrevisions')],
  ['stores the stage in the status', ({ method, path }) => method === 'PATCH' && path.includes('/status')],
  ['writes the workers of the stage', ({ method, path }) => method === 'POST' && path.endsWith('/configs')],
]
const CASES = STEPS.flatMap(([name, isOf]) => WHEN.map((when) => ({ name, isOf, when })))
const ROLLBACK = CASES.filter(({ name }) => !name.startsWith('stores the revision') && !name.startsWith('records'))

withApiServer('an operator that is killed in a rollout', () => {
  let proxied: ProxiedCluster
  let set: StagedSet
  let edited = 0

  beforeAll(async () => {
    proxied = await ProxiedCluster.start()
    set = await StagedSet.started(proxied.cluster, 3)
  }, TEST_MS)
  afterAll(() => proxied.close(), 60_000)

  /** Kills the operator with its next call of the step. Resolves when it is dead. */
  const killAt = (isOf: (call: Call) => boolean, when: When): Promise<void> =>
    new Promise((resolve) => {
      const { apiServer, cluster, master } = proxied
      const strikes = (call: Call): boolean => {
        if (!isOf(call)) return false
        proxied.pass()
        void cluster.stopOperator('SIGKILL').then(() => resolve())
        return true
      }
      apiServer.fault = (call) => (strikes(call) ? { kind: 'reset', when } : undefined)
      master.rule = ({ method = '', url = '' }): Deed => (strikes({ method, path: url }) ? `reset ${when}` : 'pass')
    })
  /** The next operator need not wait until the lease of the dead one has expired. */
  const restart = async (): Promise<void> => {
    await proxied.cluster.ok('DELETE', LEASE)
    await proxied.startOperator()
  }
  const limit = async (): Promise<number> => Number((await set.get('.status.rollout.limit')) || 0)

  describe('an operator that is killed in a rollout', () => {
    it.each(CASES)(
      'when it $name, $when that took effect',
      async ({ isOf, when }) => {
        edited += 1
        const before = await set.generations()
        const dead = killAt(isOf, when)
        await set.apply(edited)
        await dead
        expect((await set.having(edited)).length).toBeLessThanOrEqual(await limit())
        await restart()
        await set.becomes('WaitingForApproval')
        const [updated = ''] = await set.having(edited)
        expect(await set.having(edited)).toHaveLength(1)
        expect(await set.generations()).toEqual(
          set.ids.map((id, index) => Number(before[index]) + Number(id === updated)),
        )
        expect(await set.get('.status.failed')).toBe('')
        await set.promote()
        await set.becomes('Complete')
      },
      TEST_MS,
    )

    it.each(ROLLBACK)(
      'when it rolls back and $name, $when that took effect',
      async ({ isOf, when }) => {
        edited += 1
        await set.apply(edited)
        await set.becomes('WaitingForApproval')
        const [before, revision] = [await set.generations(), await set.get('.status.updateRevision')]
        const [updated = ''] = await set.having(edited)
        const dead = killAt(isOf, when)
        await set.annotate('abort', `${revision}/1`)
        await dead
        await restart()
        await set.becomes('RolledBack')
        expect(await set.having(edited)).toEqual([])
        expect(await set.generations()).toEqual(
          set.ids.map((id, index) => Number(before[index]) + Number(id === updated)),
        )
        expect(await set.get('.status.failed[*].revision')).toContain(revision)
        expect(await set.get(`.status.failed[?(@.revision=="${revision}")].attempts`)).toBe('1')
      },
      TEST_MS,
    )
  })
})
