/**
 * @module master/http/route
 * Defines the rows of the route table. The table mounts the routes and drives authentication, body reading, the test
 * matrix and the OpenAPI document. A route without a row cannot exist.
 *
 * A request passes: valid token (401, 403) → path (404) → method (405) → role and type (403, 404) → content type (415)
 * → length (413) → JSON (400) → schema (422) → handle. No byte of a body is read before the role of its sender was
 * accepted; a row that needs no token has a small limit of its own.
 */
import type { Static, TSchema } from 'typebox'
import type { CatalogEntry } from '../../automation/index.ts'
import type { ErrorCode, Permission } from '../../protocol/index.ts'
import type { Principal } from '../auth/index.ts'

type Method = 'GET' | 'PUT' | 'POST' | 'PATCH' | 'DELETE'

/**
 * Which tokens may call a row. `none`: no token needed. `any`: every valid token. `admin`, `worker`: only that role.
 * `scoped`: admin, or a scoped token that covers the `{type}` of the path. If the path has no type, any scoped token
 * may call, and its response only contains its own types.
 */
export type Access = 'none' | 'any' | 'admin' | 'scoped' | 'worker'

export interface RouteRequest<Body = unknown, Query = unknown> {
  /** Path parameters, decoded once: `type`, `id`, `task_id`, `pool_name` …; '' if the path has no such parameter. */
  readonly params: { readonly type: string; readonly id: string; readonly [name: string]: string }
  readonly query: Query
  readonly body: Body
  /**
   * The body, with the source text of numbers that a double cannot represent (JSON.rawJSON). For text that is stored or
   * sent back, never for computing (D75).
   */
  readonly exactBody: Body
  /** Absent on routes with access `none`. */
  readonly principal: Principal
  /** The automation of `{type}`; absent if the path has no type. */
  readonly entry: CatalogEntry
  /** Request headers, lower case. */
  readonly header: (name: string) => string | undefined
  /**
   * Aborts when the client disconnects. On `long` routes it also aborts when the token is revoked or the master stops;
   * the handler's result is then still sent.
   */
  readonly signal: AbortSignal
}

/** JSON text that is sent without parsing it. */
export class RawJson {
  readonly text: string
  constructor(text: string) {
    this.text = text
  }
}

/** A large JSON body in chunks of about 1 MiB, which are written as fast as the client reads (D82). */
export class JsonChunks {
  readonly chunks: readonly Uint8Array[]
  readonly bytes: number
  /** Called once, after the body was sent or can no longer be sent. */
  readonly onSent: () => void

  constructor(chunks: readonly Uint8Array[], bytes: number, onSent: () => void) {
    this.chunks = chunks
    this.bytes = bytes
    this.onSent = onSent
  }
}

/**
 * A body that is written by `pipe` after status and headers were sent (server-sent events, long lists). `write` returns
 * false while the client reads too slowly, and calls `onFlushed` when the chunk was passed to the network; `drained`
 * resolves when the client has caught up. `signal` aborts when the client disconnects, its token is revoked or the
 * master stops.
 */
export interface StreamBody {
  readonly pipe: (
    write: (chunk: string | Uint8Array, onFlushed?: () => void) => boolean,
    signal: AbortSignal,
    drained: () => Promise<void>,
  ) => Promise<void>
}

export interface HandlerResult {
  /** 200 if left out. */
  readonly status?: number
  /** Fields of the audit line. `action` and `object` replace those of the row, and `count` is 1 by default. */
  readonly audit?: {
    readonly action?: string
    readonly object?: string
    /** Whom the call signed in. By default the holder of the token. */
    readonly actor?: Principal
    readonly count?: number
    readonly changed?: readonly string[]
    /** Why, in the words of the caller. */
    readonly note?: string | null
  }
  readonly headers?: Readonly<Record<string, string>>
  /** Serialized as JSON. RawJson, JsonChunks, StreamBody and text with a content-type are sent as they are. */
  readonly body?: unknown
}

/**
 * A response other than the row's 200 and the common refusals. Without a schema it has no body, unless `media` is set.
 */
interface OtherResponse {
  readonly description: string
  readonly schema?: TSchema
  readonly media?: string
}

/**
 * The responses of a row, for the OpenAPI document only. Refusals that follow from other properties of the row (token,
 * names in the path, query, body) are not repeated here.
 */
