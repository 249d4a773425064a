/**
 * @module master/http/app
 * Serves the route table with one Express router. Every request passes the same steps; routes have no middleware:
 *
 *   request ─▶ admission: HTTP, token, URL, headers ─▶ Express finds the path (404) ─▶ method (405) ─▶ row (serve.ts)
 *                                                   └▶ the path of a hot row (hot-paths.ts) ──────────────▲
 *
 * One function turns every error on the way into a response. An Express application would add nothing that a row uses,
 * and would replace the prototypes of each request and response, which makes every access to them slower.
 */
import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http'
import { Router, type Request, type Response } from 'express'
import { FleetError, MAX_DRY_RUNS_PER_SECOND, MAX_HEADERS, MAX_URL_BYTES } from '../../protocol/index.ts'
import { compareText, type Clock, type Log } from '../../runtime/index.ts'
import type { Audit } from '../audit/index.ts'
import type { Authentication, Authenticator, Principal } from '../auth/index.ts'
import type { CorsPolicy } from './cors.ts'
import { createHotPaths } from './hot-paths.ts'
import { checkNotAfter, NOT_AFTER } from './not-after.ts'
import type { ResponseWriter } from './response-writer.ts'
import { RequestContext } from './request-context.ts'
import type { RateLimiter } from './rate-limit.ts'
import { countHeader, requestFault } from './request-head.ts'
import type { HandlerResult, Route } from './route.ts'
import { compileRow, type Body, type Params, type Row, type RowDeps } from './serve.ts'
import type { SocketRequests } from './socket-requests.ts'
import type { InFlightRequests } from './in-flight-requests.ts'

export interface AppDeps extends RowDeps {
  readonly routes: readonly Route[]
  readonly authenticator: Authenticator
  readonly responseWriter: ResponseWriter
  readonly inFlight: InFlightRequests
  readonly requests: SocketRequests
  readonly cors: CorsPolicy
  readonly dryRuns: RateLimiter
  readonly clock: Pick<Clock, 'wallMs'>
  readonly log: Log
  readonly audit: Audit
  /** Creates the context of a new request. */
  readonly context: (request: IncomingMessage, response: ServerResponse) => RequestContext
}

/** Makes clients get a new token (RFC 6750 section 3.1). */
const INVALID_TOKEN = { 'www-authenticate': 'Bearer error="invalid_token"' }

/** All rows of one path, by method. */
type Rows = ReadonlyMap<string, Row>

/** What the steps of one request share. Its methods are those of the matching paths that do not support its method. */
interface Locals {
  readonly context: RequestContext
  readonly methods: string[]
}

export function createApp(deps: AppDeps): RequestListener {
  const paths = pathsOf(deps)
  const router = createRouter(paths, deps)
  const hotRow = createHotPaths(paths.flatMap(([, rows]) => [...rows.values()]))
  const isOpen = openPaths(deps.routes)
  return (request, response) => {
    const context = deps.context(request, response)
    const fail = (error: unknown): void => deps.responseWriter.fail(context, asFleetError(error))
    deps.inFlight.open(context)
    deps.requests.add(context)
    response.once('close', () => {
      deps.inFlight.closed(context)
      deps.requests.delete(context)
      if (deps.log.isEnabled('debug')) logResponse(context, deps.log)
    })
    const route = (): void => {
      const hot = hotRow(request.method ?? '', context.path)
      if (hot !== undefined) return void serve(hot.row, context, hot.params, deps).catch(fail)
      const locals: Locals = { context, methods: [] }
      Object.assign(response, { locals })
      router(request as Request, response as Response, (error: unknown) => fail(error ?? noRoute(locals.methods)))
    }
    try {
      const isAdmitted = admit(context, isOpen, deps)
      if (isAdmitted === true) route()
      else if (isAdmitted !== false) void isAdmitted.then((is) => (is ? route() : undefined)).catch(fail)
    } catch (error) {
      fail(error)
    }
  }
}

/**
 * Finds the row of a request. Several paths may match, because a task may be called `batch`: the request then reaches
 * the first one that supports its method.
 */
function createRouter(paths: readonly [string, Rows][], deps: AppDeps): Router {
  const router = Router({ caseSensitive: true, strict: true })
  for (const [path, rows] of paths) {
    router.all(expressPath(path), (request, response, next) => {
      const { context, methods } = response.locals as Locals
      const row = rows.get(request.method)
      if (row === undefined) methods.push(...rows.keys())
      return row === undefined ? next() : serve(row, context, request.params as Params, deps)
    })
  }
  return router
}

