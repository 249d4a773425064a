/**
 * @module worker-test/trial
 * Gives one row a master, and a fresh process of the worker under test. Its methods wait for what a row expects, and
 * throw a {@link RowFailure} with what was seen instead.
 */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { systemRandom, systemTime, type Cancel } from '../runtime/index.ts'
import { TEST_TYPE, VISIBILITY_SECONDS } from './manifest.ts'
import { Peer } from './peer.ts'
import { WorkerProcess } from './worker-process.ts'

/** Payload of a task of the test automation. */
export type Payload =
  | { readonly do: 'echo'; readonly value?: unknown }
  | { readonly do: 'fail'; readonly error: string }
  | { readonly do: 'sleep'; readonly seconds: number }
  | { readonly do: 'emit'; readonly count: number; readonly bytes?: number }

/** What a busy machine may add to each time limit. */
export const GRACE_MS = 1_500
/** How long a worker may take from its start to its first connection, and to run a short task. */
const CONNECT_MS = 20_000
const TASK_MS = 10_000
const LOOK_EVERY_MS = 20
const PING_EVERY_MS = 5_000
/** A timer that is this late shows that the machine is too busy for the time limits. */
const DELAY_MS = 500
const DELAY_CHECK_EVERY_MS = 100

/** A worker did not do what a row expects. */
export class RowFailure extends Error {
  override readonly name = 'RowFailure'
  readonly expected: string
  readonly seen: string
  constructor(expected: string, seen: string) {
    super(`expected ${expected}; seen: ${seen}`)
    this.expected = expected
    this.seen = seen
  }
}

export interface TrialOptions {
  readonly command: string
  readonly environment: Readonly<Record<string, string | undefined>>
  readonly signal: AbortSignal
  /** Resolves when a process may be started. The function that it returns is called when the process has connected. */
  readonly startTurn: () => Promise<() => void>
}

const exitOf = ({ exitCode }: WorkerProcess): string =>
  exitCode === null ? 'its process was ended by a signal' : `its process exited with ${exitCode}`

interface StartOptions {
  readonly environment?: Readonly<Record<string, string>>
  /** Passes the token in a file, which {@link Trial.writeToken} changes. */
  readonly tokenFile?: boolean
}

export class Trial {
  readonly master = new Peer()
  readonly token = `token-${systemRandom.uuid()}`
  /** Value of the `writeOnly` field of the config. */
  readonly password = `password-${systemRandom.uuid()}`
  workerId = 'w1'
  readonly #options: TrialOptions
  readonly #processes: WorkerProcess[] = []
  readonly #faults: string[] = []
  #folder: string | undefined
  #startedMs = systemTime.monotonicMs()
  #tasks = 0
  /** Whether a timer of this process was late. */
  wasDelayed = false
  #cancels: Cancel[] = []

  constructor(options: TrialOptions) {
    this.#options = options
  }

  async open(): Promise<void> {
    const { master } = this
    master.acceptedToken = this.token
    master.visibilitySeconds = VISIBILITY_SECONDS
    master.config = { ...master.config, label: 'first', password: this.password }
    master.onFault = (fault) => {
      master.record(`worker: invalid ${fault}`)
      this.#faults.push(fault)
    }
    await master.start()
    this.#cancels = [systemTime.every(PING_EVERY_MS, () => master.ping()), this.#watchDelays()]
  }

