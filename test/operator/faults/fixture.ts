/**
 * A test cluster and fleet on virtual time: the fake API server, a real master on the memory store behind real HTTP,
 * one worker process, and an operator that can be killed at any request and restarted.
 *
 *   operator (life.ts) ──ApiTransport──▶ fake API server        worker.ts ──control channel──▶ master
 *        └───────────────Gate──────────────────────────────────────────────────────────────────┘
 *
 * All tests of a file share their masters, because a master starts slowly. Each test has its own worker.
 */
import {
  CONSENT_ANNOTATION,
  type FleetWorkerObject,
  type FleetWorkerSpec,
} from '../../../src/operator/fleetworker/index.ts'
import type { KubeObject } from '../../../src/operator/kube/index.ts'
import {
  seededRandom,
  VirtualTime,
  type Log,
  type LogFields,
  type LogLevel,
  type Random,
} from '../../../src/runtime/index.ts'
import { MemoryBackend } from '../../../src/storage/memory/index.ts'
import { canaries } from '../../kit/canary.ts'
import { startTestMaster, type TestMaster } from '../../kit/running-master.ts'
import { EVENTS, LEASES } from '../fake-apiserver.ts'
import type { FakeKind } from '../fake-store.ts'
import { CONFIG_MAPS, FLEETWORKERS, SECRETS } from '../fleetworker/kinds.ts'
import { DEFAULTS, JOB } from '../fleetworker/reconcile-fixture.ts'
import { Api, ApiTransport } from './api.ts'
import { Faults, nextTurn, Traffic } from './faults.ts'
import { Gate } from './gate.ts'
import { Life, type Variants } from './life.ts'
import { FakeWorker, TYPE } from './worker.ts'
import { recordingLog, type RecordingLog } from '../../kit/index.ts'

const NAMESPACE = 'ns'
/** Part of every secret value; it must not appear anywhere else. */
export const CANARY = canaries.add('a Secret', 'canary-that-must-stay-hidden')
const KINDS = [FLEETWORKERS, SECRETS, CONFIG_MAPS, EVENTS, LEASES]
/**
 * Number of event loop turns without activity after which the event loop counts as idle. A message between two sockets
 * takes one or two.
 */
const QUIET_TURNS = 4
const STEP_MS = 200
/** After this time virtual time advances in larger steps, because what remains has long intervals. */
const SLOW_AFTER_MS = 120_000
const SLOW_STEP_MS = 2_000

export interface Masters {
  readonly time: VirtualTime
  readonly first: TestMaster
  readonly second: TestMaster
  stop(): Promise<void>
}

/** Two masters, each with its own store, for all tests of a file. */
export async function startMasters(): Promise<Masters> {
  const time = new VirtualTime()
  const start = (seed: number): Promise<TestMaster> =>
    startTestMaster({
      backend: new MemoryBackend({ clock: time, random: seededRandom(seed) }),
      clock: time,
      timers: time,
      random: seededRandom(seed + 1),
      catalog: JOB,
    })
  const [first, second] = [await start(10), await start(20)]
  return { time, first, second, stop: async () => void (await Promise.all([first.stop(), second.stop()])) }
}

let fixtures = 0

export class FaultFixture {
  readonly api: Api
  readonly faults = new Faults()
  readonly log: RecordingLog = recordingLog()
  readonly time: VirtualTime
  readonly id: string
  master: TestMaster
  variants: Variants = {}
  deaths = 0
  /** Whether an event of the feed is never delivered; called once per event. */
  hides: (event: string) => boolean = () => false
  readonly #masters: Masters
  readonly #random: Random
  readonly #lives: { readonly life: Life; readonly gate: Gate; readonly traffic: Traffic }[] = []
  #workers: FakeWorker[] = []

  constructor(masters: Masters, seed = 1) {
    this.#masters = masters
    this.time = masters.time
    this.master = masters.first
    this.#random = seededRandom(seed)
    fixtures += 1
    this.id = `w${fixtures}`
    const uuids = seededRandom(seed + 1)
    this.api = new Api(KINDS, masters.time, () => uuids.uuid())
  }

  // The operator

