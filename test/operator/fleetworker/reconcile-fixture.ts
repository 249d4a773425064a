/**
 * Test fixture for reconcile: a fake API server and a real master, both over real HTTP, on virtual time. Nothing
 * changes unless the test does it. The operator's view is stale until `see`; the real status writer writes the
 * statuses.
 */
import { afterEach, expect } from '@jest/globals'
import { buildCatalog, defineBatch, Type, type Catalog } from '../../../src/automation/index.ts'
import type { WorkerBody } from '../../../src/protocol/index.ts'
import { LogThrottle, seededRandom, VirtualTime } from '../../../src/runtime/index.ts'
import { MemoryBackend } from '../../../src/storage/memory/index.ts'
import { claimOf } from '../../../src/operator/fleet/index.ts'
import {
  CONSENT_ANNOTATION,
  DeletedClaims,
  FLEET_WORKERS,
  INDICES,
  keptSpec,
  reconcile,
  ReconcileMemory,
  Sources,
  type DriftOutcome,
  type FleetWorkerObject,
  type FleetWorkerSpec,
  type FleetWorkerStatus,
  type Permits,
  type ReconcileDeps,
  type SourceName,
} from '../../../src/operator/fleetworker/index.ts'
import {
  ApplyStatusWriter,
  PooledTransport,
  WritableCache,
  type Change,
  type ObjectRef,
  type ReconcileOutcome,
} from '../../../src/operator/kube/index.ts'
import { canaries } from '../../kit/canary.ts'
import { runMaster, type TestMaster } from '../../kit/running-master.ts'
import { FakeApiServer } from '../fake-apiserver.ts'
import type { FakeKind, FakeMeta } from '../fake-store.ts'
import { random, transportTo } from '../kube/fixture.ts'
import { CONFIG_MAPS, FLEETWORKERS, SECRETS } from './kinds.ts'
import { TestFleet } from './fleet.ts'
import { recordingLog, type RecordingLog } from '../../kit/index.ts'

const run = async (): Promise<void> => {}
export const JOB: Catalog = buildCatalog([
  defineBatch({
    type: 'job',
    payload: Type.Object({}),
    run,
    config: Type.Object({
      url: Type.String({ default: 'http://default' }),
      ratio: Type.Number({ default: 0.5 }),
      note: Type.Optional(Type.Union([Type.String(), Type.Null()])),
      limits: Type.Object(
        { cpu: Type.Optional(Type.Number({ default: 1 })), memory: Type.Optional(Type.Number()) },
        { default: {} },
      ),
      tags: Type.Array(Type.String(), { default: [] }),
      api_key: Type.Optional(Type.String({ writeOnly: true })),
      login: Type.Optional(
        Type.Object({ user: Type.String(), password: Type.Optional(Type.String({ writeOnly: true })) }),
      ),
      endpoint: Type.Optional(Type.String()),
      bound_key: Type.Optional(Type.String({ writeOnly: true, 'x-muster-bound-to': ['endpoint'] })),
    }),
  }),
])
export const DEFAULTS = JSON.stringify({
  enabled: false,
  slots: 1,
  max_attempts: 3,
  recycle_seconds: 0,
  url: 'http://default',
  ratio: 0.5,
  limits: {},
  tags: [],
})
const HARDWARE = JSON.stringify({ cores: 1, ram_gb: 1, hostname: 'test', kernel: 'test' })
const MASTER_SEED = 3
/** After a conflict a status write waits on virtual time; the test gives up after this time. */
const CONFLICT_MS = 1_000

const closing: (() => Promise<void>)[] = []
afterEach(async () => {
  for (const close of closing.splice(0)) await close()
})

export interface RecordedEvent {
  readonly target: ObjectRef
  readonly type: string
  readonly reason: string
  readonly message: string
}

