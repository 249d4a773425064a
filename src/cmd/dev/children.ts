/**
 * @module cmd/dev/children
 * Runs one worker of `muster dev` as a child process. Prefixes its log lines with its name, restarts it with backoff
 * when it exits, and drains it with SIGTERM at the end.
 */
import { spawn, type ChildProcess } from 'node:child_process'
import { createInterface } from 'node:readline'
import { Backoff, systemRandom, systemTime } from '../../runtime/index.ts'

export interface ChildOptions {
  readonly name: string
  readonly command: string
  readonly args: readonly string[]
  readonly environment: NodeJS.ProcessEnv
  readonly print: (line: string) => void
}

/** How long a child may take to drain before it is killed; above the worker's own deadline of 30 s. */
const STOP_WITHIN_MS = 40_000
/** A child that ran this long started successfully, which resets the backoff of its restarts. */
const STEADY_MS = 30_000

export class Child {
  readonly #options: ChildOptions
  readonly #backoff = new Backoff({ baseMs: 500, capMs: 15_000, random: systemRandom, floor: 0.5 })
  #process: ChildProcess | undefined
  #cancelRestart = (): void => {}
  #stopping = false

  constructor(options: ChildOptions) {
    this.#options = options
  }

  start(): void {
    const { command, args, environment, name, print } = this.#options
    const startedMs = systemTime.monotonicMs()
    // Nothing is sent over the IPC channel; its end notifies the child that this process has exited.
    const child = spawn(command, args, { env: environment, stdio: ['ignore', 'pipe', 'pipe', 'ipc'] })
    this.#process = child
    for (const stream of [child.stdout, child.stderr])
      if (stream !== null) createInterface({ input: stream }).on('line', (line) => print(`${name} | ${line}`))
    // No exit follows.
    child.once('error', (error) => child.pid === undefined && this.#ended(`could not be started: ${error.message}`))
    child.once('exit', (code, signal) => {
      if (systemTime.monotonicMs() - startedMs > STEADY_MS) this.#backoff.reset()
      this.#ended(`exited with ${signal ?? `code ${code}`}`)
    })
  }

  #ended(how: string): void {
    this.#process = undefined
    if (this.#stopping) return
    const delayMs = this.#backoff.nextMs()
    this.#options.print(`${this.#options.name} | ${how}; restarting in ${(delayMs / 1_000).toFixed(1)} s`)
    this.#cancelRestart = systemTime.after(delayMs, () => this.start())
  }

  /** Drains the child and resolves when it has exited. Kills it after {@link STOP_WITHIN_MS}. */
  async stop(): Promise<void> {
    this.#stopping = true
    this.#cancelRestart()
    const child = this.#process
    if (child === undefined) return
    const ended = new Promise<void>((resolve) => child.once('exit', () => resolve()))
    child.kill('SIGTERM')
    const cancel = systemTime.after(STOP_WITHIN_MS, () => child.kill('SIGKILL'))
    await ended
    cancel()
  }
}