  /** Starts a new process. `replica`: its name in the election; `ownTime`: a clock that can be stopped alone. */
  async start(replica?: string, ownTime = this.time): Promise<Life> {
    const { api, faults, time, variants } = this
    const traffic = new Traffic()
    const log = this.#logUntil(traffic.ended)
    const gate = await Gate.open({
      time,
      faults,
      traffic,
      masterUrl: () => this.master.url,
      hides: (event) => this.hides(event),
      alter: (headers) => variants.headers?.(headers) ?? headers,
    })
    const real = new ApiTransport({ api, time, faults, traffic })
    const life = new Life({
      time: ownTime,
      random: seededRandom(Math.floor(this.#random.unit() * 2 ** 31)),
      log,
      transport: variants.transport?.(real) ?? real,
      masterUrl: gate.url,
      variants,
      replica,
    })
    this.#lives.push({ life, gate, traffic })
    life.start()
    return life
  }

  /** Discards log lines after the operator was killed. */
  #logUntil(ended: AbortSignal): Log {
    const at =
      (level: LogLevel) =>
      (message: string, fields?: LogFields): void => {
        if (!ended.aborted) this.log[level](message, fields)
      }
    return { debug: at('debug'), info: at('info'), warn: at('warn'), error: at('error'), isEnabled: () => true }
  }

  /** Stops every operator like SIGKILL: no further requests are sent, and no responses are delivered. */
  kill(): void {
    this.deaths += 1
    for (const { traffic } of this.#lives) traffic.end()
  }

  /** Waits until the killed operators are closed. */
  async closeKilled(): Promise<void> {
    for (const { life } of this.#lives.splice(0)) await life.kill()
  }

  get isDead(): boolean {
    return this.#lives.every(({ traffic }) => traffic.ended.aborted)
  }

  get life(): Life {
    const last = this.#lives.at(-1)
    if (last === undefined) throw new Error('there is no operator')
    return last.life
  }

  cutFeeds(): void {
    for (const { gate } of this.#lives) gate.cutFeeds()
  }

  // Time

  /** Advances time by `ms`; a killed operator is replaced by a new one. */
  async pass(ms: number, stepMs = STEP_MS): Promise<void> {
    for (let left = ms; left > 0; left -= stepMs) {
      await this.settle()
      await this.time.advance(Math.min(stepMs, left))
      await this.#raise()
    }
    await this.settle()
  }

  async #raise(): Promise<void> {
    // Its record was deleted: a running process registers again.
    if (this.#workers.length > 0 && (await this.config()) === undefined) await this.work()
    if (this.#lives.length === 0 || !this.isDead) return
    await this.closeKilled()
    await this.start()
  }

  /** Waits for all open requests without advancing virtual time. */
  async settle(): Promise<void> {
    for (let quiet = 0; quiet < QUIET_TURNS; quiet += 1) {
      await nextTurn()
      if (this.#lives.some(({ traffic }) => traffic.underWay > 0 && !traffic.ended.aborted)) quiet = -1
    }
  }

  /** Advances time until `holds` returns true. @returns false if it did not within `withinMs`. */
  async comesTrue(withinMs: number, holds: () => boolean | Promise<boolean>): Promise<boolean> {
    for (let ms = 0, stepMs = STEP_MS; ms < withinMs; ms += stepMs) {
      if (await holds()) return true
      stepMs = ms < SLOW_AFTER_MS ? STEP_MS : SLOW_STEP_MS
      await this.pass(stepMs, stepMs)
    }
    return holds()
  }

  // The cluster

  create(spec: Partial<FleetWorkerSpec> = {}, name = this.id): void {
    this.api.server.store.create(
      { kind: FLEETWORKERS, namespace: NAMESPACE },
      { metadata: { name }, spec: { type: TYPE, ...spec } },
      'kubectl',
    )
  }

  /** Applies a merge patch to the spec. */
  edit(spec: object, metadata: object = {}, name = this.id): void {
    this.api.server.store.patch(
      { kind: FLEETWORKERS, namespace: NAMESPACE, name },
      '',
      'application/merge-patch+json',
      { spec, metadata },
      'kubectl',
      false,
    )
  }

  /** Replaces the whole spec, like `kubectl replace`. */
  replace(spec: Partial<FleetWorkerSpec>, name = this.id): void {
    const before = this.object(name)
    this.api.server.store.replace(
      { kind: FLEETWORKERS, namespace: NAMESPACE, name },
      '',
      { ...before, spec: { type: TYPE, ...spec } } as never,
      'kubectl',
    )
  }

  remove(name = this.id): void {
    this.api.server.store.delete({ kind: FLEETWORKERS, namespace: NAMESPACE, name }, undefined)
  }

  object(name = this.id): FleetWorkerObject | undefined {
    return this.api.server.store
      .list(FLEETWORKERS, NAMESPACE)
      .find(({ metadata }) => metadata.name === name) as unknown as FleetWorkerObject | undefined
  }

  condition(type: string, name = this.id): string | undefined {
    const found = this.object(name)?.status?.conditions?.find((each) => each.type === type)
    return found === undefined ? undefined : `${found.status} ${found.reason}`
  }

  secret(name: string, data: Readonly<Record<string, string>>): void {
    this.#put(
      SECRETS,
      name,
      Object.fromEntries(Object.entries(data).map(([key, text]) => [key, Buffer.from(text).toString('base64')])),
    )
  }

  configMap(name: string, data: Readonly<Record<string, string>>): void {
    this.#put(CONFIG_MAPS, name, data)
  }

  #put(kind: FakeKind, name: string, data: object): void {
    const { store } = this.api.server
    if (store.list(kind, NAMESPACE).some(({ metadata }) => metadata.name === name))
      store.patch({ kind, namespace: NAMESPACE, name }, '', 'application/merge-patch+json', { data }, 'kubectl', false)
    else
      store.create(
        { kind, namespace: NAMESPACE },
        { metadata: { name, annotations: { [CONSENT_ANNOTATION]: '*' } }, data },
        'kubectl',
      )
  }

  // The fleet

  /** Starts a worker process; it replaces a running one. */
  async work(): Promise<void> {
    this.leave()
    this.#workers.push(await FakeWorker.join(this.master, this.id))
  }

  leave(): void {
    for (const worker of this.#workers.splice(0)) worker.leave()
  }

  /** Replaces the master by one with another store, and connects the worker to it. */
  async replaceMaster(): Promise<void> {
    this.leave()
    this.master = this.master === this.#masters.first ? this.#masters.second : this.#masters.first
    await this.work()
    this.cutFeeds()
  }

  async dashboard(patch: object): Promise<number> {
    return (
      await this.master.call('PATCH', `/api/v1/automations/${TYPE}/workers/${this.id}/config`, {
        body: patch,
        headers: { 'muster-actor': 'alice' },
      })
    ).status
  }

  /** The config in the store, with secrets. `undefined`: the worker is not registered. */
  async config(): Promise<Record<string, unknown> | undefined> {
    const [row] = await this.master.backend.workers.get([{ type: TYPE, id: this.id }])
    return row === null || row === undefined ? undefined : (JSON.parse(row.config.config) as Record<string, unknown>)
  }

  /** Every config since the worker registered, oldest first. */
  async configs(): Promise<readonly Record<string, unknown>[]> {
    const rows = await this.master.backend.configs.history({ type: TYPE, id: this.id }, 50)
    return rows.map(({ config }) => JSON.parse(config ?? '{}') as Record<string, unknown>).toReversed()
  }

  async managedBy(): Promise<string | null> {
    const [row] = await this.master.backend.workers.get([{ type: TYPE, id: this.id }])
    return row?.managedBy ?? null
  }

  // Verdicts

  /** Everything that users with read access can see. */
  texts(): readonly string[] {
    const { history } = this.api.server.store
    const shown = history
      .filter(({ kind }) => kind !== SECRETS)
      .map(({ object }) => JSON.stringify(object satisfies KubeObject | object))
    return [...shown, ...this.log.lines.map((line) => JSON.stringify([line.message, line.fields], errorsToo))]
  }

  /** @throws {Error} if something that users can see contains a secret. */
  async close(): Promise<void> {
    this.kill()
    await this.closeKilled()
    this.leave()
    for (const master of [this.#masters.first, this.#masters.second])
      await master.backend.workers.forget([{ type: TYPE, id: this.id }])
    await this.settle()
    canaries.scan('the log and the objects of the operator', this.texts().join('\n'))
    canaries.assertNone()
  }
}

export const DEFAULT_CONFIG = JSON.parse(DEFAULTS) as Record<string, unknown>

const errorsToo = (_: string, value: unknown): unknown =>
  value instanceof Error
    ? `${value.message} ${String(value.stack)} ${JSON.stringify(value.cause, errorsToo) ?? ''}`
    : value
