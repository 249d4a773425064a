/**
 * @module automations/http-request
 * Batch: each task is one HTTP request; its response is the output. A task chooses its URL, so the secret of the config
 * goes to `authorization_hosts` alone.
 *
 *   expected status ─▶ output, done        408, 425, 429, 5xx, timeout, network ─▶ again later (Retry-After is obeyed)
 *   any other status, bad URL, blocked destination, refused header ─▶ dead letters immediately
 */
import { defineBatch, Permanent, RetryIn, Type, type Static } from '../automation/index.ts'
import { Destinations, limitsOf, matchesHost, type DestinationLimits } from './destinations.ts'
import { Connections, exchange, ExchangeError, showUrl, type Exchanged } from './exchange.ts'
import { authorizationBoundTo, SHARED_CONFIG } from './shared-config.ts'

const MAX_BODY_BYTES = 262_144
const MAX_RETRY_AFTER_SECONDS = 300

const Host = Type.String({
  pattern: '^(https?://)?(\\*\\.)?(\\[[0-9a-fA-F:.]{2,45}\\]|[a-zA-Z0-9.:_-]{1,253})(:[0-9]{1,5})?$',
})
const Config = Type.Object({
  ...SHARED_CONFIG,
  authorization: authorizationBoundTo('authorization_hosts', 'allow_hosts'),
  timeout_seconds: Type.Number({ minimum: 0.1, maximum: 300, default: 30 }),
  max_response_bytes: Type.Integer({ minimum: 0, maximum: MAX_BODY_BYTES, default: 65_536 }),
  allow_hosts: Type.Array(Host, {
    maxItems: 100,
    default: [],
    description: 'Exact names or *.suffix, with scheme and port where they count; empty: any.',
  }),
  authorization_hosts: Type.Array(Host, {
    maxItems: 100,
    default: [],
    description:
      'Hosts that are sent the authorization, for example https://api.example.com:8443; ' +
      'a name alone means https on port 443; empty: none.',
  }),
})
type Config = Static<typeof Config>