export class ReconcileFixture {
  readonly time: VirtualTime
  readonly fake: FakeApiServer
  readonly master: TestMaster
  readonly fleet: TestFleet
  readonly transport: PooledTransport
  readonly log: RecordingLog = recordingLog()
  readonly events: RecordedEvent[] = []
  readonly drifts: DriftOutcome[] = []
  readonly changedSources: SourceName[] = []
  readonly watched = new Set(['ns', 'other'])
  readonly reserved = new Set<SourceName>()
  permits: Permits = () => true
  readonly abort = new AbortController()
  isLeading = true
  isCacheFresh = false
  confirms = 0
  cache!: WritableCache<FleetWorkerObject>
  deletedClaims!: DeletedClaims
  sources!: Sources
  status!: ApplyStatusWriter<FleetWorkerObject, FleetWorkerStatus>
  deps!: ReconcileDeps
  #workers = 0

  constructor(parts: Pick<ReconcileFixture, 'time' | 'fake' | 'master'>) {
    this.time = parts.time
    this.fake = parts.fake
    this.master = parts.master
    this.fleet = new TestFleet(parts.master, parts.time.wallMs)
    this.transport = transportTo(parts.fake, parts.time, {
      current: { authorization: 'Bearer first', tls: {} },
      asked: 0,
    })
    this.restart()
  }

  /** Starts another term of the same process. */
  beginTerm(): void {
    this.deps = { ...this.deps, memory: new ReconcileMemory(random()) }
  }

  /** Starts another process: only the state in the two servers remains. */
  restart(): void {
    const { time, transport, log } = this
    this.cache = new WritableCache<FleetWorkerObject>(INDICES, keptSpec)
    this.deletedClaims = new DeletedClaims()
    this.sources = new Sources({
      transport,
      clock: time,
      timers: time,
      log,
      reserved: this.reserved,
      resources: () => this.cache.all(),
      onChange: (name) => void this.changedSources.push(name),
    })
    this.status = new ApplyStatusWriter({
      transport,
      clock: time,
      timers: time,
      random: random(),
      log,
      resource: FLEET_WORKERS,
      fieldManager: 'muster-operator',
      signal: this.abort.signal,
      cache: this.cache,
      mayWrite: () => this.isLeading,
      meaningOf: (status: FleetWorkerStatus) => ({ ...status, lastSeenTime: '', cpuPercent: 0, rssMegabytes: 0 }),
    })
    this.deps = {
      cache: this.cache,
      isFresh: () => this.isCacheFresh,
      table: this.fleet,
      master: this.fleet,
      edits: this.fleet,
      sources: this.sources,
      transport,
      status: this.status,
      memory: new ReconcileMemory(random()),
      deletedClaims: this.deletedClaims,
      isLiveClaim: (claim) => this.cache.byIndex('claim', claim).length > 0,
      clock: time,
      log,
      logThrottle: new LogThrottle(time),
      events: {
        record: ({ namespace, name, uid }, type, reason, message) =>
          void this.events.push({ target: { namespace, name, uid }, type, reason, message }),
      },
      leadership: {
        mayWrite: () => this.isLeading,
        confirm: async () => {
          this.confirms += 1
          return this.isLeading
        },
      },
      watches: (namespace) => this.watched.has(namespace),
      permits: (resource) => this.permits(resource),
      onDrift: (outcome) => void this.drifts.push(outcome),
    }
  }

  // The cluster

  create(name: string, spec: Partial<FleetWorkerSpec> = {}, namespace = 'ns'): FakeMeta {
    return this.fake.store.create(
      { kind: FLEETWORKERS, namespace },
      { metadata: { name }, spec: { type: 'job', ...spec } },
      'kubectl',
    ).metadata
  }

  edit(name: string, spec: object, metadata: object = {}): void {
    this.fake.store.patch(
      { kind: FLEETWORKERS, namespace: 'ns', name },
      '',
      'application/merge-patch+json',
      { spec, metadata },
      'kubectl',
      false,
    )
  }

  remove(name: string, namespace = 'ns'): void {
    this.fake.store.delete({ kind: FLEETWORKERS, namespace, name }, undefined)
  }

  object(name: string, namespace = 'ns'): FleetWorkerObject {
    return this.fake.store.get({ kind: FLEETWORKERS, namespace, name }) as unknown as FleetWorkerObject
  }

