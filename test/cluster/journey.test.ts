/**
 * Tests one installation of the chart on a real cluster, from `helm install` to the deletion of its namespace, with
 * upgrades and failures in between. The steps depend on one another: after a failure, look at the first failed step.
 */
import { randomBytes } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { setTimeout as pause } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect } from '@jest/globals'
import type { Proc } from '../e2e/fleet.ts'
import { finalizerCommand } from '../operator/finalizer-command.ts'
import { Authority } from './authority.ts'
import { chain, CRDS, expectHidden, ingress, Namespace, withCluster, type Pod } from './cluster.ts'
import { seeDashboard } from './dashboard.ts'
import { firstSteps } from './first-steps.ts'
import { Swarm } from './outside-socket.ts'
import { Load } from './load.ts'
import { Passage } from './passage.ts'
import { Proxy } from './proxies.ts'
import { Public } from './public.ts'
import { eventually } from '../kit/index.ts'

const CHART = 'charts/muster'
const RELEASE = 'muster'
const VALUES = [
  `--values=test/cluster/values.yaml`,
  '--set-file=automations.inline.echo\\.mjs=test/cluster/automations/echo.mjs',
]
const INSIDE = ['muster-echo-0', 'muster-echo-1']
const OUTSIDE = 'outside-1'
const ALL = [...INSIDE, OUTSIDE]
const STEP_MS = 180_000
/** Maximum time in which workers or Redis recover. */
const BACK_WITHIN_MS = 10_000
/** Duration of the operator's lease: a killed operator does not release it, so its successor waits until it expires. */
const LEASE_MS = 15_000
/** Maximum time until all sockets are connected again after a rolling update of the masters. */
const SWARM_BACK_WITHIN_MS = 60_000
const SWARM = 500
const POLICIES = ['Retain', 'Deregister', 'Reset']
const ENDS_WITHIN_MS = 120_000
/** Longer than the idle timeout of any proxy by default; with SOAK=1 as long as a worker may be idle. */
const QUIET_MS = process.env['SOAK'] === '1' ? 600_000 : 75_000
/** Number of acknowledged tasks after which the load counts as running. */
const SOME = 50

interface WorkerRecord {
  readonly worker_id: string
  readonly connected: boolean
  readonly state: string
  readonly config_gen: number
  readonly applied_config_gen: number | null
  readonly config: Readonly<Record<string, unknown>>
}
interface FleetWorker {
  readonly metadata: { readonly name: string; readonly generation: number; readonly finalizers?: readonly string[] }
  readonly status?: {
    readonly observedGeneration?: number
    readonly conditions?: readonly { readonly type: string; readonly status: string }[]
  }
}

const newToken = (): string => randomBytes(32).toString('base64url')

