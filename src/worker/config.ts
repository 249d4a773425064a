/**
 * @module worker/config
 * Polls the worker's config: on a `config_changed` frame, after a connect, and every 30 s.
 *
 *   poll ──304──▶ nothing   ──200──▶ newer? ──no──▶ nothing
 *     │                                └─yes─▶ valid? ──no──▶ the old one stays active, `last_error` has the reason
 *     └─404─▶ register again                     └─yes─▶ frozen, swapped whole (G16), applied
 *
 * A config is newer when its epoch differs (the master lost its state, D15), or when its generation is higher in the
 * same epoch. The worker polls a rejected config again every 30 s, and logs the rejection only once.
 *
 * Each poll names the generation and the digest of the applied config. If the store lost that config and used its
 * generation again, the master sees another digest and raises the generation (D46).
 */
import type { AppliedConfig, CatalogEntry } from '../automation/index.ts'
import { CONFIG_POLL_MS, RECONNECT_BASE_MS, RpcError, type FieldError } from '../protocol/index.ts'
import { Backoff, type Cancel, type Log, type Random, type Timers } from '../runtime/index.ts'
import type { MasterFeatures } from './master-features.ts'
import type { HttpResponse } from './rpc-client.ts'

/** A registration takes a moment to be stored, so a 404 within this time means "not yet stored". */
const YOUNG_MS = 10_000
const DIGEST_HEADER = 'muster-config-digest'

/** One version of the config. `epoch` is null for a master that sends none. */
interface Version {
  readonly epoch: string | null
  readonly gen: number
  /** What the master called the content. Null for a master that sends none. */
  readonly digest: string | null
}

export interface ConfigDeps {
  readonly timers: Timers
  readonly random: Random
  readonly log: Log
  readonly entry: CatalogEntry
  /** Sends GET for the config, with these headers. */
  readonly fetch: (headers: Readonly<Record<string, string>>) => Promise<HttpResponse>
  /** Milliseconds since the channel opened; 0 while it is closed. */
  readonly channelAgeMs: () => number
  readonly features: Pick<MasterFeatures, 'epoch' | 'has'>
  readonly registerAgain: (why: string) => void
  readonly onApplied: (config: AppliedConfig) => void
  /** Called after each successful poll: the master has a record of this worker. */
  readonly onKnown: () => void
  /** Called with null when the newest config is applied. */
  readonly onError: (message: string | null) => void
}

export class ConfigFollower {
  readonly #deps: ConfigDeps
  readonly #backoff: Backoff
  #current: AppliedConfig
  #applied: Version | null = null
  #refused: Pick<Version, 'epoch' | 'gen'> | null = null
  #polling = false
  #again = false
  #cancelNext: Cancel | undefined
  #ended = false

  constructor(deps: ConfigDeps) {
    this.#deps = deps
    this.#current = frozen(structuredClone(deps.entry.defaults))
    this.#backoff = new Backoff({ baseMs: RECONNECT_BASE_MS, capMs: CONFIG_POLL_MS, floor: 0.5, random: deps.random })
  }

  /** The newest applied config, or the automation's defaults before the first one. */
  get current(): AppliedConfig {
    return this.#current
  }

  /** Generation for the state frame; 0 before the first config, which is the generation of the defaults. */
  get appliedGen(): number {
    return this.#applied?.gen ?? 0
  }

  /** The generation of the newest config, while it is rejected; otherwise null. */
  get refusedGen(): number | null {
    return this.#refused?.gen ?? null
  }

  start(): void {
    // Random phase, so that the workers of a fleet do not poll simultaneously.
    this.#schedule(this.#deps.random.unit() * CONFIG_POLL_MS)
  }

  /**
   * Polls when the channel has opened, unless the applied config is of the epoch of the store: then the master compares
   * the generation in the state frame and sends `config_changed` if it is old (G6).
   * @param isRegistered Whether the master has confirmed that it stored `register`.
   */
  connected(isRegistered: boolean): void {
    const { features, onKnown } = this.#deps
    const isCurrent = this.#refused === null && this.#applied !== null && this.#applied.epoch === features.epoch
    if (isRegistered && features.has('epoch') && isCurrent) onKnown()
    else this.poll()
  }

