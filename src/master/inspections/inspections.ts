/**
 * @module master/inspections/inspections
 * Limits what inspections cost (D82): the routes that read queues, dead letters, streams, histories, statistics and
 * lists of workers, whose responses may have 32 MiB. Few run simultaneously, and each reads the store in pieces of
 * 1 MiB. Bytes per second and unsent bytes are limited, per token and in total.
 *
 *   respond ──▶ waits for a place ──▶ reads pieces within the byte rate ──▶ sends them ──▶ releases the bytes
 *                  │ too many wait: 503     │ client disconnected, deadline reached: stops reading
 */
import { Counter, Gauge } from 'prom-client'
import { FleetError, INSPECTIONS, MAX_RESPONSE_BYTES } from '../../protocol/index.ts'
import { TokenBucket, type Clock, type Timers } from '../../runtime/index.ts'
import type { MasterDeps } from '../deps.ts'
import type { HandlerResult, RouteRequest } from '../http/index.ts'
import { InspectionBody } from './inspection-body.ts'

const RATE = { capacity: INSPECTIONS.burstBytes, perSecond: INSPECTIONS.bytesPerSecond }
const RATE_PER_TOKEN = {
  capacity: INSPECTIONS.burstBytesPerToken,
  perSecond: INSPECTIONS.bytesPerSecondPerToken,
}

interface Caller extends Pick<RouteRequest, 'signal'> {
  readonly principal: Pick<RouteRequest['principal'], 'key'>
}

/** What one token uses. `bytes` are reserved or read, and not sent yet. */
interface Usage {
  /** Of bytes that were read. They are counted after the read, so the bucket may go into debt. */
  readonly rate: TokenBucket
  running: number
  waiting: number
  bytes: number
}
interface Waiter {
  readonly usage: Usage
  readonly start: () => void
}

export class Inspections {
  readonly #clock: Clock
  readonly #timers: Timers
  readonly #byToken = new Map<string, Usage>()
  readonly #all: Usage
  readonly #refused: Counter
  #waiters: Waiter[] = []

