/**
 * Test fixture for sets: the whole operator, a fake API server and a real master over real HTTP, and workers that
 * acknowledge each config.
 */
import { Buffer } from 'node:buffer'
import { afterEach } from '@jest/globals'
import { startOperator, type OperatorOptions, type RunningOperator } from '../../../src/operator/index.ts'
import { CONSENT_ANNOTATION } from '../../../src/operator/fleetworker/index.ts'
import { PooledTransport, type KubeTransport, type TransportDeps } from '../../../src/operator/kube/index.ts'
import type { FleetWorkerSetSpec, FleetWorkerSetStatus } from '../../../src/operator/fleetworkerset/index.ts'
import type { HistoryBody, WorkerBody } from '../../../src/protocol/index.ts'
import { systemRandom, systemTime } from '../../../src/runtime/index.ts'
import { FaultyProxy } from '../../client/faulty-proxy.ts'
import { eventually, recordingLog } from '../../kit/index.ts'
import { startTestMaster, TOKENS, type TestMaster } from '../../kit/running-master.ts'
import { EVENTS, FakeApiServer, LEASES, type FakeKind } from '../fake-apiserver.ts'
import { CONTROLLER_REVISIONS, FLEET_WORKERS, FLEET_WORKER_SETS } from '../fake-fleet.ts'
import { FakeWorker, type JoinOptions } from '../faults/worker.ts'
import { CONFIG_MAPS, DEPLOYMENTS, PODS, SECRETS, STATEFUL_SETS } from '../fleetworker/kinds.ts'
import { JOB } from '../fleetworker/reconcile-fixture.ts'

const NAMESPACE = 'ns'
const WORKLOADS = { StatefulSet: STATEFUL_SETS, Deployment: DEPLOYMENTS } as const
const ends: (() => Promise<void> | void)[] = []
afterEach(async () => {
  for (const end of ends.splice(0).toReversed()) await end()
})

export interface ShownCondition {
  readonly type: string
  readonly status: string
  readonly reason: string
  readonly message: string
}

export class SetFixture {
  master: TestMaster
  readonly fake: FakeApiServer
  readonly log = recordingLog()
  #operator: RunningOperator | undefined
  #proxy: FaultyProxy | undefined

  private constructor(master: TestMaster, fake: FakeApiServer) {
    this.master = master
    this.fake = fake
  }

  static async create({ withoutKind = false }: { readonly withoutKind?: boolean } = {}): Promise<SetFixture> {
    const master = await startTestMaster({ catalog: JOB })
    const workloads = [STATEFUL_SETS, DEPLOYMENTS, PODS]
    const kinds = [FLEET_WORKERS, LEASES, EVENTS, SECRETS, CONFIG_MAPS, CONTROLLER_REVISIONS, ...workloads]
    const fake = await new FakeApiServer(withoutKind ? kinds : [...kinds, FLEET_WORKER_SETS]).start()
    ends.push(() => fake.close())
    const sets = new SetFixture(master, fake)
    ends.unshift(() => sets.master.stop())
    return sets
  }

  /** A master with an empty store takes the place of the present one. Its workers have to join again. */
  async loseStore(): Promise<void> {
    const port = Number(new URL(this.master.url).port)
    await this.master.stop()
    this.master = await startTestMaster({ catalog: JOB, listen: { host: '127.0.0.1', port } })
  }

