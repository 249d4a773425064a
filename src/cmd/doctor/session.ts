/**
 * @module cmd/doctor/session
 * What the checks of one run share: the settings that the first check finds, and what later ones learn of the master.
 */
import type { MeBody, OverviewBody } from '../../protocol/index.ts'
import type { Connection, ConnectionFlags, Io } from '../admin/index.ts'
import { ProbeClient, type Reply } from './probe-client.ts'

/** Time limits in milliseconds. */
export interface Limits {
  /** Of a name look-up, a connection, a handshake and a short request, each. */
  readonly stepMs: number
  /** Of the control channel: while many workers connect, the master delays the upgrade by up to 10 s. */
  readonly upgradeMs: number
  /** Until the first byte of the event stream. */
  readonly firstByteMs: number
  /** Of the long poll; whole seconds. */
  readonly longPollMs: number
}

export const LIMITS: Limits = { stepMs: 5_000, upgradeMs: 15_000, firstByteMs: 2_000, longPollMs: 20_000 }

export interface SessionOptions {
  readonly io: Io
  readonly flags: ConnectionFlags
  /** Namespace of the operator's Lease, if it is given. */
  readonly namespace: string | undefined
  readonly limits: Limits
}

export class Session {
  readonly io: Io
  readonly flags: ConnectionFlags
  readonly namespace: string | undefined
  readonly limits: Limits
  /** The time of the master minus that of this machine, in milliseconds, as the event stream shows it. */
  clockOffsetMs: number | undefined
  #connection: Connection | undefined
  #client: ProbeClient | undefined
  #me: MeBody | undefined
  #overview: Promise<Reply> | undefined

  constructor({ io, flags, namespace, limits }: SessionOptions) {
    this.io = io
    this.flags = flags
    this.namespace = namespace
    this.limits = limits
  }

  /** Of the check `settings`. */
  get connection(): Connection {
    return known(this.#connection)
  }

  set connection(connection: Connection) {
    this.#connection = connection
    this.#client = new ProbeClient(connection, this.io.time)
  }

  get client(): ProbeClient {
    return known(this.#client)
  }

  /** The host of the master, without the brackets of an IPv6 address. */
  get host(): string {
    return this.connection.masterUrl.hostname.replace(/^\[|\]$/g, '')
  }

  get port(): number {
    const { port, protocol } = this.connection.masterUrl
    if (port !== '') return Number(port)
    return protocol === 'https:' ? 443 : 80
  }

  /** Of the check `token`. */
  get me(): MeBody {
    return known(this.#me)
  }

  set me(me: MeBody) {
    this.#me = me
  }

  /** Requests the counts of all automations once, for all checks that need them. */
  overview(): Promise<Reply> {
    this.#overview ??= this.client.send({ path: '/api/v1/overview', timeoutMs: this.limits.stepMs })
    return this.#overview
  }

  /** An automation type that the token covers; undefined if it may not list them. */
  async type(): Promise<string | undefined> {
    const named = this.me.automations.find((type) => type !== '*')
    if (named !== undefined || !this.me.permissions.includes('read')) return named
    const reply = await this.overview()
    if (reply.kind !== 'response' || reply.status !== 200) return undefined
    return Object.keys((reply.json() as OverviewBody | undefined)?.automations ?? {})[0]
  }

  async close(): Promise<void> {
    await this.#client?.close()
    this.#connection?.close()
  }
}

function known<T>(value: T | undefined): T {
  if (value === undefined) throw new TypeError('a check ran before the one that it needs')
  return value
}