  constructor({ clock, timers, metrics }: Pick<MasterDeps, 'clock' | 'timers' | 'metrics'>) {
    this.#clock = clock
    this.#timers = timers
    const all = {
      rate: new TokenBucket(clock, RATE),
      running: 0,
      waiting: 0,
      bytes: 0,
    }
    this.#all = all
    const registers = [metrics]
    this.#refused = new Counter({
      name: 'svc_inspections_refused_total',
      help: 'Inspections refused because too many of the token, or of all tokens, were waiting.',
      labelNames: ['scope'],
      registers,
    })
    void new Gauge({
      name: 'svc_inspection_bytes',
      help: 'Bytes of inspections that are reserved or read, and not yet sent.',
      registers,
      collect() {
        this.set(all.bytes)
      },
    })
  }

  /**
   * Runs `read` and returns the response that it wrote.
   * @throws {FleetError} OVERLOADED if too many inspections are waiting.
   * @throws the reason of the signal if the client has disconnected.
   */
  async respond({ principal, signal }: Caller, read: (out: InspectionBody) => Promise<void>): Promise<HandlerResult> {
    const usage = this.#usageOf(principal.key)
    await this.#enter(usage, signal)
    const out = new InspectionBody((bytes) => this.#pace(usage, signal, bytes))
    try {
      await read(out)
    } catch (error) {
      this.#exit(usage, 0)
      throw error
    }
    this.#spend(usage, out.unpaced)
    const { body, bytes } = out.body((sent) => this.#release(usage, sent))
    this.#exit(usage, bytes)
    return { body }
  }

  /** Reads one piece of a response that is sent while it is read. @param bytesOf The size of what was read. */
  async piece<T>({ principal, signal }: Caller, read: () => Promise<T>, bytesOf: (value: T) => number): Promise<T> {
    const usage = this.#usageOf(principal.key)
    await this.#enter(usage, signal)
    try {
      await this.#pace(usage, signal, 0)
      const value = await read()
      this.#spend(usage, bytesOf(value))
      return value
    } finally {
      this.#exit(usage, 0)
    }
  }

  #usageOf(key: string): Usage {
    const known = this.#byToken.get(key)
    if (known !== undefined) return known
    for (const [other, { rate, running, waiting, bytes }] of this.#byToken) {
      if (running + waiting + bytes === 0 && rate.isFull) this.#byToken.delete(other)
    }
    const made = {
      rate: new TokenBucket(this.#clock, RATE_PER_TOKEN),
      running: 0,
      waiting: 0,
      bytes: 0,
    }
    this.#byToken.set(key, made)
    return made
  }

  /** Takes a place and reserves the bytes of the largest possible response. */
  async #enter(usage: Usage, signal: AbortSignal): Promise<void> {
    signal.throwIfAborted()
    if (!this.#mayStart(usage)) await this.#wait(usage, signal)
    else this.#start(usage)
  }

  #mayStart(usage: Usage): boolean {
    const { runningPerToken, running, bytesPerToken, bytes } = INSPECTIONS
    if (usage.running >= runningPerToken || this.#all.running >= running) return false
    return usage.bytes + MAX_RESPONSE_BYTES <= bytesPerToken && this.#all.bytes + MAX_RESPONSE_BYTES <= bytes
  }

  #start(usage: Usage): void {
    for (const each of [usage, this.#all]) {
      each.running += 1
      each.bytes += MAX_RESPONSE_BYTES
    }
  }

  /** @returns whose queue of waiting inspections is full; null when this one may wait. */
  #fullQueue(usage: Usage): 'token' | 'all' | null {
    if (usage.waiting >= INSPECTIONS.waitingPerToken) return 'token'
    return this.#waiters.length >= INSPECTIONS.waiting ? 'all' : null
  }

  #wait(usage: Usage, signal: AbortSignal): Promise<void> {
    const scope = this.#fullQueue(usage)
    if (scope !== null) {
      this.#refused.inc({ scope })
      throw new FleetError(
        'OVERLOADED',
        'too many inspections are waiting; request fewer entries, or try again in a second',
        { retryAfterSeconds: 1 },
      )
    }
    usage.waiting += 1
    return new Promise((resolve, reject) => {
      const end = (): void => {
        usage.waiting -= 1
        this.#waiters = this.#waiters.filter((each) => each !== waiter)
        signal.removeEventListener('abort', giveUp)
      }
      const giveUp = (): void => {
        end()
        reject(signal.reason as Error)
      }
      const waiter: Waiter = {
        usage,
        start: () => {
          end()
          this.#start(usage)
          resolve()
        },
      }
      this.#waiters.push(waiter)
      signal.addEventListener('abort', giveUp, { once: true })
    })
  }

  /** Ends the read. `bytes` of the response stay reserved until they are sent. */
  #exit(usage: Usage, bytes: number): void {
    for (const each of [usage, this.#all]) {
      each.running -= 1
      each.bytes -= MAX_RESPONSE_BYTES - bytes
    }
    this.#admit()
  }

  /** Admits waiting inspections in order, and skips those whose token uses its share already. */
  #admit(): void {
    for (const { usage, start } of this.#waiters) if (this.#mayStart(usage)) start()
  }

  #spend(usage: Usage, bytes: number): void {
    for (const { rate } of [usage, this.#all]) rate.spend(bytes)
  }

  /** Counts bytes that were read, then waits until the next piece may be read. */
  async #pace(usage: Usage, signal: AbortSignal, bytes: number): Promise<void> {
    this.#spend(usage, bytes)
    for (;;) {
      signal.throwIfAborted()
      const waitMs = Math.max(usage.rate.waitMs(0), this.#all.rate.waitMs(0))
      if (waitMs === 0) return
      await this.#timers.sleep(waitMs, signal)
    }
  }

  #release(usage: Usage, bytes: number): void {
    for (const each of [usage, this.#all]) each.bytes -= bytes
    this.#admit()
  }
}
