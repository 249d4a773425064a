/**
 * Tests `muster rollout` against a real API server, where an operator keeps the history: who owns a field, undo of an
 * edit, and the end of a rollout.
 */
import { afterAll, beforeAll, expect, it } from '@jest/globals'
import { parse } from 'yaml'
import { muster, type Ran } from '../cmd/admin/fixture.ts'
import { applySet } from './apply-set.ts'
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
  const IMMEDIATE = { rollout: { stages: [] } }
  const apply = (name: string, seconds: number, more: object, ...options: readonly string[]): Promise<string> =>
    applySet(cluster, name, { config: { ...PROBE, interval_seconds: seconds }, ...more }, ...options)
  const shows = (name: string, text: string): Promise<void> =>
    cluster.until(`the status of ${name} has "${text}"`, async () =>
      (await rollout(`status ${name}`)).out.includes(text),
    )
  const intervalOf = async (id: string): Promise<unknown> => (await cluster.worker(id))?.config['interval_seconds']

  it(
    'undoes an edit that kubectl applied, and warns that the next apply brings it back',
    async () => {
      await cluster.startWorker('pool-0')
      for (const seconds of [60, 30]) {
        await apply('pool', seconds, IMMEDIATE)
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
        await apply(
          'git',
          seconds,
          { ...IMMEDIATE, paused: false },
          '--server-side',
          '--field-manager=argocd-controller',
        )
        expect(await rollout('status git --watch --timeout 60')).toMatchObject({ code: 0 })
      }
      const undone = await rollout('undo git')
      expect(undone.code).toBe(5)
      expect(undone.err).toContain('argocd-controller owns its config')
      expect(parse(undone.out)).toEqual({ spec: { config: { ...PROBE, interval_seconds: 60 }, configFrom: [] } })
      expect(await rollout('status git --watch --timeout 60')).toMatchObject({ code: 0 })
      expect(await intervalOf('git-0')).toBe(30)
      const warning = 'argocd-controller also sets spec.paused, and sets it back to false'
      expect(await rollout('pause git')).toMatchObject({ code: 0, err: expect.stringContaining(warning) })
    },
    TEST_MS,
  )

  it(
    'pauses, promotes, aborts and retries a rollout with stages',
    async () => {
      const stages = [{ workers: 1, bakeSeconds: 0, approval: 'Manual' }]
      for (const id of ['staged-0', 'staged-1']) await cluster.startWorker(id)
      await apply('staged', 60, { rollout: { stages } })
      expect(await rollout('status staged --watch --timeout 60')).toMatchObject({ code: 0 })
      expect(await rollout('pause staged')).toMatchObject({ code: 0, err: expect.not.stringContaining('warning') })
      await apply('staged', 30, { rollout: { stages } })
      await shows('staged', 'Next     muster rollout resume -n team-a staged')
      expect(await rollout('resume staged')).toMatchObject({ code: 0 })
      await shows('staged', 'Next     muster rollout promote -n team-a staged')
      expect(new Set([await intervalOf('staged-0'), await intervalOf('staged-1')])).toEqual(new Set([30, 60]))

      expect(await rollout('abort staged')).toMatchObject({ code: 0 })
      const failed = await rollout('status staged --watch --timeout 120')
      expect(failed).toMatchObject({ code: 1, out: expect.stringContaining('repeat: muster rollout retry') })
      expect([await intervalOf('staged-0'), await intervalOf('staged-1')]).toEqual([60, 60])
      expect(await rollout('abort staged')).toMatchObject({ code: 1, out: '' })

      expect(await rollout('retry staged')).toMatchObject({ code: 0 })
      await shows('staged', 'attempt 2')
      await shows('staged', 'Next     muster rollout promote -n team-a staged')
      expect(await rollout('promote staged')).toMatchObject({ code: 0 })
      expect(await rollout('status staged --watch --timeout 120')).toMatchObject({ code: 0 })
      expect([await intervalOf('staged-0'), await intervalOf('staged-1')]).toEqual([30, 30])
      expect(await rollout('promote staged')).toMatchObject({ code: 1, err: expect.stringContaining('no rollout') })
    },
    TEST_MS,
  )

  it(
    'reports a config that the master refuses as failed',
    async () => {
      await cluster.startWorker('strict-0')
      await apply('strict', -1, IMMEDIATE)
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
