/**
 * @module automations/http-probe
 * Continuous: every slot probes every target once an interval, from a random phase, and emits one output a probe.
 * Rounds never overlap; a round that takes longer than the interval is counted as late and the next one follows
 * immediately.
 */
import { defineContinuous, Type, type Static } from '../automation/index.ts'
import { Destinations, limitsOf, type DestinationLimits } from './destinations.ts'
import { exchange, ExchangeError, type Exchanged, type ExchangeFault } from './exchange.ts'
import { authorizationBoundTo, SHARED_CONFIG } from './shared-config.ts'

/** How much of a response is searched for `expect_text`. */
const TEXT_BYTES = 65_536

const Target = Type.Object(
  {
    name: Type.String({ pattern: '^[a-z0-9][a-z0-9._-]{0,62}$' }),
    url: Type.String({ maxLength: 2_048, pattern: '^https?://' }),
    method: Type.Optional(Type.Union([Type.Literal('GET'), Type.Literal('HEAD')])),
    expect_status: Type.Optional(
      Type.Array(Type.Integer({ minimum: 100, maximum: 599 }), { maxItems: 20, description: 'Empty: 200 to 399.' }),
    ),
    expect_text: Type.Optional(Type.String({ minLength: 1, maxLength: 200 })),
  },
  { additionalProperties: false },
)
type Target = Static<typeof Target>

const ERRORS = ['timeout', 'dns', 'refused', 'reset', 'tls', 'blocked', 'status', 'text', 'redirects', 'other'] as const
type ProbeError = (typeof ERRORS)[number]

const Output = Type.Object(
  {
    target: Type.String(),
    url: Type.String(),
    ok: Type.Boolean(),
    status: Type.Union([Type.Integer(), Type.Null()]),
    error: Type.Union([Type.Null(), Type.Enum([...ERRORS])]),
    address: Type.Union([Type.String(), Type.Null()]),
    total_ms: Type.Number(),
    first_byte_ms: Type.Union([Type.Number(), Type.Null()]),
    bytes: Type.Integer(),
  },
  { additionalProperties: false },
)
type Output = Static<typeof Output>

const Config = Type.Object({
  ...SHARED_CONFIG,
  authorization: authorizationBoundTo('targets'),
  targets: Type.Array(Target, { maxItems: 200, default: [] }),
  interval_seconds: Type.Number({ minimum: 1, maximum: 3_600, default: 30 }),
  timeout_seconds: Type.Number({ minimum: 0.1, maximum: 60, default: 5 }),
  concurrency: Type.Integer({ minimum: 1, maximum: 64, default: 8 }),
})
type Config = Static<typeof Config>

/** @param environment of the worker: what a config may not widen (D90). */
export const defineHttpProbe = (environment: Readonly<Record<string, string | undefined>>) =>
  defineContinuous({
    type: 'http-probe',
    config: Config,
    output: Output,
    async run(context) {
      const { emit, metrics, now, signal, sleep } = context
      const limits: DestinationLimits = limitsOf(environment)
      await sleep(phase(now(), context.slotId) * context.config.interval_seconds * 1_000)
      for (let dueMs = now(); ;) {
        const { config } = context // The newest: a change takes effect with the next round.
        const destinations = new Destinations(config, limits)
        await inParallel(config.targets, config.concurrency, async (target) => {
          const output = await probe(target, config, destinations, now, signal)
          metrics.counter('probes').add()
          if (!output.ok) metrics.counter('failures').add()
          metrics.histogram('total_ms').record(output.total_ms)
          await emit(output)
        })
        dueMs += config.interval_seconds * 1_000
        if (now() > dueMs) {
          metrics.counter('late_rounds').add()
          dueMs = now()
        }
        await sleep(dueMs - now())
      }
    },
  })

/** In [0, 1), so that slots and workers started together do not probe together: the start's time, hashed. */
function phase(nowMs: number, slotId: number): number {
  return (Math.imul((nowMs ^ (slotId * 0x9e3779b1)) >>> 0, 0x85ebca6b) >>> 0) / 2 ** 32
}

async function inParallel<T>(items: readonly T[], width: number, work: (item: T) => Promise<void>): Promise<void> {
  const queue = [...items].values()
  await Promise.all(
    Array.from({ length: Math.min(width, items.length) }, async () => {
      for (const item of queue) await work(item)
    }),
  )
}

/** One probe; whatever goes wrong is its output. @throws the signal's reason alone. */
async function probe(
  target: Target,
  config: Config,
  destinations: Destinations,
  now: () => number,
  signal: AbortSignal,
): Promise<Output> {
  const startedMs = now()
  const shown = withoutSecrets(target.url)
  try {
    const url = new URL(target.url)
    const response = await exchange({
      url,
      method: target.method ?? 'GET',
      headers: { 'user-agent': config.user_agent },
      timeoutMs: config.timeout_seconds * 1_000,
      maxBytes: TEXT_BYTES,
      followRedirects: config.follow_redirects,
      destinations,
      signal,
      now,
      ...(config.authorization === undefined
        ? {}
        : { authorization: { value: config.authorization, allowed: (hop: URL) => hop.origin === url.origin } }),
    })
    const error = verdict(target, response)
    return {
      target: target.name,
      url: shown,
      ok: error === null,
      status: response.status,
      error,
      address: response.address,
      total_ms: response.totalMs,
      first_byte_ms: response.firstByteMs,
      bytes: response.body.length,
    }
  } catch (cause) {
    signal.throwIfAborted()
    const error: ExchangeFault = cause instanceof ExchangeError ? cause.fault : 'other'
    return {
      target: target.name,
      url: shown,
      ok: false,
      status: null,
      error,
      address: null,
      total_ms: now() - startedMs,
      first_byte_ms: null,
      bytes: 0,
    }
  }
}

function verdict(target: Target, response: Exchanged): ProbeError | null {
  const expected = target.expect_status ?? []
  const statusFits =
    expected.length > 0 ? expected.includes(response.status) : response.status >= 200 && response.status < 400
  if (!statusFits) return 'status'
  return target.expect_text === undefined || response.body.includes(target.expect_text) ? null : 'text'
}

/** The URL as it may be shown: no query, no fragment, no user. */
function withoutSecrets(text: string): string {
  const url = URL.parse(text)
  return url === null ? '' : `${url.origin}${url.pathname}`
}
