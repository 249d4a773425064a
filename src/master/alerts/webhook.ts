/**
 * @module master/alerts/webhook
 * Sends alerts to the configured webhook, one request at a time. What is to be sent follows from the stored alerts, so
 * nothing queues up while the receiver is down: then it gets what fires, and the end of what it knows (D204).
 *
 * A request goes to the configured URL alone: redirects are failures. After a failure, the next request follows after
 * 2 s to 5 min (exponential backoff).
 */
import { Counter } from 'prom-client'
import { Backoff, createHttpPool, LogThrottle, type HttpPool } from '../../runtime/index.ts'
import { toSeconds } from '../../protocol/index.ts'
import type { MasterDeps, WebhookSettings } from '../deps.ts'
import { signatureOf, webhookBody, type Notification } from './webhook-body.ts'

const TIMEOUT_MS = 10_000
const CONNECT_MS = 5_000
const BACKOFF = { baseMs: 2_000, capMs: 300_000, floor: 0.5 }
/** Alerts in one request. */
const MAX_BATCH = 100
const MAX_RESPONSE_BYTES = 65_536

export interface WebhookDeps extends Pick<MasterDeps, 'clock' | 'timers' | 'random' | 'log' | 'metrics' | 'settings'> {
  readonly isLeader: () => boolean
  /** What is to be sent, oldest first. */
  readonly pending: () => Promise<readonly Notification[]>
  readonly onSent: (sent: readonly Notification[]) => Promise<void>
}

export class Webhook {
  readonly #deps: WebhookDeps
  readonly #settings: WebhookSettings
  readonly #pool: HttpPool
  readonly #backoff: Backoff
  readonly #logThrottle: LogThrottle
  readonly #requests: Counter<'result'>
  readonly #ending = new AbortController()
  #isSending = false
  #sending: Promise<void> = Promise.resolve()
  #cancelRetry: (() => void) | null = null

  constructor(deps: WebhookDeps, settings: WebhookSettings) {
    this.#deps = deps
    this.#settings = settings
    this.#pool = createHttpPool(settings.url.origin, {
      connections: 1,
      connectMs: CONNECT_MS,
      maxResponseBytes: MAX_RESPONSE_BYTES,
    })
    this.#backoff = new Backoff({ ...BACKOFF, random: deps.random })
    this.#logThrottle = new LogThrottle(deps.clock)
    this.#requests = new Counter({
      name: 'svc_alert_webhook_requests_total',
      help: 'Requests to the webhook of alerts, by result: delivered or failed.',
      labelNames: ['result'],
      registers: [deps.metrics],
    })
    for (const result of ['delivered', 'failed']) this.#requests.inc({ result }, 0)
  }

  /** Sends what is pending, unless a request is under way or a retry is scheduled. */
  flush(): void {
    if (this.#isSending || this.#cancelRetry !== null || this.#ending.signal.aborted) return
    this.#isSending = true
    this.#sending = this.#sendAll().finally(() => (this.#isSending = false))
  }

  async stop(): Promise<void> {
    this.#ending.abort(new Error('the master is stopping'))
    this.#cancelRetry?.()
    await this.#sending
    await this.#pool.destroy()
  }

  async #sendAll(): Promise<void> {
    try {
      while (this.#deps.isLeader() && !this.#ending.signal.aborted) {
        const batch = (await this.#deps.pending()).slice(0, MAX_BATCH)
        if (batch.length === 0) break
        await this.#post(batch)
        await this.#deps.onSent(batch)
      }
      this.#backoff.reset()
    } catch (error) {
      if (this.#ending.signal.aborted) return
      this.#logThrottle.run('webhook', (suppressed) =>
        this.#deps.log.warn('failed to send alerts to the webhook', { error, suppressed }),
      )
      this.#cancelRetry = this.#deps.timers.after(this.#backoff.nextMs(), () => {
        this.#cancelRetry = null
        this.flush()
      })
    }
  }

  /** @throws {Error} unless the receiver responds with a status from 200 to 299 within 10 s. */
  async #post(batch: readonly Notification[]): Promise<void> {
    const { url, secret } = this.#settings
    const { clock, settings, timers } = this.#deps
    const body = webhookBody(batch, settings.environment?.name ?? null)
    const key = secret()
    const late = new AbortController()
    const cancel = timers.after(TIMEOUT_MS, () => late.abort(new Error(`no response within ${TIMEOUT_MS / 1_000} s`)))
    try {
      const response = await this.#pool.request({
        method: 'POST',
        path: `${url.pathname}${url.search}`,
        headers: {
          'content-type': 'application/json',
          ...(key !== undefined && {
            'muster-signature': signatureOf(body, key, Math.floor(toSeconds(clock.wallMs()))),
          }),
        },
        body,
        signal: AbortSignal.any([late.signal, this.#ending.signal]),
      })
      await response.body.dump()
      const { statusCode: status } = response
      const isRedirect = status >= 300 && status < 400
      if (isRedirect) throw new Error(`the receiver responded with HTTP ${status}, a redirect, which is not followed`)
      if (status < 200 || status > 299) throw new Error(`the receiver responded with HTTP ${status}`)
      this.#requests.inc({ result: 'delivered' })
    } catch (error) {
      this.#requests.inc({ result: 'failed' })
      throw error
    } finally {
      cancel()
    }
  }
}