  get names(): readonly string[] {
    return this.fake.store.list(FLEETWORKERS, undefined).map(({ metadata }) => metadata.name)
  }

  /** Creates a Secret with the consent of its owner by default; `consent: null` withdraws it. */
  secret(name: string, data: Readonly<Record<string, string>>, consent: string | null = '*'): void {
    for (const value of Object.values(data)) canaries.add(`the Secret ${name}`, value)
    this.#put(
      SECRETS,
      name,
      Object.fromEntries(Object.entries(data).map(([key, text]) => [key, Buffer.from(text).toString('base64')])),
      consent,
    )
  }

  configMap(name: string, data: Readonly<Record<string, string>>, consent: string | null = '*'): void {
    this.#put(CONFIG_MAPS, name, data, consent)
  }

  removeSecret(name: string): void {
    this.fake.store.delete({ kind: SECRETS, namespace: 'ns', name }, undefined)
  }

  touchSecret(name: string): void {
    this.fake.store.patch(
      { kind: SECRETS, namespace: 'ns', name },
      '',
      'application/merge-patch+json',
      { metadata: { labels: { touched: String(this.fake.store.version) } } },
      'kubectl',
      false,
    )
  }

  #put(kind: FakeKind, name: string, data: object, consent: string | null): void {
    const isThere = this.fake.store.list(kind, 'ns').some(({ metadata }) => metadata.name === name)
    const annotations = { [CONSENT_ANNOTATION]: consent }
    if (isThere)
      this.fake.store.patch(
        { kind, namespace: 'ns', name },
        '',
        'application/merge-patch+json',
        { metadata: { annotations }, data },
        'kubectl',
        false,
      )
    else
      this.fake.store.create(
        { kind, namespace: 'ns' },
        { metadata: { name, ...(consent !== null && { annotations: { [CONSENT_ANNOTATION]: consent } }) }, data },
        'kubectl',
      )
  }

  condition(name: string, type: string): string | undefined {
    const found = this.object(name).status?.conditions?.find((each) => each.type === type)
    return found === undefined ? undefined : `${found.status} ${found.reason}`
  }

  get statusWrites(): number {
    return this.fake.seen('PATCH', /\/status$/).length
  }

  // The master

  /** Connects a worker process. It ends a drain, as any new process does. */
  async work(id: string): Promise<void> {
    this.#workers += 1
    await this.master.backend.workers.register([
      {
        type: 'job',
        id,
        conn: this.#conn(id),
        instance: `process-${this.#workers}`,
        hardware: HARDWARE,
        defaults: DEFAULTS,
      },
    ])
  }

  readonly #conns = new Map<string, string>()
  #conn(id: string): string {
    const conn = `${seededRandom(MASTER_SEED).uuid()}/${this.#workers}`
    this.#conns.set(id, conn)
    return conn
  }

  /** The process acknowledges the newest config. */
  async applied(id: string, state: 'RUNNING' | 'ERROR' = 'RUNNING'): Promise<void> {
    const { config_gen: gen } = await this.record(id)
    await this.master.backend.workers.beat([
      {
        type: 'job',
        id,
        conn: this.#conns.get(id) ?? '',
        state: { state, gen, lastError: state === 'ERROR' ? 'it broke' : null },
      },
    ])
  }

  async leave(id: string): Promise<void> {
    await this.master.backend.workers.disconnect([{ type: 'job', id, conn: this.#conns.get(id) ?? '' }])
  }

  async record(id: string): Promise<WorkerBody> {
    return (await this.master.call('GET', `/api/v1/automations/job/workers/${id}`)).json as WorkerBody
  }

  /** The config with secrets. */
  async config(id: string): Promise<Record<string, unknown>> {
    const [row] = await this.master.backend.workers.get([{ type: 'job', id }])
    return JSON.parse(row?.config.config ?? '{}') as Record<string, unknown>
  }

  /** Another user changes the config. */
  async dashboard(id: string, patch: object): Promise<void> {
    const { status } = await this.master.call('PATCH', `/api/v1/automations/job/workers/${id}/config`, {
      body: patch,
      headers: { 'muster-actor': 'alice' },
    })
    expect(status).toBe(200)
  }

  async forget(id: string): Promise<void> {
    await this.master.backend.workers.forget([{ type: 'job', id }])
  }

  /** Sets a claim of another client. */
  async claimed(id: string, managedBy: string | null): Promise<void> {
    await this.master.backend.workers.manage([{ type: 'job', id, managedBy }])
  }

  claim(name: string, namespace = 'ns'): string {
    return claimOf({ namespace, name, uid: this.object(name, namespace).metadata.uid })
  }

  // The operator

  /** Delivers all events of the watch and the feed. */
  async see(): Promise<void> {
    this.seeCluster()
    await this.fleet.read()
  }

  seeCluster(): void {
    const all = this.fake.store.list(FLEETWORKERS, undefined) as unknown as FleetWorkerObject[]
    for (const old of this.cache.all())
      if (!all.some(({ metadata }) => metadata.uid === old.metadata.uid)) this.#changed(this.cache.remove(old))
    for (const each of all) this.#changed(this.cache.offer(each))
  }

  #changed(change: Change<FleetWorkerObject> | undefined): void {
    if (change !== undefined) this.deletedClaims.onChange(change)
  }

  reconcile(name: string, namespace = 'ns'): Promise<ReconcileOutcome> {
    return reconcile(`${namespace}/${name}`, this.deps, this.abort.signal)
  }

  /** Runs one reconcile with the current view, then writes its status. */
  async act(name: string, namespace = 'ns'): Promise<ReconcileOutcome> {
    const outcome = await this.reconcile(name, namespace)
    await this.status.flush(AbortSignal.any([this.abort.signal, AbortSignal.timeout(CONFLICT_MS)]))
    return outcome
  }

  async pass(name: string, namespace = 'ns'): Promise<ReconcileOutcome> {
    await this.see()
    return this.act(name, namespace)
  }

  /** Like the queue: repeats the reconcile while the result asks for an immediate requeue. */
  async settle(name: string): Promise<ReconcileOutcome> {
    for (let round = 0; round < 6; round += 1) {
      const outcome = await this.pass(name)
      if (outcome.kind !== 'retry') return outcome
    }
    throw new Error('it does not reach a steady state')
  }

  /** Expects no calls for an unchanged state, in this process and after a restart. */
  async expectQuiet(...names: readonly string[]): Promise<void> {
    const before = [this.changes, this.statusWrites]
    for (const isNew of [false, false, true]) {
      if (isNew) this.restart()
      for (const name of names) await this.pass(name)
    }
    expect([this.changes, this.statusWrites]).toEqual(before)
  }

  /** Number of calls that change something at the master. */
  get changes(): number {
    return this.fleet.count('patch', 'claim', 'release', 'drain', 'forget')
  }
}

/** Creates a fixture with a connected worker `w1`, and nothing else. */
export async function reconcileFixture(): Promise<ReconcileFixture> {
  const time = new VirtualTime()
  const fake = await new FakeApiServer([FLEETWORKERS, SECRETS, CONFIG_MAPS], time.wallMs).start()
  const backend = new MemoryBackend({ clock: time, random: seededRandom(5) })
  const master = await runMaster({
    backend,
    clock: time,
    timers: time,
    random: seededRandom(MASTER_SEED),
    catalog: JOB,
  })
  const fixture = new ReconcileFixture({ time, fake, master })
  closing.push(async () => {
    const statuses = fake.store.list(FLEETWORKERS, undefined).map((each) => JSON.stringify(each['status']))
    canaries.scan('the log of the operator', fixture.log.lines)
    canaries.scan('an event or a status', [fixture.events, statuses.join('\n')])
    fixture.abort.abort(new Error('the test is over'))
    await fixture.transport.close()
    await fake.close()
    canaries.assertNone()
  })
  await fixture.work('w1')
  return fixture
}