function noRoute(methods: readonly string[]): FleetError {
  if (methods.length === 0) return new FleetError('NOT_FOUND', 'this path does not exist')
  return new FleetError('METHOD_NOT_ALLOWED', `this path supports ${methods.join(', ')}`, {
    headers: { allow: methods.join(', ') },
  })
}

function logResponse({ id, path, request, response }: RequestContext, log: Log): void {
  log.debug(response.writableFinished ? 'request finished' : 'the client disconnected', {
    request_id: id,
    method: request.method,
    path,
    status: response.statusCode,
  })
}

/**
 * Checks the HTTP message, then the token, then the size of URL and headers. A preflight has no token (D122).
 * @returns false if the response was sent. A promise for a JWT that is verified first.
 */
function admit(context: RequestContext, isOpen: (path: string) => boolean, deps: AppDeps): boolean | Promise<boolean> {
  const { socket } = context.request
  const { authenticator, responseWriter, audit, requests, inFlight, cors } = deps
  inFlight.checkConnection(requests.count(socket))
  const fault = requestFault(context.request)
  if (fault !== null) {
    responseWriter.refuse(context, fault.status, fault.detail, { connection: 'close' })
    return false
  }
  const preflight = cors.preflight(context.request)
  if (preflight !== null) {
    void responseWriter.send(context, { status: 204, headers: preflight })
    return false
  }
  if (isOpen(context.path)) return admitHead(context, deps)
  const admitAs = (authentication: Authentication): boolean => {
    context.principal = principalOf(context, authentication, audit)
    return admitHead(context, deps)
  }
  const authentication = authenticationOf(context, authenticator)
  return authentication.kind === 'unverified' ? authentication.verify().then(admitAs) : admitAs(authentication)
}

function admitHead(context: RequestContext, { responseWriter }: AppDeps): boolean {
  const { url = '', rawHeaders } = context.request
  if (Buffer.byteLength(url) > MAX_URL_BYTES)
    responseWriter.refuse(context, 414, `the URL is longer than ${MAX_URL_BYTES} bytes`)
  else if (rawHeaders.length > 2 * MAX_HEADERS)
    responseWriter.refuse(context, 431, `there are more than ${MAX_HEADERS} headers`)
  else return true
  return false
}

function authenticationOf({ request }: RequestContext, authenticator: Authenticator): Authentication {
  return countHeader(request, 'authorization') > 1
    ? { kind: 'rejected', reason: 'malformed' }
    : authenticator.authenticate(request.headers.authorization)
}

function principalOf({ request, path }: RequestContext, authentication: Authentication, audit: Audit): Principal {
  if (authentication.kind === 'authenticated') return authentication.principal
  if (authentication.kind === 'unverified') throw new TypeError('a verified token is accepted or rejected')
  const { reason } = authentication
  audit.refusedToken(reason, request.socket.remoteAddress, path)
  if (reason === 'wrong') throw new FleetError('FORBIDDEN', 'unknown token')
  if (reason === 'expired' || reason === 'invalid')
    throw new FleetError('FORBIDDEN', authentication.detail, { headers: INVALID_TOKEN })
  throw new FleetError('UNAUTHENTICATED', 'send one header "Authorization: Bearer <token>"', {
    headers: { 'www-authenticate': 'Bearer' },
  })
}

async function serve(row: Row, context: RequestContext, params: Params, deps: AppDeps): Promise<void> {
  try {
    const result = await resultOf(row, context, params, deps)
    const { action = row.route.audit, object, actor, count = 1, changed = [], note = null } = result.audit ?? {}
    writeAudit(
      { ...row.route, ...(action !== undefined && { audit: action }) },
      context,
      object === undefined ? params : { ...params, id: object },
      { kind: 'done', status: result.status ?? 200, count, changed, note },
      deps.audit,
      actor,
    )
    await deps.responseWriter.send(context, result, row.delivery)
  } catch (error) {
    if (!context.isAudited) writeAudit(row.route, context, params, { kind: 'failed', error }, deps.audit)
    throw error
  }
}

