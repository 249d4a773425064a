/**
 * Defines what a check of invariants sees of a run, and how it reports. Each file of this folder implements
 * `InvariantCheck` for one concern; a check declares only the observations that it needs.
 */
import type { FeedItem } from '../../../src/client/index.ts'
import type { Log, LogFields, LogLevel, VirtualTime } from '../../../src/runtime/index.ts'
import type { Backend, LoggedEvent, StorageCall } from '../../../src/storage/index.ts'
import type { Canaries } from '../../kit/canary.ts'
import type { SimCatalog } from '../automations.ts'
import type { SimApiServer } from '../operator/api-server.ts'
import type { Fault, Plan } from '../plan.ts'
import type { Exchange, Served } from '../pool.ts'
import type { Situation } from '../must-happen.ts'

type Safety =
  `I${1 | 2 | 3 | 4 | 5 | 6 | 7 | 8 | 9 | 10 | 11 | 12 | 13 | 14 | 15 | 16 | 17 | 18 | 19 | 20 | 21 | 22 | 23}`
type Liveness = `V${1 | 2 | 3}`
export type Invariant = Safety | Liveness

export class Violation extends Error {
  readonly invariant: Invariant

  constructor(invariant: Invariant, problem: string) {
    super(`${invariant}: ${problem}`)
    this.invariant = invariant
  }
}

/** What a check may use, beside its observations. */
export interface CheckDeps {
  readonly plan: Plan
  /** The automations of the fleet. */
  readonly catalog: SimCatalog
  readonly time: VirtualTime
  /** The store, to compare it with a model. */
  backend(): Backend
  /** The secrets of the run. */
  readonly canaries: Canaries
  /** The API server of the cluster; null without an operator. */
  api(): SimApiServer | null
  /** Whether a process of this name runs, and which life of the name it is; null if none runs. */
  lifeOf(name: string): number | null
  /** The master that a worker is connected to, as the worker sees it; null without a connection. */
  masterOf(worker: string): string | null
  /** The number of control sockets of a worker that masters hold open. */
  openSocketsOf(worker: string): number
  /** The metrics of a running master. */
  metricsOf(master: string): Promise<string>
  /** Counts a situation that must happen. */
  count(situation: Situation): void
  /** Reports a violation. The first one ends the run. */
  fail(invariant: Invariant, problem: string): void
}

/** One message of the log of a process. */
export interface LogLine {
  readonly process: string
  readonly level: LogLevel
  readonly message: Parameters<Log['info']>[0]
  readonly fields: LogFields
}

/** A frame that an end of a control socket has received. */
export interface ReceivedFrame {
  readonly from: string
  readonly to: string
  /** Unique in a run. */
  readonly connection: number
  readonly text: string
}

/** What the plugin of a worker does. */
export type PluginEvent =
  | { readonly kind: 'run_started'; readonly worker: string; readonly type: string; readonly config: object }
  /** The run of a task has ended, with a copy of the config that it started with. */
  | {
      readonly kind: 'run_ended'
      readonly worker: string
      readonly type: string
      readonly startedWith: object
      readonly config: object
    }
  | {
      readonly kind: 'task_started' | 'task_ended'
      readonly worker: string
      readonly type: string
      readonly id: string
    }

/** A write that a replica of the operator is about to send. */
export interface OperatorWrite {
  readonly side: 'api' | 'master'
  readonly replica: string
  readonly method: string
  readonly path: string
}

/** The observations of a run, in the order in which they happen. */
export interface InvariantCheck {
  /** The store has executed a call. Its result has not left the store yet. */
  executed?(call: StorageCall, result: unknown, nowMs: number): Promise<void> | void
  /** The event log has new events. */
  appended?(events: readonly LoggedEvent[]): void
  /**
   * The store lost changes. What it keeps is executed again right after this, from its first call on; violations
   * are ignored meanwhile.
   */
  storeLost?(): void
  /** What the store kept has been executed again. */
  storeKept?(): void
  /** A client has received a whole response. Its code has not continued yet. */
  received?(exchange: Exchange): void
  /** A master has written a whole response. */
  served?(exchange: Served): void
  /** An end of a control socket has received a frame. */
  framed?(frame: ReceivedFrame): void
  /** A plugin has begun or ended something. */
  ran?(event: PluginEvent): void
  /** A client of the event stream received something. */
  fed?(reader: string, item: FeedItem): void
  /** A process wrote a message to its log. */
  logged?(line: LogLine): void
  /** A fault is injected. */
  injected?(fault: Fault): void
  /** One second of virtual time has passed. */
  second?(): Promise<void> | void
  /** An operator is about to send a write, to the API server or to a master. */
  operatorWrites?(write: OperatorWrite): void
  /** Faults end; the calm phase begins. */
  faultsEnded?(): void
  /** The run is over and has no violation. */
  finish?(): Promise<void> | void
}

export type CreateCheck = (deps: CheckDeps) => InvariantCheck