const Payload = Type.Object(
  {
    url: Type.String({ minLength: 1, maxLength: 8_192 }),
    method: Type.Optional(Type.Enum(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE'])),
    headers: Type.Optional(
      Type.Record(
        Type.String({ pattern: '^[a-z0-9-]{1,64}$' }),
        Type.String({ maxLength: 4_096, pattern: '^[^\\u0000-\\u001f\\u007f]*$' }),
        { maxProperties: 50, additionalProperties: false },
      ),
    ),
    body: Type.Optional(Type.String({ maxLength: MAX_BODY_BYTES })),
    timeout_seconds: Type.Optional(Type.Number({ minimum: 0.1, maximum: 300 })),
    expect_status: Type.Optional(
      Type.Array(Type.Integer({ minimum: 100, maximum: 599 }), { maxItems: 20, description: 'Empty: 200 to 299.' }),
    ),
  },
  { additionalProperties: false },
)
type Payload = Static<typeof Payload>

const Output = Type.Object(
  {
    task_id: Type.String(),
    attempt: Type.Integer(),
    status: Type.Integer(),
    url: Type.String(),
    address: Type.Union([Type.String(), Type.Null()]),
    content_type: Type.Union([Type.String(), Type.Null()]),
    body: Type.String(),
    body_encoding: Type.Union([Type.Literal('utf8'), Type.Literal('base64')]),
    truncated: Type.Boolean(),
    bytes: Type.Integer(),
    total_ms: Type.Number(),
  },
  { additionalProperties: false },
)

const REFUSED_HEADERS = new Set([
  'host',
  'connection',
  'content-length',
  'transfer-encoding',
  'upgrade',
  'te',
  'trailer',
  'keep-alive',
  'expect',
])
const RETRIED = new Set([408, 425, 429])

interface Prepared {
  readonly destinations: Destinations
  readonly connections: Connections
}
/** One set of rules and connections a config: the runtime hands the same frozen object to every task under it. */
type Prepare = (config: Config) => Prepared

function preparing(limits: () => DestinationLimits): Prepare {
  const prepared = new WeakMap<object, Prepared>()
  return (config) => {
    const known = prepared.get(config)
    if (known !== undefined) return known
    const made = { destinations: new Destinations(config, limits()), connections: new Connections() }
    prepared.set(config, made)
    return made
  }
}

/** @param environment of the worker: what a config may not widen (D90). */
export function defineHttpRequest(environment: Readonly<Record<string, string | undefined>>) {
  const prepare = preparing(() => limitsOf(environment))
  return defineBatch({
    type: 'http-request',
    config: Config,
    payload: Payload,
    output: Output,
    async run({ config, task, emit, metrics, now, signal }) {
      const { payload } = task
      const url = URL.parse(payload.url)
      if (url === null) throw new Permanent('the url of the task is not a URL')
      const response = await ask(url, payload, config, prepare(config), task.id, now, signal)
      metrics.histogram('total_ms').record(response.totalMs)
      checkResponse(url, payload, response, config)
      const contentType = response.headers['content-type']
      await emit({
        task_id: task.id,
        attempt: task.attempt,
        status: response.status,
        url: showUrl(response.url),
        address: response.address,
        content_type: typeof contentType === 'string' ? contentType : null,
        ...bodyOf(response),
        truncated: response.truncated,
        bytes: response.body.length,
        total_ms: response.totalMs,
      })
    },
  })
}

async function ask(
  url: URL,
  payload: Payload,
  config: Config,
  prepared: Prepared,
  taskId: string,
  now: () => number,
  signal: AbortSignal,
): Promise<Exchanged> {
  const { authorization } = config
  try {
    return await exchange({
      url,
      method: payload.method ?? 'GET',
      headers: headersOf(payload, config, taskId),
      ...(payload.body === undefined ? {} : { body: payload.body }),
      timeoutMs: Math.min(payload.timeout_seconds ?? config.timeout_seconds, config.timeout_seconds) * 1_000,
      maxBytes: config.max_response_bytes,
      followRedirects: config.follow_redirects,
      ...prepared,
      signal,
      now,
      ...(authorization === undefined
        ? {}
        : {
            authorization: {
              value: authorization,
              allowed: (hop: URL) => hop.origin === url.origin && matchesHost(hop, config.authorization_hosts, true),
            },
          }),
    })
  } catch (error) {
    if (error instanceof ExchangeError && (error.fault === 'blocked' || error.fault === 'redirects'))
      throw new Permanent(error.message, { cause: error })
    throw error
  }
}

function headersOf(payload: Payload, config: Config, taskId: string): Record<string, string> {
  const own = payload.headers ?? {}
  const refused = Object.keys(own).find((name) => REFUSED_HEADERS.has(name) || name.startsWith('proxy-'))
  if (refused !== undefined) throw new Permanent(`the header ${refused} may not be set by a task`)
  const repeatable = ['GET', 'HEAD'].includes(payload.method ?? 'GET')
  // Delivery is at least once: the receiver can tell a repetition by this key.
  return { 'user-agent': config.user_agent, ...(repeatable ? {} : { 'idempotency-key': asHeader(taskId) }), ...own }
}

/** A task id may hold any character; a header value may not. */
const asHeader = (text: string): string => (/^[ -~]+$/.test(text) ? text : encodeURIComponent(text))

/** Returns for an expected status. @throws RetryIn, Permanent or an Error that means "again later". */
function checkResponse(url: URL, payload: Payload, { status, headers }: Exchanged, config: Config): void {
  const expected = payload.expect_status ?? []
  if (expected.length > 0 ? expected.includes(status) : status >= 200 && status < 300) return
  const advice = status === 401 ? unsent(url, config) : ''
  const message = `${payload.method ?? 'GET'} ${showUrl(url)} returned ${status}${advice}`
  if (!RETRIED.has(status) && status < 500) throw new Permanent(message)
  // Whole seconds only: `parseRetryAfter` of the runtime, which also reads dates, is not part of the plugin API.
  const seconds = Number(headers['retry-after'])
  if (Number.isInteger(seconds) && seconds >= 1 && seconds <= MAX_RETRY_AFTER_SECONDS)
    throw new RetryIn(seconds, message)
  throw new Error(message)
}

/** Where an entry covers the name of a host but not its scheme or port, which is easily overlooked. */
function unsent(url: URL, { authorization, authorization_hosts: hosts }: Config): string {
  if (
    authorization === undefined ||
    matchesHost(url, hosts, true) ||
    !matchesHost(new URL(`https://${url.hostname}`), hosts.map(withoutOrigin))
  )
    return ''
  return `; the authorization was not sent: add ${url.origin} to authorization_hosts, where scheme and port count`
}

const withoutOrigin = (pattern: string): string => pattern.replace(/^https?:\/\//, '').replace(/:\d{1,5}$/, '')

/** UTF-8 where it is that (a character cut in two by the limit aside), else base64. */
function bodyOf({ body, truncated }: Exchanged): { body: string; body_encoding: 'utf8' | 'base64' } {
  try {
    return {
      body: new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(body, { stream: truncated }),
      body_encoding: 'utf8',
    }
  } catch {
    return { body: body.toString('base64'), body_encoding: 'base64' } // Not UTF-8.
  }
}
