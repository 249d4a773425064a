/**
 * @module master/audit/audit
 * Writes the audit trail: one line of JSON for each call that changes something, with who made it and how it ended, and
 * one line a minute for refused tokens of one peer.
 *
 *   {"audit":1,"ts":"2026-01-01T00:00:00.000Z","actor":{"name":"on-call","kind":"token","roles":["scoped"]},
 *    "claimed_actor":null,"action":"worker.drain","route":"POST /api/v1/automations/{type}/workers/{id}/drain",
 *    "type":"crawler","object":"m-7","outcome":"done","status":200,"count":1,"changed":[],"request_id":"01a2…",
 *    "peer":"10.0.3.9"}
 *
 * Values never appear, only the names of changed fields. The line is written after the outcome is known; a crash in
 * between loses it. A sink that fails never delays a call: the line is counted in `svc_audit_dropped_total` and
 * dropped. The newest calls of the class `control` are in the store as well (recorder.ts).
 * @see D87, D235
 */
import { Counter, type Registry } from 'prom-client'
import {
  ERRORS,
  FleetError,
  MAX_ACTOR_CHARS,
  MAX_NAME_CHARS,
  toSeconds,
  type AuditOutcome,
} from '../../protocol/index.ts'
import type { Clock, Log, Timers } from '../../runtime/index.ts'
import type { Backend } from '../../storage/index.ts'
import type { Principal } from '../auth/index.ts'
import type { Part } from '../deps.ts'
import { AuditRecorder, type RecordedCall } from './recorder.ts'
import { RejectionThrottle } from './rejection-throttle.ts'

/**
 * `control`: changes of workers, configs, dead letters and outputs. `auth`: refused and replaced tokens, sign-ins.
 * `data`: submitted tasks.
 */
export const AUDIT_CLASSES = ['control', 'auth', 'data'] as const
export type AuditClass = (typeof AUDIT_CLASSES)[number]

export interface AuditOptions {
  readonly classes: ReadonlySet<AuditClass>
  /** Takes one line, without its end. @returns false when the line was dropped. */
  readonly write: (line: string) => boolean
}

/** A call that changes something, successful or not. */
export interface AuditedCall {
  readonly action: string
  readonly route: string
  readonly type: string | null
  /** The worker, or null where the call concerns a whole type. */
  readonly object: string | null
  /** Null: the call had no token. */
  readonly actor: Pick<Principal, 'id' | 'role' | 'jwt'> | null
  /** The header Muster-Actor as it was sent. */
  readonly claimedActor: string | undefined
  readonly requestId: string
  readonly peer: string | null
  /** The error that ended the call, or the status and what was changed. */
  readonly result:
    | { readonly kind: 'failed'; readonly error: unknown }
    | {
        readonly kind: 'done'
        readonly status: number
        readonly count: number
        readonly changed: readonly string[]
        /** Why, in the words of the caller. */
        readonly note?: string | null
      }
}

/** Why a token was refused. `role`: it is valid, but not for the control channel, or not for this worker. */
export type TokenRejection = 'missing' | 'malformed' | 'wrong' | 'expired' | 'invalid' | 'role'

export interface Audit {
  call(call: AuditedCall): void
  /** @param where the path, without its query. */
  refusedToken(reason: TokenRejection, peer: string | undefined, where: string): void
  /** The tokens were replaced by those of changed files. */
  replacedTokens(): void
}

/** For parts that run without a trail: `muster dev`, tests. */
export const NO_AUDIT: Audit = { call: () => {}, refusedToken: () => {}, replacedTokens: () => {} }

const FLUSH_EVERY_MS = 60_000
/** The classes of actions that are not `control`. */
const CLASSES: Readonly<Record<string, AuditClass>> = { 'task.submit': 'data', 'sign.in': 'auth', 'sign.renew': 'auth' }
// oxlint-disable-next-line no-control-regex -- Control characters are what it finds.
const CONTROLS = /[\u007f-\u009f\u2028\u2029]/g

export interface AuditDeps {
  readonly backend: Pick<Backend, 'audit'>
  readonly log: Log
  readonly clock: Clock
  readonly timers: Timers
  readonly metrics: Registry
}

