/**
 * @module operator/fleetworkerset/rollout-reports
 * Keeps the reports of rollouts at the master as the reconciles say. A reconcile only offers what it has found; a loop
 * of its own sends it, so a slow or failing call never delays a rollout.
 *
 *   reconcile ──offer──▶ newest offer of the set ──▶ compared with the report at the master ──▶ PUT, DELETE or nothing
 *                                                                  ▲
 *                              listed once per term and type, then what was sent
 *
 * News (another revision, attempt, phase, stage, pause or verdict) is sent immediately. Other differences are sent at
 * most every 10 s while the rollout runs, and an equal report every 60 s, which shows that an operator runs. Of a
 * rollout that has ended nothing is sent any more. Reports of sets that no longer exist are removed when a term begins,
 * and every 10 minutes. A master of an earlier release has no reports, and is asked again after 10 minutes.
 * @see D148
 */
import { isDeepStrictEqual } from 'node:util'
import type { RolloutBody } from '../../protocol/index.ts'
import { Signal, type Clock, type Log, type Timers } from '../../runtime/index.ts'
import { isOrphaned, type CallRefusal, type ReportWriter } from '../fleet/index.ts'
import { bodyOf, newsOf } from './report.ts'
import { isOver, reportAfter, type ReportOffer } from './report-offer.ts'

const COUNTS_MS = 10_000
const ALIVE_MS = 60_000
const PERIOD_MS = 10 * 60_000
const RETRY_MS = 2_000
const ACTOR = 'kubernetes:muster-operator'

/** Which report an offer is about. */
export interface ReportKey {
  readonly type: string
  readonly name: string
  /** The claim of the set. */
  readonly claim: string
}

export interface RolloutReportsDeps {
  readonly clock: Clock
  readonly timers: Timers
  readonly log: Log
  readonly reports: ReportWriter
  /** Every type that the master offers; `undefined` if it is unavailable. */
  readonly offered: (signal: AbortSignal) => Promise<readonly string[] | undefined>
  readonly isLiveClaim: (claim: string) => boolean
  readonly watches: (namespace: string) => boolean
}

interface Entry extends ReportKey {
  /** Absent: the set was not looked at in this term. */
  offer?: ReportOffer
  /** The report at the master; absent: none. */
  known?: RolloutBody
  /** When it was sent or listed, and when the next call may be sent after one that failed. */
  sentMs: number
  blockedUntilMs: number
  hasWarned: boolean
}

export class RolloutReports {
  readonly #deps: RolloutReportsDeps
  readonly #changed: Signal
  readonly #entries = new Map<string, Entry>()
  /** When the reports of each type are to be listed. */
  readonly #listAtMs = new Map<string, number>()
  /** Types whose reports are known. */
  readonly #listed = new Set<string>()
  #typesAtMs = -Infinity
  #hasNews = false

  constructor(deps: RolloutReportsDeps) {
    this.#deps = deps
    this.#changed = new Signal(deps.timers)
  }

