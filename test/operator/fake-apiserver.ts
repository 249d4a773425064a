/**
 * A small API server over real HTTP, for tests. Its rules are in fake-store.ts; conformance.ts proves that they match
 * kube-apiserver. Faults are scripted per request:
 *
 *   fake.script({ method: 'PATCH', path: /status$/ }, { kind: 'lose' })   the next PATCH takes effect, no response
 *
 * Watches stay open until `endWatches`, `cutWatches` or `close`. No timer is used.
 */
import { once } from 'node:events'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import { FakeStore, StatusError, type FakeEvent, type FakeKind, type FakeObject, type Where } from './fake-store.ts'

export const LEASES: FakeKind = { group: 'coordination.k8s.io', version: 'v1', plural: 'leases', kind: 'Lease' }
export const EVENTS: FakeKind = {
  group: 'events.k8s.io',
  version: 'v1',
  plural: 'events',
  kind: 'Event',
  refusal: (event) =>
    ['eventTime', 'reportingController', 'reportingInstance', 'action', 'reason']
      .find((name) => event[name] === undefined)
      ?.replace(/$/, ': Required value'),
}
/** A kind that uses every part of a definition; conformance.ts also installs it on a real API server. */
export const PROBES: FakeKind = {
  group: 'conformance.muster.dev',
  version: 'v1',
  plural: 'probes',
  kind: 'Probe',
  status: true,
  scale: { spec: 'slots', status: 'slots', selector: 'selector' },
  keyed: { 'status.conditions': 'type' },
  defaults: (probe) => ({
    ...probe,
    ...(probe.spec === undefined ? {} : { spec: { policy: 'Enforce', ...probe.spec } }),
    status: { observedGeneration: -1, ...probe.status },
  }),
  refusal: ({ spec }) =>
    spec === undefined || typeof spec['type'] === 'string' ? undefined : 'spec.type: Required value',
}

export type Fault =
  /** This error response, without effect. */
  | { readonly kind: 'refuse'; readonly status: number; readonly reason?: string; readonly retryAfter?: number }
  /** The connection breaks before, or after, the request took effect. */
  | { readonly kind: 'break' }
  | { readonly kind: 'lose' }
  /** The request continues when the promise resolves, or never. */
  | { readonly kind: 'delay'; readonly until: Promise<unknown> }
  | { readonly kind: 'hang' }
  /** The request takes effect twice; the second response is sent. */
  | { readonly kind: 'duplicate' }
  /** A GET or list returns the state at this version. */
  | { readonly kind: 'stale'; readonly version: number }
  /** This response. */
  | {
      readonly kind: 'answer'
      readonly status: number
      readonly body: string
      readonly headers?: Readonly<Record<string, string>>
    }

export interface Seen {
  readonly method: string
  readonly path: string
  readonly query: URLSearchParams
  readonly headers: IncomingMessage['headers']
  readonly body: unknown
}
export interface Match {
  readonly method?: string
  readonly path?: RegExp
  readonly watch?: boolean
}
interface Watch {
  readonly response: ServerResponse
  readonly kind: FakeKind
  readonly namespace: string | undefined
  readonly hasBookmarks: boolean
}
interface Target {
  readonly kind: FakeKind
  readonly namespace: string | undefined
  readonly name: string | undefined
  readonly subresource: string
}

/** Fields that a real server selects custom resources by: their name and namespace. */
function selectedBy(fieldSelector: string): (object: FakeObject) => boolean {
  const wanted = fieldSelector.split(',').filter((part) => part !== '')
  return ({ metadata: { name, namespace } }) =>
    wanted.every((part) => part === `metadata.name=${name}` || part === `metadata.namespace=${namespace}`)
}

/** Labels that an object must have, each with this value; other operators of a selector are not used. */
function labelledBy(labelSelector: string): (object: FakeObject) => boolean {
  const wanted = labelSelector.split(',').filter((part) => part !== '')
  return ({ metadata }) => {
    const labels = Object.entries((metadata['labels'] ?? {}) as Readonly<Record<string, string>>)
    return wanted.every((part) => labels.some(([key, value]) => part === `${key}=${value}`))
  }
}

const OBJECT_PATH = new RegExp(
  '^/(?:api|apis/(?<group>[^/]+))/(?<version>[^/]+)(?:/namespaces/(?<namespace>[^/]+))?' +
    '/(?<plural>[^/]+)(?:/(?<name>[^/]+))?(?:/(?<subresource>[^/]+))?$',
)

