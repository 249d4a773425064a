/**
 * @module storage/redis/health
 * Tracks the last known condition of the store, which is read without I/O. It logs each start and end of an outage
 * once, each further reason of an outage once, and settings that lose data every hour.
 */
import type { Clock, Log } from '../../runtime/index.ts'
import type { Health } from '../index.ts'
import type { Profile } from './checks.ts'

const TICKS_PER_HOUR = 3_600
/** Different reasons of one outage that are logged. */
const MAX_REASONS = 10

export interface HealthTrackerDeps {
  readonly time: Clock
  readonly log?: Log | undefined
  /** Where the store is, without user and password. */
  readonly where: string
}

export class HealthTracker {
  readonly #deps: HealthTrackerDeps
  #health: Health
  #profile: Profile = 'unknown'
  #warnings: readonly string[] = []
  #version = ''
  #ticks = 0
  /** Why the store is unavailable, as far as the log knows. */
  readonly #loggedReasons = new Set<string>()

  constructor(deps: HealthTrackerDeps) {
    this.#deps = deps
    this.#health = { ok: false, profile: 'unknown', sinceMs: Math.floor(deps.time.wallMs()), detail: 'not open' }
  }

  get health(): Health {
    return this.#health
  }

  /** What the settings of the store promise, as just read. */
  profiled(profile: Profile, warnings: readonly string[], version: string): void {
    const { log, where } = this.#deps
    const isNews = profile !== this.#profile || version !== this.#version || warnings.join() !== this.#warnings.join()
    this.#profile = profile
    this.#warnings = warnings
    this.#version = version
    if (!isNews) return
    log?.info(`the store is ${where}`, { version, profile })
    for (const warning of warnings) log?.warn(`the store: ${warning}`)
    if (this.#health.ok) this.#set(null)
  }

  /** @param trouble why it does not serve; null: it does. */
  note(trouble: string | null): void {
    const { log } = this.#deps
    if (trouble === null && !this.#health.ok) log?.info('the store is available')
    if (trouble === null) this.#loggedReasons.clear()
    else this.#tell(trouble)
    if ((trouble === null) !== this.#health.ok || trouble !== null) this.#set(trouble)
  }

  closed(): void {
    this.#loggedReasons.clear()
    this.#set('not open')
  }

  /** Once a second. */
  tick(): void {
    this.#ticks += 1
    if (this.#ticks % TICKS_PER_HOUR === 0 && this.#profile === 'unsafe')
      for (const warning of this.#warnings) this.#deps.log?.warn(`the store: ${warning}`)
  }

  /**
   * The first reason is seldom the one that helps: a connection breaks, and only the next one is refused for its
   * password.
   */
  #tell(trouble: string): void {
    const isFirst = this.#health.ok
    if (
      (!isFirst && this.#loggedReasons.size === 0) ||
      this.#loggedReasons.has(trouble) ||
      this.#loggedReasons.size >= MAX_REASONS
    )
      return // Before the first opening the caller reports the reason.
    this.#loggedReasons.add(trouble)
    this.#deps.log?.error(
      isFirst
        ? 'the store is unavailable; calls wait for up to 1.5 s, then they are rejected'
        : 'the store is still unavailable',
      { reason: trouble },
    )
  }

  #set(trouble: string | null): void {
    const ok = trouble === null
    const since = ok === this.#health.ok ? this.#health.sinceMs : Math.floor(this.#deps.time.wallMs())
    this.#health = {
      ok,
      profile: this.#profile,
      sinceMs: since,
      detail: trouble ?? [`${this.#deps.where}, version ${this.#version}`, ...this.#warnings].join('; '),
    }
  }
}