  #watchDelays(): Cancel {
    let lastMs = systemTime.monotonicMs()
    return systemTime.every(DELAY_CHECK_EVERY_MS, () => {
      const nowMs = systemTime.monotonicMs()
      const lateMs = nowMs - lastMs - DELAY_CHECK_EVERY_MS
      lastMs = nowMs
      if (lateMs < DELAY_MS) return
      this.wasDelayed = true
      this.master.record(`kit: was delayed by ${Math.round(lateMs)} ms, because the machine is busy`)
    })
  }

  async close(): Promise<void> {
    for (const cancel of this.#cancels) cancel()
    await Promise.all(this.#processes.map((each) => each.kill()))
    await this.master.close()
    if (this.#folder !== undefined) rmSync(this.#folder, { recursive: true, force: true })
  }

  /** Starts the worker, and waits until it registered and read its config. */
  async run(options: StartOptions = {}): Promise<WorkerProcess> {
    const before = { registers: this.master.of('register').length, polls: this.polls.length }
    const worker = await this.start(options, () => this.master.of('register').length > before.registers)
    const isReady = (): boolean =>
      this.master.of('register').length > before.registers && this.polls.length > before.polls
    await this.expect(
      'a register frame, and a poll of the config',
      () => isReady() || worker.exitCode !== undefined,
      CONNECT_MS,
    )
    this.check(isReady(), 'a worker that registers and polls its config', exitOf(worker))
    return worker
  }

  /** Starts the worker. Resolves when it has connected, or has exited, or after 20 s. */
  async start(options: StartOptions = {}, hasConnected?: () => boolean): Promise<WorkerProcess> {
    const handshakes = this.master.handshakes.length
    const isConnected = hasConnected ?? (() => this.master.handshakes.length > handshakes)
    const endTurn = await this.#options.startTurn()
    if (this.#processes.length === 0) this.#startedMs = systemTime.monotonicMs()
    try {
      this.master.record('kit: starts the worker')
      const worker = new WorkerProcess(this.#options.command, { ...this.#environment(options) })
      this.#processes.push(worker)
      void worker.exited.then((code) => this.master.record(`worker: exits with ${code ?? 'a signal'}`))
      await this.until(() => isConnected() || worker.exitCode !== undefined, CONNECT_MS)
      return worker
    } finally {
      endTurn()
    }
  }

  /** Seconds since the first start of the worker, in tenths. */
  get seconds(): number {
    return Math.round((systemTime.monotonicMs() - this.#startedMs) / 100) / 10
  }

  /** Changes the file of the token. */
  writeToken(token: string): void {
    this.#folder ??= mkdtempSync(join(tmpdir(), 'muster-worker-test-'))
    writeFileSync(join(this.#folder, 'token'), `${token}\n`)
  }

  #environment({ environment = {}, tokenFile = false }: StartOptions): Record<string, string | undefined> {
    const token = tokenFile
      ? { SVC_WORKER_TOKEN: undefined, SVC_WORKER_TOKEN_FILE: join(this.#folder ?? '', 'token') }
      : { SVC_WORKER_TOKEN: this.token, SVC_WORKER_TOKEN_FILE: undefined }
    return {
      ...this.#options.environment,
      ...token,
      SVC_MASTER_URL: this.master.url,
      SVC_AUTOMATION_TYPE: TEST_TYPE,
      SVC_WORKER_ID: this.workerId,
      SVC_DRAIN_TIMEOUT_SECONDS: '5',
      SVC_LOG_LEVEL: 'debug',
      ...environment,
    }
  }

  /** The config polls of the worker. */
  get polls(): readonly { readonly atMs: number }[] {
    return this.master.requests.filter(({ url, method }) => method === 'GET' && url.split('?')[0]?.endsWith('/config'))
  }

  /** The reserves of the worker. */
  get reserves(): readonly { readonly atMs: number }[] {
    return this.master.rpcCalls.filter(({ method }) => method === 'tasks.reserve')
  }

  /** Submits one task. @returns its id. */
  submit(payload: Payload): string {
    const [id = ''] = this.submitAll([payload])
    return id
  }

  /** Submits tasks, so that one reserve may get all of them. @returns their ids. */
  submitAll(payloads: readonly Payload[]): readonly string[] {
    const tasks = payloads.map((payload) => ({ task_id: `t${(this.#tasks += 1)}`, payload }))
    this.master.queue(...tasks)
    return tasks.map(({ task_id: id }) => id)
  }

  /** Waits until task `id` is settled by `method`, an ack by default. */
  async settled(id: string, method = 'tasks.ack', withinMs = TASK_MS): Promise<void> {
    await this.expect(`${method} of task ${id}`, () => this.master.settled(method).includes(id), withinMs)
  }

  /** Runs an echo. @returns its output. */
  async echo(value: unknown = 'hello'): Promise<Record<string, unknown>> {
    const before = this.master.outputs.length
    await this.settled(this.submit({ do: 'echo', value }))
    const output = (): Record<string, unknown> | undefined =>
      this.master.outputs.slice(before).find((each) => 'label' in each)
    await this.expect('the output of an echo', () => output() !== undefined, TASK_MS)
    return output() ?? {}
  }

  /** Starts a sleep, and waits until its run has begun. @returns the id of its task. */
  async sleeping(seconds: number): Promise<string> {
    const before = this.started
    const id = this.submit({ do: 'sleep', seconds })
    await this.expect('the output {started: true} of a sleep', () => this.started > before, TASK_MS)
    return id
  }

  /** Number of sleeps that have begun. */
  get started(): number {
    return this.master.outputs.filter((each) => each['started'] === true).length
  }

  /** Waits for a condition. @throws {RowFailure} after `withinMs` and the grace of a busy machine. */
  async expect(what: string, condition: () => boolean, withinMs: number, seen = () => 'not so'): Promise<void> {
    if (await this.until(condition, withinMs + GRACE_MS)) return
    throw new RowFailure(`${what} within ${withinMs / 1_000} s`, seen())
  }

  /** @throws {RowFailure} if the condition becomes true within `ms`. */
  async never(what: string, condition: () => boolean, ms: number, seen = () => 'it happened'): Promise<void> {
    if (await this.until(condition, ms)) throw new RowFailure(what, seen())
  }

  /** @throws {RowFailure} unless `holds`. */
  check(holds: boolean, expected: string, seen: unknown): void {
    if (!holds) throw new RowFailure(expected, typeof seen === 'string' ? seen : JSON.stringify(seen))
  }

  pause(ms: number): Promise<void> {
    return systemTime.sleep(ms, this.#options.signal)
  }

  /** Checks what holds in every row: frames and params are valid. */
  checkFaults(): void {
    const [fault] = this.#faults
    if (fault !== undefined) throw new RowFailure('only valid frames and calls', fault)
  }

  /** The last lines of what the worker printed. */
  outputTail(lines: number): readonly string[] {
    return this.#processes.flatMap(({ output }) => output.trimEnd().split('\n')).slice(-lines)
  }

  /** @returns whether the condition became true within `ms`. */
  async until(condition: () => boolean, ms: number): Promise<boolean> {
    const endMs = systemTime.monotonicMs() + ms
    while (!condition()) {
      if (systemTime.monotonicMs() >= endMs) return false
      await this.pause(LOOK_EVERY_MS)
    }
    return true
  }
}
