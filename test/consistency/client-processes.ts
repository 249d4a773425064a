/** Starts processes of clients in their namespaces, sends them commands, and judges what they recorded. */
import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { eventually } from '../kit/index.ts'
import type { Host, Network } from './network.ts'
import type { ClientCommand, ClientOptions, ClientReply, RecoveredKeys } from './protocol.ts'

const CLIENT = join(import.meta.dirname, 'client.ts')
const WITHIN_MS = 120_000
const KINDS = ['kv', 'lock', 'counter', 'config', 'task', 'unique'] as const

type Kind = (typeof KINDS)[number]

/** A line of a history, as far as it matters here. */
interface Line {
  readonly start?: number
  readonly end?: number
  readonly operation?: string
  readonly args?: { readonly key?: string; readonly type?: string }
  readonly result?: unknown
}

type ReplyOf<K extends ClientReply['kind']> = Extract<ClientReply, { kind: K }>

/** One process of clients. */
export class ClientProcess {
  readonly host: Host
  readonly options: ClientOptions
  readonly #child: ChildProcess
  readonly #replies: ClientReply[] = []
  #errors = ''
  #calls = 0

  constructor(network: Network, host: Host, options: ClientOptions) {
    this.host = host
    this.options = options
    const [program = '', ...args] = network.within(
      host,
      process.execPath,
      '--disable-warning=ExperimentalWarning',
      CLIENT,
      JSON.stringify(options),
    )
    this.#child = spawn(program, args, { stdio: ['pipe', 'pipe', 'pipe'] })
    this.#child.stderr?.on('data', (data: Buffer) => void (this.#errors += data.toString()))
    this.#child.stdin?.on('error', () => undefined) // The process ended: the reply that is awaited reports it.
    if (this.#child.stdout !== null)
      createInterface({ input: this.#child.stdout }).on('line', (line) =>
        this.#receive(JSON.parse(line) as ClientReply),
      )
  }

  /** Calls with a result so far. */
  get calls(): number {
    return this.#calls
  }

  send(command: ClientCommand): void {
    this.#child.stdin?.write(`${JSON.stringify(command)}\n`)
  }

  async ask<K extends ClientReply['kind']>(command: ClientCommand, kind: K): Promise<ReplyOf<K>> {
    this.send(command)
    return this.next(kind)
  }

  /** Resolves with the next reply of a kind. */
  async next<K extends ClientReply['kind']>(kind: K): Promise<ReplyOf<K>> {
    let found: ClientReply | undefined
    const isThere = (): boolean => {
      if (this.#child.exitCode !== null && kind !== 'ended')
        throw new Error(`clients ${this.options.name} ended: ${this.#errors}`)
      found = this.#replies.find((reply) => reply.kind === kind)
      return found !== undefined
    }
    const context = (): string => this.#errors
    await eventually(`clients ${this.options.name} reply ${kind}`, isThere, { withinMs: WITHIN_MS, context })
    this.#replies.splice(this.#replies.indexOf(found as ClientReply), 1)
    return found as ReplyOf<K>
  }

  async kill(): Promise<void> {
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) return
    const gone = once(this.#child, 'exit')
    this.#child.kill('SIGKILL')
    await gone
  }

  #receive(reply: ClientReply): void {
    if (reply.kind === 'tally') this.#calls = reply.done
    else this.#replies.push(reply)
  }
}

/** The processes of a test. The first one is the observer. */
export class ClientProcesses {
  readonly all: readonly ClientProcess[]
  /** Lines of each history at the last recovery. */
  readonly #seen = new Map<string, number>()

  constructor(all: readonly ClientProcess[]) {
    this.all = all
  }

  get observer(): ClientProcess {
    const [first] = this.all
    if (first === undefined) throw new Error('there are no clients')
    return first
  }

  get calls(): number {
    return this.all.reduce((sum, { calls }) => sum + calls, 0)
  }

  get histories(): readonly string[] {
    return this.all.map(({ options }) => options.history)
  }

  async ready(): Promise<void> {
    await Promise.all(this.all.map((each) => each.next('ready')))
  }

  async resume(): Promise<void> {
    await Promise.all(this.all.map((each) => each.ask({ kind: 'resume' }, 'resumed')))
  }

  async hold(): Promise<void> {
    await Promise.all(this.all.map((each) => each.ask({ kind: 'hold' }, 'held')))
  }

  /** Reads every key that was used since the last recovery. The clients have to be held. */
  async recover(): Promise<void> {
    await this.observer.ask({ kind: 'recover', keys: this.#newKeys() }, 'recovered')
  }

  async end(): Promise<readonly ReplyOf<'ended'>[]> {
    return Promise.all(this.all.map((each) => each.ask({ kind: 'end' }, 'ended')))
  }

  async close(): Promise<void> {
    await Promise.all(this.all.map((each) => each.kill()))
  }

  #newKeys(): RecoveredKeys {
    const all = Object.fromEntries(KINDS.map((kind) => [kind, new Set<string>()])) as Record<Kind, Set<string>>
    for (const history of this.histories) {
      const lines = readFileSync(history, 'utf8').trimEnd().split('\n')
      const types = new Map<number, string>()
      for (const [at, text] of lines.entries()) {
        const line = JSON.parse(text) as Line
        const { type } = line.args ?? {}
        if (line.start !== undefined && type !== undefined) types.set(line.start, type)
        if (at < (this.#seen.get(history) ?? 0)) continue
        const { operation = '', args: { key } = {} } = line
        const kind = operation.slice(0, operation.indexOf('_')) as Kind
        if (key !== undefined && !operation.endsWith('_recover')) all[kind].add(key)
        const reserved = types.get(line.end ?? -1)
        if (reserved !== undefined)
          for (const { id } of line.result as readonly { id: string }[]) all.task.add(`${reserved}/${id}`)
      }
      this.#seen.set(history, lines.length)
    }
    return Object.fromEntries(Object.entries(all).map(([kind, some]) => [kind, [...some]])) as unknown as RecoveredKeys
  }
}
