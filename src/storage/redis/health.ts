/**
 * @module storage/redis/health
 * The last known condition of the store, in words: kept by the connection, read without I/O. It says once when the store
 * goes and comes, and once an hour when its settings keep nothing safe.
 */
import type { Clock, Log } from '../../runtime/index.ts'
import type { Health } from '../index.ts'
import type { Profile } from './checks.ts'

const TICKS_PER_HOUR = 3_600

export interface HealthOptions {
  readonly time: Clock
  readonly log?: Log | undefined
  /** Where the store is, without user and password. */
  readonly where: string
}

export class HealthBook {
  readonly #options: HealthOptions
  #health: Health
  #profile: Profile = 'unknown'
  #warnings: readonly string[] = []
  #version = ''
  #ticks = 0

  constructor(options: HealthOptions) {
    this.#options = options
    this.#health = { ok: false, profile: 'unknown', since: Math.floor(options.time.wallMs()), detail: 'not open' }
  }

  get health(): Health {
    return this.#health
  }

  /** What the settings of the store promise, as just read. */
  profiled(profile: Profile, warnings: readonly string[], version: string): void {
    const { log, where } = this.#options
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
    const { log } = this.#options
    if (trouble === null && !this.#health.ok) log?.info('the store serves')
    if (trouble !== null && this.#health.ok) log?.error('the store is away; calls wait a moment, then are refused', { reason: trouble })
    if ((trouble === null) !== this.#health.ok || trouble !== null) this.#set(trouble)
  }

  closed(): void {
    this.#set('not open')
  }

  /** Once a second. */
  tick(): void {
    this.#ticks += 1
    if (this.#ticks % TICKS_PER_HOUR === 0 && this.#profile === 'unsafe') for (const warning of this.#warnings) this.#options.log?.warn(`the store: ${warning}`)
  }

  #set(trouble: string | null): void {
    const ok = trouble === null
    const since = ok === this.#health.ok ? this.#health.since : Math.floor(this.#options.time.wallMs())
    this.#health = { ok, profile: this.#profile, since, detail: trouble ?? [`${this.#options.where}, version ${this.#version}`, ...this.#warnings].join('; ') }
  }
}
