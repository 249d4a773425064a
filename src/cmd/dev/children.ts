/**
 * @module cmd/dev/children
 * The worker processes of `muster dev`: one child each, its log lines prefixed with its name, started again with
 * backoff when it dies, and drained by SIGTERM at the end.
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
/** A child that ran this long had started well: its next restart is quick again. */
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
    const child = spawn(command, args, { env: environment, stdio: ['ignore', 'pipe', 'pipe', 'ipc'] }) // The channel carries nothing; its end tells the child that we are gone.
    this.#process = child
    for (const stream of [child.stdout, child.stderr])
      if (stream !== null) createInterface({ input: stream }).on('line', (line) => print(`${name} | ${line}`))
    child.once('error', (error) => child.pid === undefined && this.#ended(`could not be started: ${error.message}`)) // No exit follows.
    child.once('exit', (code, signal) => {
      if (systemTime.monotonicMs() - startedMs > STEADY_MS) this.#backoff.reset()
      this.#ended(`ended with ${signal ?? `code ${code}`}`)
    })
  }

  #ended(how: string): void {
    this.#process = undefined
    if (this.#stopping) return
    const delayMs = this.#backoff.nextMs()
    this.#options.print(`${this.#options.name} | ${how}; starting it again in ${(delayMs / 1_000).toFixed(1)} s`)
    this.#cancelRestart = systemTime.after(delayMs, () => this.start())
  }

  /** Drains the child and waits for its end. */
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
