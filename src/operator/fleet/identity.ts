/**
 * @module operator/fleet/identity
 * Reads the rights of the token, and detects an invalid token. An invalid token and a missing right are both a 403, so
 * a refusal is followed by one `GET /me`, at most one in 10 s:
 *
 *   /me succeeds ──▶ the type is not covered; report the 403
 *   /me is refused too ──▶ try the other token of a rotation, once ──success──▶ repeat the call
 *                                └──refused──▶ the breaker opens as Unauthorized
 *
 * An admin token lacks no right. If one master refuses it and `/me` of another does not, the masters have read the new
 * token of a rotation at different times. The call is then repeated after 10 s and not reported as a missing right.
 */
import { MasterError, type MasterClient } from '../../client/index.ts'
import type { MeBody } from '../../protocol/index.ts'
import type { Clock } from '../../runtime/index.ts'
import type { Breaker } from './breaker.ts'
import type { MasterCall, ForbiddenAction, Sent } from './calls.ts'
import type { Tokens } from './tokens.ts'

const READ_EVERY_MS = 10_000
/** Interval of retrying a refused token whose file has not changed. */
const SHOW_AGAIN_MS = 60_000

export interface IdentityDeps {
  readonly clock: Clock
  readonly client: MasterClient
  readonly tokens: Tokens
  readonly breaker: Breaker
  readonly once: (call: MasterCall<MeBody>, signal: AbortSignal) => Promise<{ readonly body: MeBody } | MasterError>
  /** The rights have changed. */
  readonly onRights: () => void
}

type RightsResult = 'known' | 'refused' | 'unclear'

export class Identity {
  readonly #deps: IdentityDeps
  #rights: string | undefined
  #types: ReadonlySet<string> = new Set()
  #isAdmin = false
  #readAtMs = -Infinity
  #readWith = ''
  /** The token of the file when every token was refused. */
  #refused = ''
  #reading: Promise<RightsResult> | undefined

  constructor(deps: IdentityDeps) {
    this.#deps = deps
  }

  /** `*`: all. `undefined`: not known yet. */
  get types(): ReadonlySet<string> | undefined {
    return this.#rights === undefined ? undefined : this.#types
  }

  /** @returns `undefined` if the rights are not known yet. */
  covers(type: string): boolean | undefined {
    return this.#rights === undefined ? undefined : this.#types.has('*') || this.#types.has(type)
  }

  /** Reads the rights with one token or the other, unless it is known that the master is unreachable. */
  async readRights(signal: AbortSignal): Promise<RightsResult> {
    const { reason } = this.#deps.breaker
    if (reason !== null) return reason === 'Unauthorized' ? 'refused' : 'unclear'
    return this.#readShared(signal)
  }

  /** Decides what to do after a 403. */
  async onForbidden({ sentMs, token }: Sent, signal: AbortSignal): Promise<ForbiddenAction> {
    const { clock, tokens } = this.#deps
    if (token !== tokens.current()) return { kind: 'repeat' }
    const isRead = this.#readWith === token && this.#reading === undefined
    const waitMs = this.#readAtMs + READ_EVERY_MS - clock.monotonicMs()
    if (isRead && this.#readAtMs <= sentMs && waitMs > 0)
      return { kind: 'throttled', effect: 'not_sent', retryAfterMs: waitMs }
    const rights = isRead && this.#readAtMs > sentMs ? 'known' : await this.readRights(signal)
    if (rights === 'known' && token !== tokens.current()) return { kind: 'repeat' }
    if (rights === 'known')
      return this.#isAdmin
        ? { kind: 'throttled', effect: 'not_sent', retryAfterMs: READ_EVERY_MS }
        : { kind: 'confirmed' }
    return {
      kind: 'unavailable',
      effect: 'not_sent',
      message: rights === 'refused' ? 'the master rejects the token' : 'the master is unavailable',
    }
  }

  /** Retries while every token is refused. @returns true once this token, or another one in its file, is accepted. */
  async recovered(signal: AbortSignal): Promise<boolean> {
    const { clock, tokens } = this.#deps
    if (tokens.current() === this.#refused && clock.monotonicMs() - this.#readAtMs < SHOW_AGAIN_MS) return false
    return (await this.#readShared(signal)) === 'known'
  }

  /** Concurrent callers share one response. */
  #readShared(signal: AbortSignal): Promise<RightsResult> {
    this.#reading ??= this.#readWithEither(signal).finally(() => (this.#reading = undefined))
    return this.#reading
  }

  async #readWithEither(signal: AbortSignal): Promise<RightsResult> {
    const { tokens, breaker } = this.#deps
    const first = await this.#readOnce(signal)
    if (first !== 'refused') return first
    if (tokens.change()) {
      const second = await this.#readOnce(signal)
      if (second !== 'refused') return second
      tokens.change()
    }
    this.#refused = tokens.current()
    breaker.open('Unauthorized')
    return 'refused'
  }

  async #readOnce(signal: AbortSignal): Promise<RightsResult> {
    const { client, clock, once, tokens } = this.#deps
    this.#readWith = tokens.current()
    const response = await once({ method: 'GET', send: (either) => client.me({ signal: either }) }, signal)
    this.#readAtMs = clock.monotonicMs()
    if (response instanceof MasterError)
      return response.code === 'FORBIDDEN' || response.code === 'UNAUTHENTICATED' ? 'refused' : 'unclear'
    this.#learn(response.body)
    return 'known'
  }

  #learn({ role, automations }: MeBody): void {
    this.#isAdmin = role === 'admin'
    // A worker token may call none of the routes that the operator uses.
    const types = role === 'worker' || role === 'scaler' ? [] : automations
    const rights = JSON.stringify(types.toSorted())
    if (rights === this.#rights) return
    this.#rights = rights
    this.#types = new Set(types)
    this.#deps.onRights()
  }
}