  /** Replaces the last offer of a set. Cheap, and sends nothing itself. */
  offer(key: ReportKey, offer: ReportOffer): void {
    const entry = this.#entryOf(key)
    entry.offer = offer
    if (this.#listed.has(key.type) && this.#dueMs(entry) === Infinity) return // Most sets have no rollout.
    this.#hasNews = true
    this.#changed.notify()
  }

  /** The master has lost state, maybe also reports. */
  forget(): void {
    this.#listed.clear()
    this.#listAtMs.clear()
    this.#hasNews = true
    this.#changed.notify()
  }

  /** Resolves when the signal aborts. */
  async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      this.#hasNews = false
      const waitMs = await this.#round(signal).catch((error: unknown) => {
        if (!signal.aborted) this.#deps.log.error('writing the reports of rollouts failed, retrying', { error })
        return RETRY_MS
      })
      if (!this.#hasNews) await this.#changed.wait(signal, waitMs)
    }
  }

  /** @returns when the next call is due, in milliseconds. */
  async #round(signal: AbortSignal): Promise<number> {
    const nowMs = this.#deps.clock.monotonicMs()
    if (nowMs >= this.#typesAtMs) {
      const types = await this.#deps.offered(signal)
      this.#typesAtMs = nowMs + (types === undefined ? RETRY_MS : PERIOD_MS)
      for (const type of types ?? []) this.#listAtMs.set(type, nowMs)
    }
    for (const { type } of this.#entries.values()) if (!this.#listAtMs.has(type)) this.#listAtMs.set(type, nowMs)
    for (const [type, atMs] of this.#listAtMs) if (nowMs >= atMs) await this.#list(type, signal)
    for (const entry of this.#entries.values()) if (this.#listed.has(entry.type)) await this.#send(entry, signal)
    return this.#nextMs()
  }

  #entryOf(key: ReportKey): Entry {
    const known = this.#entries.get(key.name)
    if (known !== undefined) return known
    const entry: Entry = { ...key, sentMs: -Infinity, blockedUntilMs: -Infinity, hasWarned: false }
    this.#entries.set(key.name, entry)
    return entry
  }

  async #list(type: string, signal: AbortSignal): Promise<void> {
    const { clock, isLiveClaim, log, reports, watches } = this.#deps
    const response = await reports.list(type, signal)
    const nowMs = clock.monotonicMs()
    if (response.kind !== 'ok') {
      this.#listed.delete(type)
      this.#listAtMs.set(type, nowMs + retryMs(response))
      return
    }
    this.#listAtMs.set(type, Infinity)
    this.#listed.add(type)
    for (const entry of this.#entries.values()) if (entry.type === type) delete entry.known
    for (const shown of response.value) {
      const { managed_by: claim, rollout: name } = shown
      if (claim === null) continue
      if (!this.#entries.has(name) && isOrphaned(claim, { isLive: isLiveClaim, watches })) {
        const removed = await reports.remove(type, name, ACTOR, signal)
        if (removed.kind === 'ok') log.info('deleted the report of a set that no longer exists', { type, claim })
        continue
      }
      const entry = this.#entryOf({ type, name, claim })
      entry.known = bodyOf(shown)
      entry.sentMs = nowMs
    }
  }

  async #send(entry: Entry, signal: AbortSignal): Promise<void> {
    const { clock, reports } = this.#deps
    const { claim, known, name, offer, type } = entry
    if (offer === undefined || clock.monotonicMs() < this.#dueMs(entry)) return
    const wanted = reportAfter(offer, known)
    if (wanted === 'keep') {
      if (offer.kind === 'deleted') this.#entries.delete(name)
      return
    }
    const response =
      wanted === 'remove'
        ? await reports.remove(type, name, claim, signal)
        : await reports.put(type, name, wanted, claim, signal)
    if (response.kind === 'ok' || (wanted === 'remove' && response.kind === 'not_registered')) {
      if (wanted === 'remove') delete entry.known
      else entry.known = wanted
      entry.sentMs = clock.monotonicMs()
      entry.hasWarned = false
    } else this.#failed(entry, response)
  }

  /** When the offer of an entry is to be sent; `Infinity`: the report says so already. */
  #dueMs({ blockedUntilMs, known, offer, sentMs }: Entry): number {
    if (offer === undefined) return Infinity
    const wanted = reportAfter(offer, known)
    if (wanted === 'keep') return offer.kind === 'deleted' ? blockedUntilMs : Infinity
    if (wanted === 'remove' || known === undefined || newsOf(wanted) !== newsOf(known)) return blockedUntilMs
    if (isOver(wanted.phase)) return Infinity
    return Math.max(blockedUntilMs, sentMs + (isDeepStrictEqual(wanted, known) ? ALIVE_MS : COUNTS_MS))
  }

  #failed(entry: Entry, refusal: CallRefusal): void {
    const { clock, log } = this.#deps
    entry.blockedUntilMs = clock.monotonicMs() + retryMs(refusal)
    if (refusal.kind !== 'rejected' && refusal.kind !== 'too_large' && refusal.kind !== 'bug') return
    if (!entry.hasWarned)
      log.warn('the master refuses the report of a rollout; the rollout is not affected', {
        claim: entry.claim,
        refused: refusal.message,
      })
    entry.hasWarned = true
  }

  #nextMs(): number {
    const dueMs = [...this.#entries.values()]
      .filter(({ type }) => this.#listed.has(type))
      .map((entry) => this.#dueMs(entry))
    return Math.min(this.#typesAtMs, ...this.#listAtMs.values(), ...dueMs) - this.#deps.clock.monotonicMs()
  }
}

/** A master without the route, a report that it refuses, or a missing right changes only by an upgrade or an edit. */
function retryMs(refusal: CallRefusal): number {
  switch (refusal.kind) {
    case 'not_registered':
    case 'unknown_type':
    case 'forbidden':
    case 'rejected':
    case 'too_large':
    case 'bug':
      return PERIOD_MS
    case 'throttled':
      return Math.max(RETRY_MS, refusal.retryAfterMs)
    case 'stale':
    case 'unavailable':
    case 'not_leading':
      return RETRY_MS
  }
}