export class AuditTrail implements Audit, Part {
  readonly routes = []
  readonly #deps: AuditDeps
  readonly #options: AuditOptions
  readonly #dropped: Counter
  readonly #recorder: AuditRecorder
  readonly #window = new RejectionThrottle<object>((entry, count) => this.#write({ ...entry, count }))
  #stop = (): void => {}

  constructor(deps: AuditDeps, options: AuditOptions) {
    this.#deps = deps
    this.#options = options
    this.#dropped = new Counter({
      name: 'svc_audit_dropped_total',
      help: 'Audit lines and entries of the audit log that could not be written.',
      registers: [deps.metrics],
    })
    this.#recorder = new AuditRecorder({ ...deps, onDropped: (entries) => this.#dropped.inc(entries) })
  }

  start(): void {
    this.#stop = this.#deps.timers.every(FLUSH_EVERY_MS, () => this.#window.flush())
  }

  async stop(): Promise<void> {
    this.#stop()
    this.#window.flush()
    await this.#recorder.stop()
  }

  call({ action, route, type, object, actor, claimedActor, requestId, peer, result }: AuditedCall): void {
    const kind = CLASSES[action] ?? 'control'
    if (!this.#options.classes.has(kind)) return
    const { outcome, status, count, changed } =
      result.kind === 'failed'
        ? { ...ended(result.error), count: 0, changed: [] }
        : { outcome: 'done' as const, ...result }
    const entry: Omit<RecordedCall, 'ts'> = {
      actor: actor === null ? null : actorEntry(actor),
      claimed_actor: cut(claimedActor ?? null, MAX_ACTOR_CHARS),
      action,
      route,
      type: cut(type, MAX_NAME_CHARS),
      object: cut(object, MAX_NAME_CHARS),
      outcome,
      status,
      count,
      changed: [...changed],
      request_id: requestId,
      peer,
    }
    if (kind === 'control') this.#recorder.add({ ts: toSeconds(this.#deps.clock.wallMs()), ...entry })
    if (outcome === 'refused') this.#window.add(JSON.stringify([actor?.id, action, status]), entry)
    else this.#write({ ...entry, ...noteOf(result) })
  }

  refusedToken(reason: TokenRejection, peer: string | undefined, where: string): void {
    if (!this.#options.classes.has('auth')) return
    this.#window.add(JSON.stringify([peer, reason]), {
      actor: null,
      claimed_actor: null,
      action: 'token.refused',
      route: cut(where, MAX_NAME_CHARS),
      type: null,
      object: null,
      outcome: 'refused',
      reason,
      changed: [],
      peer: peer ?? null,
    })
  }

  replacedTokens(): void {
    if (!this.#options.classes.has('auth')) return
    this.#write({
      actor: null,
      claimed_actor: null,
      action: 'tokens.replaced',
      type: null,
      object: null,
      outcome: 'done',
      count: 1,
      changed: [],
      peer: null,
    })
  }

  #write(entry: object): void {
    const line = JSON.stringify({ audit: 1, ts: new Date(this.#deps.clock.wallMs()).toISOString(), ...entry })
    if (!this.#options.write(line.replaceAll(CONTROLS, escaped))) this.#dropped.inc()
  }
}

function actorEntry({ id, role, jwt }: NonNullable<AuditedCall['actor']>): NonNullable<RecordedCall['actor']> {
  if (jwt === undefined) return { name: id, kind: 'token', roles: [role] }
  return { name: id, kind: 'jwt', issuer: jwt.issuer.name, roles: [role] }
}

function noteOf(result: AuditedCall['result']): { readonly note?: string } {
  const note = result.kind === 'done' ? (result.note ?? null) : null
  return note === null ? {} : { note: cut(note, MAX_NAME_CHARS) }
}

/** The `detail` of a failed call, as the client received it. */
function ended(error: unknown): { readonly outcome: AuditOutcome; readonly status: number } {
  if (!(error instanceof FleetError)) return { outcome: 'failed', status: 503 }
  const { status } = ERRORS[error.code]
  if (status < 500) return { outcome: 'refused', status }
  return { outcome: error.outcome === 'unknown' ? 'unknown' : 'failed', status }
}

function cut<T extends string | null>(text: T, chars: number): T {
  return (text === null ? null : text.slice(0, chars)) as T
}

const escaped = (char: string): string => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`