withCluster('an installation over its lifetime', () => {
  describe('the first steps', firstSteps)
  describe('an installation over its lifetime', () => {
    const place = new Namespace(`journey-${randomBytes(3).toString('hex')}`)
    const figures: string[] = []
    /** All tasks that were acknowledged in any step. */
    const acknowledged: string[] = []
    let authority: Authority
    let fleet: Public
    let worker: Proc
    const proxies: Proxy[] = []
    /** Cleanup functions, also for steps that failed. */
    const open: (() => Promise<void> | void)[] = []
    const secrets = {
      'admin-token': newToken(),
      'worker-token': newToken(),
      'worker-tokens': '',
      'token-scopes': '{}',
      password: newToken(),
    }
    /** All tokens and passwords that were ever in use. */
    const canaries = new Set<string>()
    /** Logs of the workers in the cluster whose pods are already deleted. */
    let saidBefore = ''

    const timed = async <T>(what: string, use: () => Promise<T>): Promise<T> => {
      const beganMs = performance.now()
      const result = await use()
      figures.push(`${((performance.now() - beganMs) / 1_000).toFixed(1).padStart(6)} s  ${what}`)
      return result
    }
    const timedWait = (what: string, holds: () => Promise<boolean>, withinMs = 60_000): Promise<void> =>
      timed(what, () =>
        eventually(what, () => holds().catch(() => false), {
          context: () => worker?.output().slice(-2_000) ?? '',
          withinMs,
        }),
      )
    const putCertificate = (): Promise<void> =>
      place.apply({
        apiVersion: 'v1',
        kind: 'Secret',
        type: 'kubernetes.io/tls',
        metadata: { name: 'journey-tls' },
        stringData: {
          'tls.crt': readFileSync(authority.certFile, 'utf8'),
          'tls.key': readFileSync(authority.keyFile, 'utf8'),
        },
      })
    const putSecrets = async (): Promise<void> => {
      for (const value of Object.values(secrets)) if (value.length > 2) canaries.add(value)
      await place.apply({ apiVersion: 'v1', kind: 'Secret', metadata: { name: 'journey-own' }, stringData: secrets })
    }
    const install = (...more: readonly string[]): Promise<string> =>
      place.helm('install', RELEASE, CHART, ...VALUES, ...ownSecrets, ...more, '--wait', '--timeout=90s')
    const workers = (): Promise<readonly WorkerRecord[]> => fleet.ok<WorkerRecord[]>('GET', '/automations/echo/workers')
    const allConnected = async (): Promise<boolean> => {
      const connected = (await workers()).filter((each) => each.connected && each.state === 'RUNNING')
      return (
        connected
          .map((each) => each.worker_id)
          .toSorted()
          .join(' ') === ALL.join(' ')
      )
    }
    const fleetWorker = (name: string, config: object, deletionPolicy = 'Retain'): object => ({
      apiVersion: 'muster.dev/v1alpha1',
      kind: 'FleetWorker',
      metadata: { name },
      spec: { type: 'echo', deletionPolicy, config: { enabled: true, slots: 4, ...config } },
    })
    const applyAll = (config: object): Promise<void> =>
      place.apply({ apiVersion: 'v1', kind: 'List', items: ALL.map((name) => fleetWorker(name, config)) })
    const fleetWorkers = async (): Promise<readonly FleetWorker[]> =>
      (JSON.parse(await place.kubectl('get', 'fleetworkers', '--output=json')) as { items: FleetWorker[] }).items
    const allReady = async (): Promise<boolean> => {
      const items = await fleetWorkers()
      return (
        items.length === ALL.length &&
        items.every(
          ({ metadata, status }) =>
            status?.observedGeneration === metadata.generation &&
            status.conditions?.some(({ type, status: is }) => type === 'Ready' && is === 'True'),
        )
      )
    }
    const allPods = async (): Promise<readonly Pod[]> =>
      (await Promise.all(['master', 'operator', 'worker', 'redis'].map((component) => place.pods(component)))).flat()
    const logsWithin = (): Promise<string> =>
      place.kubectl('logs', '--selector=app.kubernetes.io/component=worker', '--tail=-1')
    const restarts = async (): Promise<number> => {
      const pods = [...(await place.pods('master')), ...(await place.pods('operator')), ...(await place.pods('worker'))]
      return pods
        .flatMap(({ status }) => status.containerStatuses ?? [])
        .reduce((sum, { restartCount }) => sum + restartCount, 0)
    }
    const wasRestarted = async (component: string): Promise<boolean> =>
      (await place.pods(component)).every(({ status }) =>
        status.containerStatuses?.every(({ restartCount, ready }) => restartCount === 1 && ready),
      )
    /** Expects that each acknowledged task was run by a worker, has left the queue and is in no dead-letter queue. */
    const expectNothingLost = async (): Promise<void> => {
      const left = [...acknowledged]
      await timedWait(
        'everything acknowledged has left the queue',
        async () => {
          while (left.length > 0) {
            const { status, body } = await fleet.call<{ detail?: string }>(
              'GET',
              `/automations/echo/tasks/${left.at(-1)}`,
            )
            // A 404 of the ingress controller has no `detail` and says nothing about the task.
            if (status !== 404 || body.detail === undefined) return false
            left.pop()
          }
          return true
        },
        120_000,
      )
      expect(await fleet.ok('GET', '/automations/echo/dead')).toMatchObject({ items: [] })
      const ran = new Set(
        [...`${saidBefore}\n${await logsWithin()}\n${worker.output()}`.matchAll(/^ran (\S+)$/gm)].map(
          (match) => match[1],
        ),
      )
      expect(acknowledged.filter((id) => !ran.has(id)).slice(0, 10)).toEqual([])
    }
    const underLoad = async (name: string, use: (load: Load) => Promise<void>): Promise<void> => {
      const load = new Load(fleet, name)
      try {
        await eventually('the load runs', async () => load.acknowledged.length >= SOME)
        await use(load)
        const before = load.acknowledged.length
        await eventually('the load runs again', async () => load.acknowledged.length >= before + SOME)
      } finally {
        await load.end()
        acknowledged.push(...load.acknowledged)
      }
      figures.push(
        `          ${name}: ${load.acknowledged.length} tasks acknowledged, ` +
          `longest pause ${(load.longestPauseMs / 1_000).toFixed(1)} s`,
      )
      await expectNothingLost()
    }
    const ownSecrets = [
      'tokens.generate=false',
      ...['tokens.admin', 'tokens.worker', 'tokens.workerPeers', 'tokens.scopes', 'redis.embedded.password'].map(
        (key) => `${key}.secret=journey-own`,
      ),
    ].map((value) => `--set=${value}`)

    const step = chain('the installation', STEP_MS)

    beforeAll(async () => {
      authority = new Authority()
      fleet = new Public(authority)
      fleet.adminToken = secrets['admin-token']
      fleet.writeWorkerToken(secrets['worker-token'])
      await place.kubectl('create', 'namespace', place.name)
      await place.kubectl('label', 'namespace', place.name, 'pod-security.kubernetes.io/enforce=restricted')
      await place.kubectl('create', 'configmap', 'journey-ca', `--from-file=ca.crt=${authority.caFile}`)
      await putCertificate()
      await putSecrets()
    }, STEP_MS)

    afterAll(async () => {
      for (const close of open) await close()
      await fleet.close()
      for (const proxy of proxies) await proxy.stop()
      authority.remove()
      await place.kubectl('delete', 'namespace', place.name, '--ignore-not-found', '--timeout=150s')
      // Helm keeps the definition by design; it belongs to this release.
      await place.kubectl('delete', 'customresourcedefinition', ...CRDS, '--ignore-not-found')
      console.log(figures.join('\n'))
    }, STEP_MS)

    step('installs within 90 s in a namespace that enforces restricted', async () => {
      await timed('helm install --wait', () => install())
      await timedWait('the fleet responds at its public name', async () => (await fleet.get('/healthz')) === 200)
      for (const path of ['/metrics', '/readyz']) expect([path, await fleet.get(path)]).toEqual([path, 404])
      expect(await fleet.get('/')).toBe(200)
    })

    step('passes its own helm test', async () => {
      const said = await timed('helm test', () => place.helm('test', RELEASE, '--timeout=90s'))
      expect(said).toContain('Succeeded')
    })

    step(
      'brings FleetWorkers to Ready, for workers in the cluster and for one outside that connects through the ingress',
      async () => {
        worker = fleet.startWorker(OUTSIDE)
        await applyAll({ note: 'first' })
        await timedWait('every FleetWorker is Ready', allReady)
        expect(await allConnected()).toBe(true)
      },
    )

    step('applies an edit of a FleetWorker to the workers, and their tasks use it', async () => {
      await applyAll({ note: 'second' })
      await timedWait(
        'the edit is applied by every worker',
        async () =>
          (await allReady()) &&
          (await workers()).every(
            (each) => each.config['note'] === 'second' && each.applied_config_gen === each.config_gen,
          ),
      )
      await underLoad('edit', async () => undefined)
      const outputs = await fleet.ok<{ entries: { payload: { worker: string; note: string } }[] }>(
        'GET',
        '/automations/echo/output/tail?n=1000',
      )
      const seen = new Map(outputs.entries.map(({ payload }) => [payload.worker, payload.note]))
      expect(Object.fromEntries(seen)).toEqual(Object.fromEntries(ALL.map((id) => [id, 'second'])))
    })

    step('shows the dashboard in a browser: a worker, and an edit without a reload', async () => {
      await seeDashboard(fleet, OUTSIDE, 'seen in the browser', () => applyAll({ note: 'seen in the browser' }))
      await applyAll({ note: 'second' })
      await timedWait('the edit is reverted', async () =>
        (await workers()).every(
          (each) => each.config['note'] === 'second' && each.applied_config_gen === each.config_gen,
        ),
      )
    })

    step(
      'works behind Traefik, nginx and haproxy: idle connections, large bodies, forged headers, a new certificate',
      async () => {
        for (const name of ['nginx', 'haproxy'] as const)
          proxies.push(await Proxy.start(name, authority, await place.address('muster-master')))
        const doors = [{ name: 'Traefik', ...ingress() }, ...proxies]
        const passages = doors.map(
          (door) =>
            new Passage(door.name, authority, door, { admin: secrets['admin-token'], worker: secrets['worker-token'] }),
        )
        open.push(...passages.map((passage) => () => passage.end()))
        for (const passage of passages) await passage.begun()
        await pause(QUIET_MS) // Real proxies use real time.
        for (const passage of passages) await passage.expectUncut()
        for (const passage of passages) await passage.expectGuarded()
        for (const passage of passages) await passage.expectLargest()
        authority.issue()
        await putCertificate()
        for (const proxy of proxies) proxy.reload()
        for (const passage of passages)
          await timed(`${passage.name} shows the new certificate`, () => passage.expectRenewed())
        for (const passage of passages) await passage.forget()
      },
      STEP_MS + QUIET_MS,
    )

    step('loses no task when its workers are stopped, and replaces them within 10 s', async () => {
      await underLoad('workers', async () => {
        const logs = place.kubectl('logs', '--selector=app.kubernetes.io/component=worker', '--tail=-1', '--follow')
        const uids = (await place.pods('worker')).map(({ metadata }) => metadata.uid)
        worker.child.kill('SIGTERM')
        await place.kubectl('delete', 'pods', '--selector=app.kubernetes.io/component=worker', '--wait=false')
        expect(await worker.exited).toBe(0)
        saidBefore += worker.output()
        worker = fleet.startWorker(OUTSIDE)
        saidBefore += await logs
        const areNew = async (): Promise<boolean> =>
          (await place.pods('worker')).every(({ metadata }) => !uids.includes(metadata.uid))
        await timedWait(
          'every worker is connected after the old ones stopped',
          async () => (await areNew()) && (await allConnected()),
          BACK_WITHIN_MS,
        )
      })
      expect(await allReady()).toBe(true)
    })

    step('loses no acknowledged task when Redis is killed', async () => {
      await underLoad('redis', async () => {
        await place.crash('redis', 'redis-server')
        await timedWait(
          'Redis was restarted, and every worker is connected',
          async () => (await wasRestarted('redis')) && (await allConnected()),
          BACK_WITHIN_MS,
        )
      })
      expect(await workers()).toEqual(
        ALL.map((id) =>
          expect.objectContaining({ worker_id: id, config: expect.objectContaining({ note: 'second' }) }),
        ),
      )
    })

    step('loses no task when an upgrade restarts the masters, and the workers reconnect', async () => {
      const swarm = new Swarm(fleet, SWARM, secrets['worker-token'])
      open.push(() => swarm.leave())
      await timedWait(`${SWARM} sockets are connected`, async () => swarm.allIn)
      const before = (await place.pods('master')).map(({ metadata }) => metadata.uid)
      await underLoad('roll', async () => {
        await timed('helm upgrade --wait', () =>
          place.helm(
            'upgrade',
            RELEASE,
            CHART,
            '--reset-then-reuse-values',
            '--set=master.pod.annotations.rolled=once',
            '--wait',
            '--timeout=150s',
          ),
        )
      })
      const after = (await place.pods('master'))
        .filter(({ metadata }) => metadata.deletionTimestamp === undefined)
        .map(({ metadata }) => metadata.uid)
      expect(after).toHaveLength(2)
      expect(after.filter((uid) => before.includes(uid))).toEqual([])
      const connectedProbes = async (): Promise<number> =>
        (await fleet.ok<WorkerRecord[]>('GET', '/automations/http-probe/workers?connected=true')).length
      // Helm does not wait until the old masters have ended: they may still hold some sockets here.
      await timedWait(
        'every worker and socket has left the old masters and is connected',
        async () =>
          swarm.all.every(({ cuts }) => cuts > 0) &&
          swarm.allIn &&
          (await allConnected()) &&
          (await connectedProbes()) === SWARM,
        SWARM_BACK_WITHIN_MS,
      )
      figures.push(
        `          ${SWARM} more sockets: longest disconnect ${(swarm.longestOutageMs / 1_000).toFixed(1)} s, ` +
          `cut ${swarm.all.reduce((sum, { cuts }) => sum + cuts, 0)} times`,
      )
      expect(swarm.longestOutageMs).toBeLessThan(SWARM_BACK_WITHIN_MS)
      swarm.leave()
      expect(worker.child.exitCode).toBeNull()
      expect(await restarts()).toBe(0)
    })

    step('uses new tokens from the changed Secret without a restart', async () => {
      const old = { ...secrets }
      await underLoad('rotation', async () => {
        Object.assign(secrets, { 'worker-tokens': newToken() })
        await putSecrets()
        await timedWait(
          'the masters accept the new worker token',
          async () => (await fleet.statusOf(secrets['worker-tokens'])) === 200,
        )
        Object.assign(secrets, { 'worker-token': secrets['worker-tokens'], 'worker-tokens': old['worker-token'] })
        await putSecrets()
        fleet.writeWorkerToken(secrets['worker-token'])
        Object.assign(secrets, { 'worker-tokens': '' })
        await putSecrets()
        await timedWait(
          'the old worker token is refused',
          async () => (await fleet.statusOf(old['worker-token'])) === 403,
        )
        await timedWait('every worker is connected with the new token', allConnected)
      })
      Object.assign(secrets, { 'admin-token': newToken() })
      await putSecrets()
      fleet.adminToken = secrets['admin-token']
      await timedWait(
        'the new admin token is accepted',
        async () =>
          (await fleet.statusOf(fleet.adminToken)) === 200 && (await fleet.statusOf(old['admin-token'])) === 403,
      )
      await applyAll({ note: 'third' })
      await timedWait(
        'the operator has the new admin token',
        async () => (await allReady()) && (await workers()).every((each) => each.config['note'] === 'third'),
      )
      expect(await restarts()).toBe(0)
    })

    step('converges after the operator is killed in the middle of a change', async () => {
      await Promise.all([applyAll({ note: 'fourth' }), place.crash('operator', 'node')])
      const arrived = async (): Promise<boolean> =>
        (await allReady()) &&
        (await workers()).every(
          (each) => each.config['note'] === 'fourth' && each.applied_config_gen === each.config_gen,
        )
      await timedWait(
        'the operator was restarted, and the change is applied',
        async () => (await wasRestarted('operator')) && (await arrived()),
        LEASE_MS + BACK_WITHIN_MS,
      )
    })

    step('has none of its tokens in an object, an event or a log', async () => {
      expect(canaries.size).toBe(5)
      const ofProxies = [
        await new Namespace('ingress').kubectl('logs', '--selector=app=traefik', '--tail=-1'),
        ...proxies.map((proxy) => proxy.log()),
      ]
      for (const log of ofProxies) expect(log).toContain('/api/v1/automations/echo/workers/passage-')
      expectHidden(canaries, [await place.readable(RELEASE), ...ofProxies].join('\n'))
    })

    step(
      'keeps the CRD, the FleetWorkers and the data over an uninstall and another installation',
      async () => {
        const generations = new Map((await workers()).map((each) => [each.worker_id, each.config_gen]))
        const load = new Load(fleet, 'uninstall', 200)
        await eventually('tasks wait', async () => load.acknowledged.length >= SOME)
        await load.end()
        acknowledged.push(...load.acknowledged)
        saidBefore += await logsWithin()
        const logs = place
          .kubectl('logs', '--selector=app.kubernetes.io/component=worker', '--tail=-1', '--follow')
          .catch(() => '')
        await timed('helm uninstall', () => place.helm('uninstall', RELEASE, '--wait'))
        saidBefore += await logs
        await timedWait('its pods are gone', async () => (await allPods()).length === 0)
        expect((await place.kubectl('get', 'fleetworkers', '--output=name')).trim().split('\n')).toHaveLength(
          ALL.length,
        )
        await timed('helm install --wait, again', () => install())
        await timedWait(
          'every worker is connected, and every FleetWorker Ready again',
          async () => (await allConnected()) && (await allReady()),
        )
        expect(new Map((await workers()).map((each) => [each.worker_id, each.config_gen]))).toEqual(generations)
        await expectNothingLost()
      },
      2 * STEP_MS,
    )

    step(
      'is removed with its namespace',
      async () => {
        const [retained, ...others] = ALL as [string, string, string]
        await place.apply({
          apiVersion: 'v1',
          kind: 'List',
          items: [retained, ...others].map((name, index) => fleetWorker(name, { note: 'last' }, POLICIES[index])),
        })
        const held = async (): Promise<readonly string[]> =>
          (await fleetWorkers())
            .filter(({ metadata }) => metadata.finalizers !== undefined)
            .map(({ metadata }) => metadata.name)
        await timedWait(
          'FleetWorkers of each deletionPolicy are Ready',
          async () => (await allReady()) && (await held()).join(' ') === others.toSorted().join(' '),
        )
        await place.kubectl('delete', 'namespace', place.name, '--wait=false')
        await timedWait(
          'its pods are deleted, with everything running',
          async () => (await allPods()).length === 0,
          ENDS_WITHIN_MS,
        )
        await timedWait(
          'what does not depend on the operator is deleted',
          async () => (await fleetWorkers()).every(({ metadata }) => metadata.name !== retained),
          ENDS_WITHIN_MS,
        )
        // Pods are deleted first, and so is the operator.
        for (const name of await held()) await place.kubectl(...finalizerCommand(name))
        await timedWait(
          'the namespace is gone',
          async () =>
            (await place.kubectl('get', 'namespace', place.name, '--ignore-not-found', '--output=name')) === '',
          ENDS_WITHIN_MS,
        )
        expect(await fleet.get('/healthz').catch(() => 'no connection')).not.toBe(200)
      },
      2 * STEP_MS,
    )
  })
})
