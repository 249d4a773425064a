/** Runs one process of the soak under the probe, again and again: start, measure, kill, restart. */
import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { createWriteStream, type WriteStream } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import type { Readable } from 'node:stream'
import { fileURLToPath } from 'node:url'
import type { Probe, ProbeRequest } from './probe.ts'

const PROBE = fileURLToPath(new URL('probe.ts', import.meta.url))
const RECORD_FD = 3
const MEASURE_MS = 60_000
const LINES_IN_ERROR = 20
const ERROR_LINE = /^(?:\S+ )?error\b/i

export interface ProcessOptions {
  readonly name: string
  /** Modules that Node loads before. */
  readonly imports?: readonly string[]
  /** The script and its arguments. */
  readonly args: readonly string[]
  readonly env: Readonly<Record<string, string>>
  /** Where its output is written. */
  readonly folder: string
  /** Resolves when it can serve. */
  readonly ready?: () => Promise<void>
  /** Called with each line that it writes to file descriptor 3. */
  readonly onRecord?: (line: string) => void
  /** Called when it has ended and all its lines were read. */
  readonly onEnd?: () => void
}

export class SoakProcess {
  readonly name: string
  readonly errors: string[] = []
  /** How often it was started. */
  life = 0
  startedMs = 0
  /** Called when it ended without having been stopped. */
  onCrash: (how: string) => void = () => undefined
  readonly #options: ProcessOptions
  readonly #log: WriteStream
  readonly #waiting = new Map<number, (probe: Probe | undefined) => void>()
  #child: ChildProcess | undefined
  #isStopping = false
  #requests = 0
  /** For the error of a process that ended before it was ready. */
  #lastLines: readonly string[] = []
  #ended = Promise.resolve()

  constructor(options: ProcessOptions) {
    this.name = options.name
    this.#options = options
    this.#log = createWriteStream(join(options.folder, `${options.name}.log`), { flags: 'a' })
  }

  get pid(): number | undefined {
    return this.#child?.pid
  }

  async start(): Promise<void> {
    this.life += 1
    this.startedMs = Date.now()
    this.#isStopping = false
    const { args, env, imports = [], onRecord, onEnd, ready } = this.#options
    const child = spawn(
      process.execPath,
      [
        '--expose-gc',
        '--disable-warning=ExperimentalWarning',
        ...[PROBE, ...imports].flatMap((each) => ['--import', each]),
        ...args,
      ],
      { env: { PATH: process.env['PATH'] ?? '', ...env }, stdio: ['ignore', 'pipe', 'pipe', 'pipe', 'ipc'] },
    )
    this.#child = child
    child.on('message', (probe: Probe) => this.#waiting.get(probe.id)?.(probe))
    for (const stream of [child.stdout, child.stderr])
      if (stream !== null) createInterface({ input: stream }).on('line', (line) => this.#logLine(line))
    const records = createInterface({ input: child.stdio[RECORD_FD] as Readable })
    records.on('line', (line) => onRecord?.(line))
    this.#ended = this.#watch(child, once(records, 'close'), onEnd)
    if (ready !== undefined) await Promise.race([ready(), this.#endedEarly()])
  }

  /** Rejects if the process ends without having been stopped. */
  async #endedEarly(): Promise<void> {
    await this.#ended
    if (!this.#isStopping) throw new Error(`${this.name} ended before it was ready:\n${this.#lastLines.join('\n')}`)
  }

  /** Ends the process. Resolves when it has ended. */
  async stop(signal: NodeJS.Signals): Promise<void> {
    this.#isStopping = true
    this.#child?.kill(signal)
    await this.#ended
  }

  /** @returns undefined if the process ended before. */
  measure(request: Omit<ProbeRequest, 'id'>): Promise<Probe | undefined> {
    const id = ++this.#requests
    const child = this.#child
    if (child?.connected !== true) return Promise.resolve(undefined)
    return new Promise((resolve) => {
      const timeout = setTimeout(() => end(undefined), MEASURE_MS)
      const end = (probe: Probe | undefined): void => {
        clearTimeout(timeout)
        this.#waiting.delete(id)
        resolve(probe)
      }
      this.#waiting.set(id, end)
      child.send({ id, ...request } satisfies ProbeRequest, (error) => {
        if (error !== null) end(undefined)
      })
    })
  }

  #logLine(line: string): void {
    if (line.trim() !== '') this.#lastLines = [...this.#lastLines, line].slice(-LINES_IN_ERROR)
    this.#log.write(`${new Date().toISOString()} ${line}\n`)
    if (ERROR_LINE.test(line)) this.errors.push(line)
  }

  async #watch(child: ChildProcess, read: Promise<unknown>, onEnd?: () => void): Promise<void> {
    const [code, signal] = (await once(child, 'exit')) as [number | null, NodeJS.Signals | null]
    await read
    for (const end of this.#waiting.values()) end(undefined)
    onEnd?.()
    if (!this.#isStopping) this.onCrash(`${this.name} ended by itself: ${signal ?? `exit ${code}`}`)
  }
}