export class FakeApiServer {
  readonly store: FakeStore
  readonly requests: Seen[] = []
  readonly #kinds: readonly FakeKind[]
  readonly #scripts: { readonly match: Match; readonly fault: Fault; left: number }[] = []
  readonly #watches = new Set<Watch>()
  readonly #sockets = new Set<Socket>()
  readonly #server: Server
  readonly #wallMs: () => number
  #dropped = 0
  /** Requests must carry this token; `undefined`: any token is accepted. */
  token: string | undefined
  port = 0

  constructor(kinds: readonly FakeKind[], wallMs: () => number = Date.now, uuid?: () => string) {
    this.#kinds = kinds
    this.#wallMs = wallMs
    this.store = new FakeStore(wallMs, uuid)
    this.store.listeners.add((event) => this.#publish(event))
    this.#server = createServer((request, response) => void this.#serve(request, response))
    this.#server.on('connection', (socket) => {
      this.#sockets.add(socket)
      socket.on('close', () => this.#sockets.delete(socket))
    })
  }

  async start(): Promise<this> {
    this.#server.listen(this.port, '127.0.0.1')
    await once(this.#server, 'listening')
    this.port = (this.#server.address() as AddressInfo).port
    return this
  }

  get url(): string {
    return `http://127.0.0.1:${this.port}`
  }

  get watchCount(): number {
    return this.#watches.size
  }

  /** Number of open client sockets. */
  get socketCount(): number {
    return this.#sockets.size
  }

  async close(): Promise<void> {
    const closed = new Promise((resolve) => void this.#server.close(resolve))
    for (const socket of this.#sockets) socket.destroy()
    this.#watches.clear()
    await closed
  }

  /** Simulates a restart of the process: every connection breaks, the objects stay in etcd. */
  async restart(): Promise<void> {
    await this.close()
    await this.start()
  }

  /** Applies `fault` to the next `times` requests that match. */
  script(match: Match, fault: Fault, times = 1): void {
    this.#scripts.push({ match, fault, left: times })
  }

  /** Withholds the next `count` events from all watches. */
  dropEvents(count: number): void {
    this.#dropped = count
  }

  /** Sends a bookmark to every watch that allows it. */
  bookmark(): void {
    for (const { response, kind, hasBookmarks } of this.#watches) {
      if (hasBookmarks)
        response.write(
          line('BOOKMARK', {
            apiVersion: apiVersion(kind),
            kind: kind.kind,
            metadata: { resourceVersion: String(this.store.version) },
          }),
        )
    }
  }

  /** Ends every watch as after its `timeoutSeconds`. */
  endWatches(): void {
    for (const { response } of this.#watches) response.end()
    this.#watches.clear()
  }

  /** Sends these bytes to every watch; then breaks the connections if `breaks` is set. */
  sendRaw(bytes: Uint8Array | string, breaks = false): void {
    for (const { response } of this.#watches) {
      response.write(bytes)
      if (breaks) response.destroy()
    }
    if (breaks) this.#watches.clear()
  }

  /** Keeps watches open and sends nothing more. */
  silenceWatches(): void {
    this.#watches.clear()
  }

  /** Requests with this method whose path matches. */
  seen(method: string, path = /./): readonly Seen[] {
    return this.requests.filter((each) => each.method === method && path.test(each.path))
  }

  /** The response without a connection; reads return the state at `version`. @throws {Refusal} */
  ask(seen: Seen, version = this.store.version): unknown {
    return this.#handle(this.#targetOf(seen.path), seen, version)
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const url = new URL(request.url ?? '/', 'http://fake')
    response.setHeader('date', new Date(this.#wallMs()).toUTCString())
    const chunks: Buffer[] = []
    try {
      for await (const chunk of request) chunks.push(chunk as Buffer)
    } catch {
      return // The client has disconnected.
    }
    const text = Buffer.concat(chunks).toString('utf8')
    const seen: Seen = {
      method: request.method ?? '',
      path: url.pathname,
      query: url.searchParams,
      headers: request.headers,
      body: text === '' ? undefined : JSON.parse(text),
    }
    this.requests.push(seen)
    const fault = this.#faultOf(seen)
    if (fault?.kind === 'delay') await fault.until
    if (fault?.kind === 'hang') return
    if (fault?.kind === 'break') {
      request.socket.destroy()
      return
    }
    if (fault?.kind === 'answer') {
      response.writeHead(fault.status, fault.headers).end(fault.body)
      return
    }
    this.#answer(seen, response, fault)
  }

  #answer(seen: Seen, response: ServerResponse, fault: Fault | undefined): void {
    try {
      if (fault?.kind === 'refuse')
        throw new StatusError(
          fault.status,
          fault.reason ?? 'InternalError',
          'as scripted',
          fault.retryAfter === undefined ? {} : { retryAfterSeconds: fault.retryAfter },
        )
      if (this.token !== undefined && seen.headers.authorization !== `Bearer ${this.token}`)
        throw new StatusError(401, 'Unauthorized', 'Unauthorized')
      const target = this.#targetOf(seen.path)
      if (seen.query.get('watch') === 'true') {
        this.#watch(target, seen, response)
        return
      }
      const before = fault?.kind === 'stale' ? fault.version : this.store.version
      let body = this.#handle(target, seen, before)
      if (fault?.kind === 'duplicate') body = this.#handle(target, seen, before)
      if (fault?.kind === 'lose') response.destroy()
      else send(response, seen.method === 'POST' ? 201 : 200, body)
    } catch (error) {
      const { code, reason, message, details } =
        error instanceof StatusError ? error : new StatusError(500, 'InternalError', String(error))
      const retryAfter = details['retryAfterSeconds']
      send(
        response,
        code,
        statusOf(code, reason, message, details),
        retryAfter === undefined ? {} : { 'retry-after': JSON.stringify(retryAfter) },
      )
    }
  }

  #handle(
    { kind, namespace, name, subresource }: Target,
    { method, query, body, headers }: Seen,
    version: number,
  ): unknown {
    const manager = query.get('fieldManager') ?? (headers['user-agent'] ?? 'unknown').split('/', 1)[0] ?? ''
    if (name === undefined) {
      if (method === 'POST') return this.store.create({ kind, namespace: namespace ?? '' }, body as never, manager)
      return this.#list(kind, namespace, query, version)
    }
    const where: Where = { kind, namespace: namespace ?? '', name }
    if (subresource === 'scale')
      return method === 'GET'
        ? this.store.scaleOf(where)
        : this.store.scaleTo(where, headers['content-type'] ?? '', body, manager)
    if (method === 'PUT') return this.store.replace(where, subresource, body as never, manager)
    if (method === 'PATCH')
      return this.store.patch(
        where,
        subresource,
        headers['content-type'] ?? '',
        body,
        manager,
        query.get('force') === 'true',
      )
    if (method === 'DELETE')
      return this.#deleted(where, (body as { preconditions?: object } | undefined)?.preconditions)
    if (method !== 'GET')
      throw new StatusError(405, 'MethodNotAllowed', 'the server does not allow this method on the requested resource')
    const object =
      version === this.store.version
        ? this.store.get(where)
        : this.store.list(kind, namespace, version).find(({ metadata }) => metadata.name === name)
    if (object === undefined) throw new StatusError(404, 'NotFound', `${kind.plural} "${name}" not found`)
    return /as=PartialObjectMetadata;/.test(headers.accept ?? '')
      ? { kind: 'PartialObjectMetadata', apiVersion: 'meta.k8s.io/v1', metadata: object.metadata }
      : object
  }

  /** Returns the object while a finalizer keeps it, else a `Status`, as for custom resources. */
  #deleted(where: Where, preconditions: object | undefined): unknown {
    const object = this.store.delete(where, preconditions)
    if ((object.metadata.finalizers ?? []).length > 0) return object
    const {
      kind: { group, plural },
      name,
    } = where
    return {
      kind: 'Status',
      apiVersion: 'v1',
      metadata: {},
      status: 'Success',
      details: { name, ...(group === '' ? {} : { group }), kind: plural, uid: object.metadata.uid },
    }
  }

  #list(kind: FakeKind, namespace: string | undefined, query: URLSearchParams, version: number): unknown {
    const place = query.get('continue') ?? ''
    const { at, after } =
      place === ''
        ? { at: version, after: '' }
        : (JSON.parse(Buffer.from(place, 'base64url').toString()) as { at: number; after: string })
    if (place !== '' && at < this.store.compactedVersion)
      throw new StatusError(
        410,
        'Expired',
        'The provided continue parameter is too old to display a consistent list result. ' +
          'You can start a new list without the continue parameter.',
      )
    const all = this.store
      .list(kind, namespace, at)
      .filter(({ metadata }) => `${metadata.namespace}/${metadata.name}` > after)
      .filter(selectedBy(query.get('fieldSelector') ?? ''))
      .filter(labelledBy(query.get('labelSelector') ?? ''))
    const limit = Number(query.get('limit') ?? 0)
    const items = limit === 0 ? all : all.slice(0, limit)
    const last = items.at(-1)?.metadata
    const isMore = items.length < all.length && last !== undefined
    return {
      apiVersion: apiVersion(kind),
      kind: `${kind.kind}List`,
      items,
      metadata: {
        resourceVersion: String(at),
        ...(isMore
          ? {
              continue: Buffer.from(JSON.stringify({ at, after: `${last.namespace}/${last.name}` })).toString(
                'base64url',
              ),
              remainingItemCount: all.length - items.length,
            }
          : {}),
      },
    }
  }

  #watch({ kind, namespace }: Target, { query }: Seen, response: ServerResponse): void {
    response.writeHead(200, { 'content-type': 'application/json' })
    const asked = query.get('resourceVersion') ?? ''
    const isFromNow = asked === '' || asked === '0'
    if (!isFromNow && Number(asked) < this.store.compactedVersion) {
      response.end(
        line('ERROR', statusOf(410, 'Expired', `too old resource version: ${asked} (${this.store.version})`)),
      )
      return
    }
    response.flushHeaders()
    const watch: Watch = { response, kind, namespace, hasBookmarks: query.get('allowWatchBookmarks') === 'true' }
    const missed = isFromNow
      ? this.store.list(kind, namespace).map((object) => ({ version: 0, kind, type: 'ADDED' as const, object }))
      : this.store.history.filter(({ version }) => version > Number(asked))
    for (const event of missed) tell(watch, event)
    this.#watches.add(watch)
    response.on('close', () => this.#watches.delete(watch))
  }

  #publish(event: FakeEvent): void {
    if (this.#dropped > 0) this.#dropped -= 1
    else for (const watch of this.#watches) tell(watch, event)
  }

  #faultOf(seen: Seen): Fault | undefined {
    const script = this.#scripts.find(
      ({ match: { method, path, watch }, left }) =>
        left > 0 &&
        (method ?? seen.method) === seen.method &&
        (path?.test(seen.path) ?? true) &&
        (watch ?? seen.query.has('watch')) === seen.query.has('watch'),
    )
    if (script === undefined) return undefined
    script.left -= 1
    return script.fault
  }

  #targetOf(path: string): Target {
    const found = OBJECT_PATH.exec(path)?.groups
    const kind = this.#kinds.find(
      ({ group, version, plural }) =>
        group === (found?.['group'] ?? '') && version === found?.['version'] && plural === found['plural'],
    )
    if (found === undefined || kind === undefined)
      throw new StatusError(404, 'NotFound', 'the server could not find the requested resource')
    const { namespace, name, subresource = '' } = found
    return {
      kind,
      namespace: namespace === undefined ? undefined : decodeURIComponent(namespace),
      name: name === undefined ? undefined : decodeURIComponent(name),
      subresource,
    }
  }
}

const apiVersion = ({ group, version }: FakeKind): string => (group === '' ? version : `${group}/${version}`)
const line = (type: string, object: unknown): string => `${JSON.stringify({ type, object })}\n`

function tell({ response, kind, namespace }: Watch, { kind: of, type, object }: FakeEvent): void {
  if (of === kind && (namespace === undefined || namespace === object.metadata.namespace))
    response.write(line(type, object))
}

function statusOf(
  code: number,
  reason: string,
  message: string,
  details: Readonly<Record<string, unknown>> = {},
): object {
  return {
    kind: 'Status',
    apiVersion: 'v1',
    metadata: {},
    status: 'Failure',
    message,
    reason,
    ...(Object.keys(details).length === 0 ? {} : { details }),
    code,
  }
}

function send(
  response: ServerResponse,
  status: number,
  body: unknown,
  headers: Readonly<Record<string, string>> = {},
): void {
  response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(body))
}

export type { FakeKind }