  async start(more: Partial<OperatorOptions> = {}): Promise<void> {
    this.#operator = await startOperator({
      masterUrl: this.#proxy?.url ?? this.master.url,
      token: () => TOKENS.admin,
      namespace: 'muster',
      watchNamespaces: [],
      tenants: undefined,
      reservedSecrets: [],
      metricsListen: null,
      leaderElect: false,
      createTransport: (deps) => this.#transport(deps),
      lease: { namespace: 'muster', name: 'muster-operator' },
      replica: 'one',
      time: systemTime,
      random: systemRandom,
      log: this.log,
      ...more,
    })
    ends.push(() => this.stop())
  }

  /** A transport to the fake API server, beside that of the operator. */
  transport(): KubeTransport {
    const transport = this.#transport({ clock: systemTime, timers: systemTime })
    ends.push(() => transport.close())
    return transport
  }

  #transport(deps: Omit<TransportDeps, 'identity'>): PooledTransport {
    return new PooledTransport({
      identity: {
        server: new URL(this.fake.url),
        namespace: 'muster',
        credentials: async () => ({ authorization: 'Bearer x', tls: {} }),
      },
      ...deps,
    })
  }

  /** Runs when the test ends. */
  atEnd(end: () => void): void {
    ends.push(end)
  }

  async stop(): Promise<void> {
    await this.#operator?.stop()
    this.#operator = undefined
  }

  async join(id: string, more: JoinOptions = {}): Promise<FakeWorker> {
    const worker = await FakeWorker.join(this.master, id, more)
    ends.push(() => worker.leave())
    return worker
  }

  /** Declares a set. Without `rollout` a changed config reaches all workers immediately. */
  declare(name: string, spec: Partial<FleetWorkerSetSpec>): void {
    const selector = { idPatterns: [`${name}-*`] }
    this.#create(FLEET_WORKER_SETS, name, { type: 'job', selector, rollout: { stages: [] }, ...spec })
  }

  declareWorker(workerId: string, spec: object): void {
    this.#create(FLEET_WORKERS, workerId, { type: 'job', ...spec })
  }

  #create(kind: FakeKind, name: string, spec: object): void {
    this.fake.store.create({ kind, namespace: NAMESPACE }, { metadata: { name }, spec }, 'kubectl')
  }

  edit(name: string, spec: Partial<FleetWorkerSetSpec>): void {
    const where = { kind: FLEET_WORKER_SETS, namespace: NAMESPACE, name }
    const object = this.fake.store.get(where)
    this.fake.store.replace(where, '', { ...object, spec: { ...object.spec, ...spec } }, 'kubectl')
  }

  /** Creates a workload without a controller: a test adds and removes its pods. */
  workload(kind: 'StatefulSet' | 'Deployment', name: string, replicas: number): void {
    const body = { metadata: { name }, spec: { replicas }, status: { replicas, selector: `app=${name}` } }
    this.fake.store.create({ kind: WORKLOADS[kind], namespace: NAMESPACE }, body, 'kubectl')
  }

  replicasOf(kind: 'StatefulSet' | 'Deployment', name: string): unknown {
    return this.fake.store.get({ kind: WORKLOADS[kind], namespace: NAMESPACE, name }).spec?.['replicas']
  }

  /** Creates a ready pod of the ReplicaSet of the workload that its name begins with. */
  pod(name: string): void {
    const labels = { app: name.slice(0, name.lastIndexOf('-')) }
    const ownerReferences = [{ kind: 'ReplicaSet', controller: true }]
    const status = { phase: 'Running', conditions: [{ type: 'Ready', status: 'True' }] }
    const body = { metadata: { name, labels, ownerReferences }, spec: { nodeName: 'n' }, status }
    this.fake.store.create({ kind: PODS, namespace: NAMESPACE }, body, 'replicaset-controller')
  }

  costOf(pod: string): string | undefined {
    const { metadata } = this.fake.store.get({ kind: PODS, namespace: NAMESPACE, name: pod })
    return (metadata['annotations'] as Record<string, string> | undefined)?.[
      'controller.kubernetes.io/pod-deletion-cost'
    ]
  }

  /** Sets an annotation, as `kubectl annotate --overwrite` does. */
  annotate(name: string, annotations: Readonly<Record<string, string>>): void {
    const where = { kind: FLEET_WORKER_SETS, namespace: NAMESPACE, name }
    const object = this.fake.store.get(where)
    const { annotations: before = {} } = object.metadata as { annotations?: Readonly<Record<string, string>> }
    const metadata = { ...object.metadata, annotations: { ...before, ...annotations } }
    this.fake.store.replace(where, '', { ...object, metadata }, 'kubectl')
  }

  /** Puts a proxy between the operator and the master. Call it before `start`. */
  async throughProxy(): Promise<FaultyProxy> {
    const proxy = await FaultyProxy.start(this.master.url)
    this.#proxy = proxy
    ends.push(() => proxy.stop())
    return proxy
  }

  /** Creates a Secret that every object of the namespace may use. */
  secret(name: string, data: Readonly<Record<string, string>>): void {
    const encoded = Object.entries(data).map(([key, value]) => [key, Buffer.from(value).toString('base64')])
    this.fake.store.create(
      { kind: SECRETS, namespace: NAMESPACE },
      { metadata: { name, annotations: { [CONSENT_ANNOTATION]: '*' } }, data: Object.fromEntries(encoded) },
      'kubectl',
    )
  }

  /** Changes metadata or values of a Secret. */
  editSecret(name: string, { annotations = {}, data = {} }: Readonly<Record<string, Record<string, string>>>): void {
    const where = { kind: SECRETS, namespace: NAMESPACE, name }
    const object = this.fake.store.get(where)
    const encoded = Object.entries(data).map(([key, value]) => [key, Buffer.from(value).toString('base64')])
    const { annotations: before = {} } = object.metadata as { annotations?: Readonly<Record<string, string>> }
    const metadata = { ...object.metadata, annotations: { ...before, ...annotations } }
    const values = { ...(object['data'] as object), ...Object.fromEntries(encoded) }
    this.fake.store.replace(where, '', { ...object, metadata, data: values }, 'kubectl')
  }

  delete(kind: FakeKind, name: string): void {
    this.fake.store.delete({ kind, namespace: NAMESPACE, name }, undefined)
  }

  exists(name: string): boolean {
    return this.fake.store.list(FLEET_WORKER_SETS, NAMESPACE).some(({ metadata }) => metadata.name === name)
  }

  statusOf(name: string): FleetWorkerSetStatus {
    const { status } = this.fake.store.get({ kind: FLEET_WORKER_SETS, namespace: NAMESPACE, name })
    return status ?? {}
  }

  condition(name: string, type: string): ShownCondition | undefined {
    const { metadata } = this.fake.store.get({ kind: FLEET_WORKER_SETS, namespace: NAMESPACE, name })
    const found = this.statusOf(name).conditions?.find((each) => each.type === type)
    return found?.observedGeneration === metadata.generation ? found : undefined
  }

  async settled(name: string, reason: string, type = 'Ready'): Promise<void> {
    await eventually(`${type} of ${name} is ${reason}`, async () => this.condition(name, type)?.reason === reason)
  }

  async worker(id: string): Promise<WorkerBody> {
    return (await this.master.call('GET', `/api/v1/automations/job/workers/${id}`)).json as WorkerBody
  }

  async history(id: string): Promise<HistoryBody> {
    return (await this.master.call('GET', `/api/v1/automations/job/workers/${id}/config/history`)).json as HistoryBody
  }

  /** Another client changes a config. */
  async change(id: string, patch: object): Promise<void> {
    await this.master.call('PATCH', `/api/v1/automations/job/workers/${id}/config`, { body: patch })
  }

  /** Statuses of sets that were written. */
  get statusWrites(): number {
    return this.fake.requests.filter(
      ({ method, path }) => method === 'PATCH' && /fleetworkersets\/.*\/status/.test(path),
    ).length
  }
}