interface ResponseDocs {
  /** Schema of the 200 response. A row has either this or `media`. */
  readonly response?: TSchema
  /** Media type of a 200 response that is not JSON. */
  readonly media?: string
  /** Further media types of the 200 response, for clients that ask for them. */
  readonly otherMedia?: readonly string[]
  readonly others?: Readonly<Record<number, OtherResponse>>
  /** Refusals that only this row has. */
  readonly refuses?: readonly ErrorCode[]
  /** Headers of the response: names of components of the OpenAPI document. */
  readonly sends?: Readonly<Record<string, 'ETag' | 'ConfigDigest'>>
  /** Request headers that change the response, each with a description. */
  readonly reads?: Readonly<Record<string, string>>
  /** The schema that the handler enforces in addition to `body`. */
  readonly bodyInFull?: TSchema
  /** An example of a body. Every row with a body has one. */
  readonly example?: unknown
}

export interface Route extends ResponseDocs {
  readonly method: Method
  /** With `{name}` for parameters: `/api/v1/automations/{type}/workers/{id}`. */
  readonly path: string
  readonly access: Access
  /**
   * The permission that the row requires. Of a list, any one is enough, and the handler checks the permission that the
   * body needs. Null if every token is accepted, or none is needed.
   */
  readonly needs: Permission | readonly Permission[] | null
  /** The action in the audit line of a call, such as `worker.drain`. Left out if the row changes nothing (D87). */
  readonly audit?: string
  /** One line, shown in the OpenAPI document. */
  readonly summary: string
  readonly query?: TSchema
  /** Schema of the body. If left out, the route has no body. */
  readonly body?: TSchema
  /**
   * Whether the body may be a JSON array (JSON-RPC batches). Otherwise a body that is no object is rejected with 400
   * (D14).
   */
  readonly bodyMayBeArray?: boolean
  /** The most bytes of a body, if fewer than SVC_MAX_BODY_BYTES: of rows that need no token. */
  readonly maxBodyBytes?: number
  /** Whether the body may be left out. It is then `{}`. */
  readonly bodyMayBeAbsent?: boolean
  /**
   * Whether the handler stores `exactBody`. If not, an integer that a double cannot represent is rejected with 422
   * (D75).
   */
  readonly keepsNumbers?: boolean
  /** Long polls and streams: exempt from the deadline, and not counted as in progress after their body was read. */
  readonly long?: boolean
  /** Whether the route only checks. Such calls have a separate rate limit per token. */
  readonly isDryRun?: boolean
  /** Whether its requests are so frequent that they are found without the router (hot-paths.ts). */
  readonly isHot?: boolean
  /**
   * Whether its responses contain credentials. They are not compressed: if an attacker can write into a response, its
   * compressed length reveals whether the written text equals a secret (BREACH).
   */
  readonly hasCredentials?: boolean
  /** `small`: its responses are large and frequent enough to spend five times the CPU on a fifth less (D161). */
  readonly compression?: 'small'
  /** A probe of a supervisor: never rejected because of the load of others. */
  readonly isProbe?: boolean
  readonly handle: (request: RouteRequest) => Promise<HandlerResult> | HandlerResult
}

/**
 * How the JSON of a row is sent. `tagged`: a client that has it already gets 304. `compressed`: also compressed for
 * clients that accept it. `small`: compressed at a higher level.
 */
export type Delivery = 'plain' | 'tagged' | 'compressed' | 'small'

/** Only reads are compressed: calls of workers and submissions are small, frequent, or contain secrets (D154). */
export function deliveryOf({ method, access, long, isHot, hasCredentials, compression }: Route): Delivery {
  if (method !== 'GET' || access === 'none' || access === 'worker' || long === true || isHot === true) return 'plain'
  return hasCredentials === true ? 'tagged' : (compression ?? 'compressed')
}

interface Typed<Q extends TSchema, B extends TSchema> extends Omit<Route, 'query' | 'body' | 'handle'> {
  readonly query?: Q
  readonly body?: B
  readonly handle: (request: RouteRequest<Static<B>, Static<Q>>) => Promise<HandlerResult> | HandlerResult
}

/**
 * Creates a row. The types of the handler's query and body follow from their schemas, which are checked before the
 * call.
 */
export function route<Q extends TSchema, B extends TSchema>(row: Typed<Q, B>): Route {
  return row as unknown as Route
}
