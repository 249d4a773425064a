/**
 * @module worker/running-worker
 * Defines what a worker is started with and what can be done with it while it runs.
 */
import type { RunnableEntry } from '../automation/index.ts'
import type { ReportedState, WorkerLabels } from '../protocol/index.ts'
import type { Clock, CreateHttpPool, Log, Random, Timers } from '../runtime/index.ts'
import type { WorkerAddress } from './address.ts'
import type { Dial } from './control-channel.ts'
import type { HealthListen } from './health.ts'
import type { Host } from './host.ts'
import type { MasterFeatures } from './master-features.ts'

export interface WorkerOptions {
  /** http or https; a path prefix is kept. */
  readonly masterUrl: string
  /** The worker token, or a function that returns the current one. */
  readonly token: string | (() => string)
  readonly entry: RunnableEntry
  readonly workerId: string
  readonly drainTimeoutSeconds: number
  /** What the worker is for, sent with `register` (D136). By default none. */
  readonly labels?: WorkerLabels
  /** The version of this program, which the master receives with the upgrade. */
  readonly version?: string
  readonly clock: Clock
  readonly timers: Timers
  readonly random: Random
  readonly log: Log
  readonly host: Host
  /** Address of the listener for `/healthz`, `/readyz` and `/metrics`. Null or absent: no listener. */
  readonly healthListen?: HealthListen | null
  /** Creates the pools of connections for HTTP. By default those of undici. */
  readonly createPool?: CreateHttpPool
  /** Opens the WebSocket of the control channel. By default one of `ws`. */
  readonly dial?: Dial
}

export interface WorkerView {
  readonly state: ReportedState
  readonly connected: boolean
  /** Connected, and the master has a record of this worker. */
  readonly registered: boolean
  readonly draining: boolean
  readonly configGen: number
  readonly lastError: string | null
  /** Number of running slots, including those that are stopping. */
  readonly slots: number
  /** Port of the health listener; null until it listens. */
  readonly healthPort: number | null
}

export interface RunningWorker {
  /** Resolves with the exit code when everything is closed. Never rejects. */
  readonly done: Promise<0 | 1>
  /** Shuts down as on SIGTERM: no new tasks, and a deadline for running ones (D53). May be called repeatedly. */
  drain(why: string): void
  state(): WorkerView
  /** Handles an unhandled rejection of a plugin: logs it and reports it as `last_error`. The worker continues. */
  reportUnhandledError(error: unknown): void
  /**
   * Handles an uncaught exception: fails the task whose run threw it, releases all others, and stops with exit code 1
   * as soon as the master has confirmed that, at most 10 s later (D95).
   */
  crash(error: unknown): void
}

/**
 * What all components of a worker share. `log` has the fields of the worker, also for lines that a slot caused, and
 * repeats a warning at most once a minute.
 */
export interface SharedDeps extends WorkerAddress, Pick<WorkerOptions, 'clock' | 'timers' | 'random' | 'log'> {
  readonly token: () => string
  /** What the masters offer beside the specification. */
  readonly features: MasterFeatures
  readonly registerAgain: (why: string) => void
}