async function resultOf(
  row: Row,
  context: RequestContext,
  params: Params,
  { clock, inFlight, dryRuns }: AppDeps,
): Promise<HandlerResult> {
  const entry = row.admit(context.principal, params)
  if (row.route.isDryRun === true && context.principal !== null) limitDryRuns(context.principal, dryRuns)
  return withinLimits(row, context, inFlight, (body) => {
    if (row.route.method !== 'GET') checkNotAfter(context.request.headers[NOT_AFTER], clock.wallMs())
    return row.handle(context, params, entry, body)
  })
}

function limitDryRuns({ key }: Principal, dryRuns: RateLimiter): void {
  const retryAfterSeconds = dryRuns.take(key)
  if (retryAfterSeconds !== null)
    throw new FleetError('RATE_LIMITED', `this token sends more than ${MAX_DRY_RUNS_PER_SECOND} dry runs a second`, {
      retryAfterSeconds,
    })
}

/** Reads the body and calls `handle`, each within the limits of requests in progress. */
async function withinLimits(
  { route, readBody }: Row,
  context: RequestContext,
  inFlight: InFlightRequests,
  handle: (body: Body | undefined) => Promise<HandlerResult>,
): Promise<HandlerResult> {
  const { principal } = context
  const read = (): Promise<Body | undefined> =>
    readBody === null ? Promise.resolve(undefined) : inFlight.readBody(context, () => readBody(context))
  if (route.access === 'none' || principal === null) {
    if (route.isProbe !== true) inFlight.countWithoutToken(context)
    return handle(await read())
  }
  if (route.long !== true) return inFlight.count(principal, async () => handle(await read()))
  inFlight.lengthen(context)
  return handle(readBody === null ? undefined : await inFlight.countLongBody(principal, read))
}

/** Writes the audit line of a call: its token, and the peer of its connection, which may be a proxy. */
function writeAudit(
  { audit: action, method, path }: Route,
  context: RequestContext,
  params: Params,
  result: Parameters<Audit['call']>[0]['result'],
  audit: Audit,
  actor: Principal | null = context.principal,
): void {
  context.isAudited = true
  if (action === undefined) return
  const { request } = context
  const claimed = request.headers['muster-actor']
  audit.call({
    action,
    route: `${method} ${path}`,
    type: params['type'] ?? null,
    object:
      params['id'] ??
      params['task_id'] ??
      params['revision'] ??
      params['enrolment'] ??
      params['rollout'] ??
      params['operation'] ??
      params['item'] ??
      params['pool_name'] ??
      null,
    actor,
    claimedActor: typeof claimed === 'string' ? claimed : undefined,
    requestId: context.id,
    peer: request.socket.remoteAddress ?? null,
    result,
  })
}

/** Express reports a path that cannot be decoded as a URIError. */
function asFleetError(error: unknown): unknown {
  return error instanceof URIError ? new FleetError('BAD_REQUEST', 'the path is not valid percent-encoding') : error
}

/** The paths with their rows. Literal segments come before parameters, so that `tasks/batch` does not match a task. */
function pathsOf({ routes, ...deps }: AppDeps): [string, Rows][] {
  const paths = new Map<string, Map<string, Row>>()
  for (const route of routes) {
    const rows = paths.get(route.path) ?? new Map<string, Row>()
    if (rows.has(route.method)) throw new TypeError(`${route.method} ${route.path} appears twice in the route table`)
    const row = compileRow(route, deps)
    rows.set(route.method, row)
    if (route.method === 'GET') rows.set('HEAD', row)
    paths.set(route.path, rows)
  }
  const rank = (path: string): string =>
    path
      .split('/')
      .map((segment) => (segment.startsWith('{') ? '1' : '0'))
      .join('')
  return [...paths].toSorted(([one], [other]) => compareText(rank(one), rank(other)))
}

const expressPath = (path: string): string => path.replaceAll(/\{(\w+)\}/g, ':$1')

/** Recognizes paths that need no token: every row of the path has access `none`. */
function openPaths(routes: readonly Route[]): (path: string) => boolean {
  const closed = new Set(routes.filter(({ access }) => access !== 'none').map(({ path }) => path))
  const open = routes.map(({ path }) => path).filter((path) => !closed.has(path))
  const literal = new Set(open.filter((path) => !path.includes('{')))
  const prefixes = open.filter((path) => path.includes('{')).map((path) => path.slice(0, path.indexOf('{')))
  return (path) => literal.has(path) || prefixes.some((prefix) => path.startsWith(prefix))
}
