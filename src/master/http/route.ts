/**
 * @module master/http/route
 * What a route is. One table of these mounts the routes, drives authentication and body reading, generates the test
 * matrix (and the OpenAPI document): a route without a row cannot exist.
 *
 * A request passes: token valid for anything (401, 403) → path (404) → method (405) → role and type (403, 404) →
 * content type (415) → length (413) → JSON (400) → schema (422) → handle. No byte of a body is read before its sender's
 * role is accepted.
 */
import type { Static, TSchema } from 'typebox'
import type { CatalogEntry } from '../../automation/index.ts'
import type { ErrorCode, Permission } from '../../protocol/index.ts'

type Method = 'GET' | 'PUT' | 'POST' | 'PATCH' | 'DELETE'

/**
 * Who may call. `none`: no token needed. `any`: every valid token. `admin`, `worker`: that role alone. `scoped`: admin,
 * or a scoped token that covers the `{type}` of the path; where the path has none, any scoped token, which is answered
 * of its own types alone.
 */
export type Access = 'none' | 'any' | 'admin' | 'scoped' | 'worker'

/**
 * Whose token a request carries. `key` is the whole digest of the token, for counting per token. `id` names the token
 * where people read it: its name in SVC_TOKENS, else the first 8 hex digits of its SHA-256.
 */
export type Principal =
  | { readonly role: 'admin'; readonly key: string; readonly id: string }
  | { readonly role: 'worker'; readonly key: string; readonly id: string }
  /** `types` may hold '*'. `name` is set for the tokens of SVC_TOKENS. */
  | {
      readonly role: 'scoped'
      readonly types: ReadonlySet<string>
      readonly permissions: ReadonlySet<Permission>
      readonly key: string
      readonly id: string
      readonly name?: string
    }

export interface RouteRequest<Body = unknown, Query = unknown> {
  /** Path parameters, decoded once: `type`, `id`, `task_id`, `pool_name` …; '' when the path has none of that name. */
  readonly params: { readonly type: string; readonly id: string; readonly [name: string]: string }
  readonly query: Query
  readonly body: Body
  /**
   * The body again, where a number that a double cannot hold is its source text (JSON.rawJSON): for text that is stored or
   * sent back, never for computing (D75).
   */
  readonly exactBody: Body
  /** Not there on routes of access `none`, which ask nobody who they are. `key` names the token without showing it (a digest). */
  readonly principal: Principal
  /** The automation of `{type}`; not there where the path has none. */
  readonly entry: CatalogEntry
  /** Request headers, lower case. */
  readonly header: (name: string) => string | undefined
  /**
   * Aborts when the client went away; on `long` routes also when its token was revoked or the master stops, and what
   * the handler answers then is still sent.
   */
  readonly signal: AbortSignal
}

/** JSON text that is sent as it is, unparsed. */
export class RawJson {
  readonly text: string
  constructor(text: string) {
    this.text = text
  }
}

/** A large JSON body in pieces of about 1 MiB, which are written as fast as the client reads (D82). */
export class JsonChunks {
  readonly chunks: readonly Uint8Array[]
  readonly bytes: number
  /** Called once, when the body was sent or can no longer be. */
  readonly onSent: () => void

  constructor(chunks: readonly Uint8Array[], bytes: number, onSent: () => void) {
    this.chunks = chunks
    this.bytes = bytes
    this.onSent = onSent
  }
}

/**
 * A body that writes itself (server-sent events, long lists), after status and headers were sent. `write` answers false
 * while the client reads too slowly, `drained` resolves when it has caught up, `signal` aborts when it went away, its
 * token was revoked or the master stops.
 */
export interface StreamBody {
  readonly pipe: (
    write: (chunk: string | Uint8Array) => boolean,
    signal: AbortSignal,
    drained: () => Promise<void>,
  ) => Promise<void>
}

export interface HandlerResult {
  /** 200 when left out. */
  readonly status?: number
  /** What the audit line of the call says beside the action of its row; `count` is 1 when left out. `action` replaces that of the row. */
  readonly audit?: { readonly action?: string; readonly count?: number; readonly changed?: readonly string[] }
  readonly headers?: Readonly<Record<string, string>>
  /** Serialised as JSON; RawJson, JsonChunks, StreamBody or text with its own content-type as they are; undefined: empty. */
  readonly body?: unknown
}

/** An answer that is neither the row's 200 nor a refusal like all others. Without a schema it has no body, unless `media` says which. */
interface OtherAnswer {
  readonly description: string
  readonly schema?: TSchema
  readonly media?: string
}

/**
 * What a row answers, for the OpenAPI document alone. The refusals that follow from the row's other properties (token,
 * names in the path, query, body) are not repeated here.
 */
interface Answers {
  /** Schema of the 200 answer. A row states this or `media`. */
  readonly response?: TSchema
  /** Media type of a 200 answer that is not JSON. */
  readonly media?: string
  readonly others?: Readonly<Record<number, OtherAnswer>>
  /** Refusals of its own. */
  readonly refuses?: readonly ErrorCode[]
  /** Whether its answer bears an ETag. */
  readonly etag?: boolean
  /** Request headers that change the answer, each in a sentence. */
  readonly reads?: Readonly<Record<string, string>>
  /** What the handler demands of the body beyond `body`. */
  readonly bodyInFull?: TSchema
  /** A body that a client might send; every row with a body has one. */
  readonly example?: unknown
}

export interface Route extends Answers {
  readonly method: Method
  /** With `{name}` for parameters: `/api/v1/automations/{type}/workers/{id}`. */
  readonly path: string
  readonly access: Access
  /**
   * The permission that opens the row; of a list, any one does, and the handler checks which one the body needs. Null
   * where every token is taken, or none is needed.
   */
  readonly needs: Permission | readonly Permission[] | null
  /** The action that the audit line of a call names, such as `worker.drain`; left out: the row changes nothing (D87). */
  readonly audit?: string
  /** One line for people and OpenAPI. */
  readonly summary: string
  readonly query?: TSchema
  /** Schema of the body; left out: the route takes none. */
  readonly body?: TSchema
  /** A JSON array is a body too (JSON-RPC batches); everywhere else what is not an object is refused with 400 (D14). */
  readonly bodyMayBeArray?: boolean
  /** The body may be left out altogether; it is `{}` then. */
  readonly bodyMayBeAbsent?: boolean
  /** The handler stores `exactBody`. Left out: an integer that a double cannot hold is refused with 422 (D75). */
  readonly keepsNumbers?: boolean
  /** Long polls and streams: exempt from the request deadline and, once their body is read, from the count of requests in work. */
  readonly long?: boolean
  /** Checks and changes nothing: limited for each token, apart from what it submits. */
  readonly isDryRun?: boolean
  /** Small and asked by a supervisor: never refused because of the load by others. */
  readonly isProbe?: boolean
  readonly handle: (request: RouteRequest) => Promise<HandlerResult> | HandlerResult
}

interface Typed<Q extends TSchema, B extends TSchema> extends Omit<Route, 'query' | 'body' | 'handle'> {
  readonly query?: Q
  readonly body?: B
  readonly handle: (request: RouteRequest<Static<B>, Static<Q>>) => Promise<HandlerResult> | HandlerResult
}

/** A row of the table; the handler's query and body are typed by their schemas, which were checked before it runs. */
export function route<Q extends TSchema, B extends TSchema>(row: Typed<Q, B>): Route {
  return row as unknown as Route
}
