/**
 * Tests several operators in parallel, on a real API server: a leader that is killed, shuts down, or is frozen for
 * longer than its lease, with a replica on standby; and two operators with one namespace each on one master.
 */
import { mkdirSync, writeFileSync } from 'node:fs'
import { join, relative } from 'node:path'
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals'
import { SocketWorker } from '../e2e/socket-worker.ts'
import { SLACK } from '../kit/index.ts'
import { Cluster } from './cluster.ts'
import type { Replica } from './replica.ts'
import { withApiServer } from './with-programs.ts'

const TEST_MS = 180_000
const WORKERS = 8
/** Twice the lease. */
const FROZEN_MS = 31_000

withApiServer('two operators', () => {
  let cluster: Cluster
  const replicas: Replica[] = []
  const names = Array.from({ length: WORKERS }, (_, n) => `w${n}`)

  beforeAll(async () => {
    cluster = await Cluster.start('cluster-wide')
    for (const name of [...names, 'shared', 'one', 'two']) await SocketWorker.join(cluster.fleet, 'http-probe', name)
  }, TEST_MS)
  afterAll(() => cluster.close(), 60_000)
  afterEach(async () => {
    for (const { proc } of replicas) proc.child.kill('SIGCONT')
    await Promise.all(replicas.splice(0).map((replica) => replica.end('SIGTERM')))
  })

  const started = async (...options: Parameters<Cluster['startReplica']>): Promise<Replica> => {
    const replica = await cluster.startReplica(...options)
    replicas.push(replica)
    return replica
  }
  /** Starts a leader and a standby. */
  const pair = async (): Promise<readonly [Replica, Replica]> => {
    const leader = await started()
    await cluster.until('the first is the leader', () => leader.leads())
    const standby = await started()
    await cluster.until('the second is ready', async () => (await standby.probe('/readyz')) === 200)
    return [leader, standby]
  }
  const configured = (interval: number) =>
    Promise.all(names.map((name) => cluster.apply(name, { config: { interval_seconds: interval } })))
  const intervals = async (): Promise<readonly unknown[]> =>
    Promise.all(names.map(async (name) => (await cluster.worker(name))?.config['interval_seconds']))
  const inForce = async (interval: number, withinMs?: number): Promise<void> => {
    await cluster.until(
      `${interval} is in force everywhere`,
      async () => (await intervals()).every((each) => each === interval),
      withinMs,
      async () => JSON.stringify(await intervals()),
    )
    for (const name of names) await cluster.condition(name, 'Synced=InSync')
  }
  /** Time from `act` until an edit that is made simultaneously is in force. */
  const takeoverMs = async (interval: number, act: () => Promise<unknown>): Promise<number> => {
    const startMs = performance.now()
    await Promise.all([act(), configured(interval)])
    await cluster.until(
      'the edits are in force',
      async () => (await intervals()).every((each) => each === interval),
      40_000,
    )
    return performance.now() - startMs
  }

  describe('two operators', () => {
    it(
      'work as one: the second writes nothing, takes over within 20 s of a SIGKILL, and within 3 s of a shutdown',
      async () => {
        const [first, second] = await pair()
        await configured(10)
        await inForce(10)
        expect(second.writes(0)).toEqual([])
        expect(await takeoverMs(11, () => first.end('SIGKILL'))).toBeLessThan(20_000)
        expect(await second.leads()).toBe(true)
        const third = await started()
        await cluster.until('the third is ready', async () => (await third.probe('/readyz')) === 200)
        const beganMs = performance.now()
        const ended = second.end('SIGTERM')
        await cluster.until('the third is the leader', () => third.leads())
        expect(performance.now() - beganMs).toBeLessThan(3_000 * SLACK)
        expect(await ended).toBe(0)
        await configured(12)
        await inForce(12)
      },
      TEST_MS,
    )

    it(
      'never overwrite each other: a leader that was frozen for twice its lease resumes and writes nothing',
      async () => {
        const [first, second] = await pair()
        await configured(20)
        await inForce(20)
        const edits = configured(21) // What it is about to write when it is frozen.
        setTimeout(() => first.proc.child.kill('SIGSTOP'), 300)
        const frozenMs = performance.now()
        await edits
        await cluster.until('the second is the leader', () => second.leads())
        await configured(22)
        await inForce(22)
        await new Promise((resolve) => setTimeout(resolve, Math.max(0, FROZEN_MS - (performance.now() - frozenMs))))
        const generations = async (): Promise<unknown> =>
          Promise.all(names.map(async (name) => (await cluster.worker(name))?.config_gen))
        const [before, wokenMs] = [await generations(), Date.now()]
        first.proc.child.kill('SIGCONT')
        await cluster.until('the first has noticed that it lost its lease', async () => !(await first.leads()))
        await configured(23)
        await inForce(23)
        expect(first.writes(wokenMs)).toEqual([])
        expect(
          ((await generations()) as number[]).map((each, index) => each - ((before as number[])[index] ?? 0)),
        ).toEqual(names.map(() => 1))
        expect(await second.leads()).toBe(true)
      },
      TEST_MS,
    )

    it(
      'with one namespace each manage one master, and claims separate them',
      async () => {
        const folder = join(cluster.server.folder, 'second')
        mkdirSync(folder)
        writeFileSync(
          join(folder, 'kustomization.yaml'),
          JSON.stringify({
            namespace: 'muster-b',
            resources: [relative(folder, join(process.cwd(), 'manifests/operator/namespaced'))],
            patches: [
              {
                target: { kind: 'RoleBinding', name: 'muster-operator' },
                patch: JSON.stringify([{ op: 'replace', path: '/subjects/0/namespace', value: 'muster-b' }]),
              },
            ],
          }),
        )
        await cluster.kubectl('create', 'namespace', 'muster-b')
        await cluster.kubectl('apply', '-k', folder)
        const both = [
          await started({ settings: { SVC_WATCH_NAMESPACES: 'team-a' } }),
          await started({ namespace: 'muster-b', settings: { SVC_WATCH_NAMESPACES: 'muster-b' } }),
        ]
        await cluster.until('both are leaders', async () =>
          (await Promise.all(both.map((each) => each.leads()))).every(Boolean),
        )
        await cluster.apply('one', { config: { interval_seconds: 31 } })
        await cluster.apply('two', { config: { interval_seconds: 32 } }, 'muster-b')
        await cluster.condition('one', 'Synced=InSync')
        await cluster.condition('two', 'Synced=InSync', undefined, 'muster-b')
        await cluster.apply('shared', { config: { interval_seconds: 33 } })
        await cluster.condition('shared', 'Synced=InSync')
        await cluster.apply('shared', { config: { interval_seconds: 34 } }, 'muster-b')
        await cluster.condition('shared', 'Stalled=OwnershipConflict', undefined, 'muster-b')
        expect(await cluster.worker('shared')).toMatchObject({
          config: { interval_seconds: 33 },
          managed_by: expect.stringMatching(/^kubernetes:team-a\/shared#/),
        })
        await cluster.kubectl('delete', '-n', 'team-a', 'fwk', 'shared', '--timeout=30s')
        await cluster.condition('shared', 'Synced=InSync', undefined, 'muster-b')
        expect(await cluster.worker('shared')).toMatchObject({
          config: { interval_seconds: 34 },
          managed_by: expect.stringMatching(/^kubernetes:muster-b\/shared#/),
        })
        expect(both[1]?.writes(0).filter((uri) => uri.includes('/namespaces/team-a/'))).toEqual([])
      },
      TEST_MS,
    )
  })
})
