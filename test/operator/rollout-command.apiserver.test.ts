/**
 * Tests `muster rollout` against a real API server, where an operator keeps the history: who owns a field, undo of an
 * edit, and the end of a rollout.
 */
import { afterAll, beforeAll, expect, it } from '@jest/globals'
import { parse } from 'yaml'
import { muster, type Ran } from '../cmd/admin/fixture.ts'
import { Cluster } from './cluster.ts'
import { withApiServer } from './with-programs.ts'

const TEST_MS = 180_000
const PROBE = { enabled: true, targets: [{ name: 'self', url: 'http://127.0.0.1:1/' }] }

withApiServer('muster rollout on a real API server', () => {
  let cluster: Cluster
  let before: string | undefined

  beforeAll(async () => {
    cluster = await Cluster.start('cluster-wide')
    await cluster.startOperator()
    before = process.env['KUBECONFIG']
    process.env['KUBECONFIG'] = cluster.server.kubeconfig
  }, TEST_MS)
  afterAll(async () => {
    if (before === undefined) delete process.env['KUBECONFIG']
    else process.env['KUBECONFIG'] = before
    await cluster.close()
  }, 60_000)

  const rollout = (words: string): Promise<Ran> => muster('', `rollout ${words} -n team-a`)
  const apply = (name: string, seconds: number, ...options: readonly string[]): Promise<string> => {
    const set = {
      apiVersion: 'muster.dev/v1alpha1',
      kind: 'FleetWorkerSet',
      metadata: { name, namespace: 'team-a' },
      spec: {
        type: 'http-probe',
        selector: { idPatterns: [`${name}-*`] },
        config: { ...PROBE, interval_seconds: seconds },
      },
    }
    return cluster.kubectl('apply', '-f', cluster.file(`${name}.json`, set), ...options)
  }
  const intervalOf = async (id: string): Promise<unknown> => (await cluster.worker(id))?.config['interval_seconds']

  it(
    'undoes an edit that kubectl applied, and warns that the next apply brings it back',
    async () => {
      await cluster.startWorker('pool-0')
      for (const seconds of [60, 30]) {
        await apply('pool', seconds)
        expect(await rollout('status pool --watch --timeout 60')).toMatchObject({ code: 0 })
        expect(await intervalOf('pool-0')).toBe(seconds)
      }
      const [head, newest, first] = (await rollout('history pool')).out.split('\n')
      expect(head).toMatch(/^NUMBER +REVISION +ROLLED OUT +STATE +CHANGED FIELDS$/)
      expect(newest).toMatch(/^2 +[0-9a-f]{12} +20\S+Z +current +interval_seconds$/)
      expect(first).toMatch(/^1 +[0-9a-f]{12} /)
      const undone = await rollout('undo pool')
      expect(undone.code).toBe(0)
      expect(undone.err).toContain('the next run of kubectl-client-side-apply sets the config back')
      expect(await rollout('status pool --watch --timeout 60')).toMatchObject({ code: 0 })
      expect(await intervalOf('pool-0')).toBe(60)
    },
    TEST_MS,
  )

  it(
    'changes nothing that a GitOps engine owns, and prints what to write into Git',
    async () => {
      await cluster.startWorker('git-0')
      for (const seconds of [60, 30]) {
        await apply('git', seconds, '--server-side', '--field-manager=argocd-controller')
        expect(await rollout('status git --watch --timeout 60')).toMatchObject({ code: 0 })
      }
      const undone = await rollout('undo git')
      expect(undone.code).toBe(5)
      expect(undone.err).toContain('argocd-controller owns its config')
      expect(parse(undone.out)).toEqual({ spec: { config: { ...PROBE, interval_seconds: 60 }, configFrom: [] } })
      expect(await rollout('status git --watch --timeout 60')).toMatchObject({ code: 0 })
      expect(await intervalOf('git-0')).toBe(30)
    },
    TEST_MS,
  )

  it(
    'reports a config that the master refuses as failed',
    async () => {
      await cluster.startWorker('strict-0')
      await apply('strict', -1)
      const ran = await rollout('status strict --watch --timeout 60')
      expect(ran.code).toBe(1)
      expect(ran.out).toContain('Rejected')
      expect(ran.out).toContain('/interval_seconds')
      expect(await rollout('retry strict')).toMatchObject({
        code: 1,
        err: expect.stringContaining('refuses the config'),
      })
    },
    TEST_MS,
  )
})