  /** Polls immediately. A call during a poll causes exactly one more poll after it. */
  poll(): void {
    if (this.#ended) return
    this.#again = this.#polling
    if (this.#polling) return
    this.#polling = true
    this.#cancelNext?.()
    void this.#fetch().then((nextMs) => {
      this.#polling = false
      if (this.#again) this.poll()
      else this.#schedule(nextMs)
    })
  }

  stop(): void {
    this.#ended = true
    this.#cancelNext?.()
  }

  #schedule(ms: number): void {
    if (this.#ended) return
    this.#cancelNext?.()
    this.#cancelNext = this.#deps.timers.after(ms, () => this.poll())
  }

  /** Polls once; never rejects. @returns the milliseconds until the next poll. */
  async #fetch(): Promise<number> {
    try {
      return this.#take(await this.#deps.fetch(this.#marks()))
    } catch (error) {
      if (this.#ended) return CONFIG_POLL_MS // The request failed because the worker is stopping.
      const message =
        error instanceof RpcError ? error.message : `the config could not be read: ${(error as Error).message}`
      this.#deps.log.warn('failed to read the config, retrying', { error: message })
      return this.#backoff.nextMs()
    }
  }

  /** The headers that name the applied config. */
  #marks(): Record<string, string> {
    const { epoch, gen, digest } = this.#applied ?? { epoch: null, gen: 0, digest: null }
    if (epoch === null) return {}
    return { 'if-none-match': `"${epoch}.${gen}"`, ...(digest === null ? {} : { [DIGEST_HEADER]: digest }) }
  }

  #take(response: HttpResponse): number {
    if (this.#ended) return CONFIG_POLL_MS
    if (response.status === 404) return this.#unknown()
    if (response.status !== 200 && response.status !== 304)
      throw new Error(`the master returned HTTP ${response.status}`)
    if (response.status === 200) this.#consider(response)
    else this.#settled()
    this.#backoff.reset() // Only after a valid response: an unreadable one counts as a failure.
    this.#deps.onKnown()
    return CONFIG_POLL_MS
  }

  #unknown(): number {
    const ageMs = this.#deps.channelAgeMs()
    if (ageMs >= YOUNG_MS) this.#deps.registerAgain('the master has no record of this worker')
    return this.#backoff.nextMs()
  }

  #consider(response: HttpResponse): void {
    const body = JSON.parse(response.text) as { config?: unknown; config_gen?: unknown }
    const gen = body.config_gen
    if (typeof gen !== 'number' || !Number.isSafeInteger(gen)) throw new Error('the response has no config_gen')
    const digest = response.headers[DIGEST_HEADER]
    const version = { epoch: epochOf(response), gen, digest: typeof digest === 'string' ? digest : null }
    if (!this.#isNewer(version)) return this.#settled()
    const faults = this.#deps.entry.validateConfig(body.config)
    if (faults.length > 0) return this.#refuse(version, faults)
    this.#apply(version, body.config as AppliedConfig)
  }

  #isNewer({ epoch, gen }: Version): boolean {
    const applied = this.#applied
    if (applied === null) return true
    const otherEpoch = epoch !== null && applied.epoch !== null && epoch !== applied.epoch
    return otherEpoch || gen > applied.gen
  }

  #refuse({ epoch, gen }: Version, faults: readonly FieldError[]): void {
    if (this.#refused?.epoch === epoch && this.#refused.gen === gen) return
    this.#refused = { epoch, gen }
    const text = faults.map(({ path, message }) => `${path === '' ? 'the config' : path}: ${message}`).join('; ')
    this.#deps.log.error(
      'config rejected: it does not match the schema of this worker, so the previous config stays active; ' +
        'install the same automations in master and worker',
      { config_gen: gen, faults: text },
    )
    this.#deps.onError(`config ${gen} rejected: ${text}`)
  }

  #apply(version: Version, config: AppliedConfig): void {
    if (this.#applied !== null && version.gen <= this.#applied.gen)
      this.#deps.log.warn('the master lost its state: applying its config although the generation is not higher', {
        epoch: version.epoch,
      })
    this.#applied = version
    this.#current = frozen(config)
    this.#settled()
    this.#deps.log.info('config applied', {
      config_gen: version.gen,
      enabled: config.enabled,
      slots: config.slots,
    })
    this.#deps.onApplied(this.#current)
  }

  #settled(): void {
    this.#refused = null
    this.#deps.onError(null)
  }
}

/**
 * @returns the epoch from the ETag (the part before the last dot), or else from the `muster-epoch` header; null when
 * the master sends neither (D15, D47).
 */
function epochOf({ headers }: HttpResponse): string | null {
  const etag = headers['etag']
  const found = typeof etag === 'string' ? /^(?:W\/)?"(.+)\.\d+"$/.exec(etag)?.[1] : undefined
  const named = headers['muster-epoch']
  return found ?? (typeof named === 'string' ? named : null)
}

/** Freezes a JSON value at every depth. */
function frozen<T>(value: T): T {
  if (typeof value !== 'object' || value === null || Object.isFrozen(value)) return value
  for (const each of Object.values(value)) frozen<unknown>(each)
  return Object.freeze(value)
}
