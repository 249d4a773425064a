/**
 * @module master/alerts/alert-tracker
 * Decides when alerts fire and when they are resolved. An alert fires when its problem has lasted for a while, and is
 * resolved when the problem has been gone for as long, so that a problem that comes and goes is one alert.
 *
 *   problem   ──███─█████████████──██████────────────────
 *   alert            fires ████████████████████ resolved
 *
 * The stored alerts are the state: a new leader resolves what an earlier one fired.
 */
import { keyOf, type Problem } from '../../diagnosis/index.ts'
import { toSeconds } from '../../protocol/index.ts'
import { truncateError } from '../../runtime/index.ts'
import { idOf, type StoredAlert } from './stored-alert.ts'

const MAX_TEXT_CHARS = 512
/** The text of a firing alert follows its problem at most this often. */
const UPDATED_EVERY_SECONDS = 30
const KEPT_SECONDS = 86_400
/** Resolved alerts of a type that are kept, beside those whose end was not sent yet. */
const MAX_KEPT = 20
/** Tasks may die minutes apart of one cause. */
const DEAD_RESOLVES_LATER = 10

export interface AlertChanges {
  /** New and changed alerts. */
  readonly changed: readonly StoredAlert[]
  /** Alerts that were resolved long ago. */
  readonly expired: readonly StoredAlert[]
}

export class AlertTracker {
  readonly #afterMs: number
  /** When a problem was first seen without a firing alert, by key. */
  readonly #seenAtMs = new Map<string, number>()
  /** Since when the problem of a firing alert is gone, by id. */
  readonly #goneAtMs = new Map<string, number>()

  /** @param afterMs How long a problem lasts before it fires, and is gone before it is resolved; 0 or more. */
  constructor(afterMs: number) {
    this.#afterMs = afterMs
  }

  /** @param stored All stored alerts. @param nowMs The wall clock. */
  update(stored: readonly StoredAlert[], problems: readonly Problem[], nowMs: number): AlertChanges {
    const open = new Map(problems.map((problem) => [keyOf(problem), problem]))
    const firing = stored.filter((alert) => alert.resolved_at === null)
    const first = new Map(firing.toSorted((a, b) => b.fired_at - a.fired_at).map((alert) => [keyOf(alert), alert]))
    const changed = firing.flatMap((alert) => {
      const isRepeated = first.get(keyOf(alert)) !== alert // Two leaders in succession have fired it.
      return this.#next(alert, isRepeated ? undefined : open.get(keyOf(alert)), nowMs) ?? []
    })
    const fired = problems.flatMap((problem) => (first.has(keyOf(problem)) ? [] : (this.#fire(problem, nowMs) ?? [])))
    for (const key of this.#seenAtMs.keys()) if (!open.has(key) || first.has(key)) this.#seenAtMs.delete(key)
    const ids = new Set(firing.map(({ id }) => id))
    for (const id of this.#goneAtMs.keys()) if (!ids.has(id)) this.#goneAtMs.delete(id)
    return { changed: [...changed, ...fired], expired: expiredOf(stored, toSeconds(nowMs)) }
  }

  /** @returns undefined as long as the problem has not lasted. */
  #fire(problem: Problem, nowMs: number): StoredAlert | undefined {
    const { type, item, kind, since } = problem
    const key = keyOf(problem)
    const seenAtMs = this.#seenAtMs.get(key) ?? nowMs
    this.#seenAtMs.set(key, seenAtMs)
    if (nowMs - seenAtMs < this.#afterMs) return undefined
    this.#seenAtMs.delete(key)
    return {
      id: idOf(type, item, nowMs),
      type,
      kind,
      item,
      ...shownOf(problem),
      since: since ?? toSeconds(seenAtMs),
      fired_at: toSeconds(nowMs),
      resolved_at: null,
      sent: null,
      updated_at: toSeconds(nowMs),
    }
  }

  /** @returns undefined if the alert does not change. */
  #next(alert: StoredAlert, problem: Problem | undefined, nowMs: number): StoredAlert | undefined {
    const nowSeconds = toSeconds(nowMs)
    if (problem === undefined) {
      const goneAtMs = this.#goneAtMs.get(alert.id) ?? nowMs
      this.#goneAtMs.set(alert.id, goneAtMs)
      const holdMs = alert.kind === 'dead' ? DEAD_RESOLVES_LATER * this.#afterMs : this.#afterMs
      return nowMs - goneAtMs < holdMs ? undefined : { ...alert, resolved_at: nowSeconds, updated_at: nowSeconds }
    }
    this.#goneAtMs.delete(alert.id)
    const shown = shownOf(problem)
    const isSame = Object.entries(shown).every(([name, value]) => alert[name as keyof typeof shown] === value)
    if (isSame || nowSeconds - alert.updated_at < UPDATED_EVERY_SECONDS) return undefined
    return { ...alert, ...shown, updated_at: nowSeconds }
  }
}

/** The part of an alert that follows its problem. */
function shownOf({ tone, subject, text, rate, count, mark }: Problem) {
  return {
    severity: tone === 'bad' ? ('critical' as const) : ('warning' as const),
    subject,
    text: truncateError(rate === null ? text : `${text}; ${rate}`, MAX_TEXT_CHARS),
    count,
    mark,
  }
}

function expiredOf(stored: readonly StoredAlert[], nowSeconds: number): readonly StoredAlert[] {
  const kept = new Map<string, number>()
  return stored
    .filter(({ resolved_at: at }) => at !== null)
    .toSorted((a, b) => (b.resolved_at ?? 0) - (a.resolved_at ?? 0))
    .filter(({ type, sent, resolved_at: at }) => {
      const place = (kept.get(type) ?? 0) + 1
      kept.set(type, place)
      return (place > MAX_KEPT && sent !== 'firing') || nowSeconds - (at ?? 0) > KEPT_SECONDS
    })
}
