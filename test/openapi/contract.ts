/**
 * @module test/openapi/contract
 * Checks a response of a master against the OpenAPI document: status, media type, headers and body of the operation.
 */
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js'
import addFormats from 'ajv-formats'

interface Reference {
  readonly $ref?: string
}
interface Header {
  readonly required?: boolean
  readonly schema: { readonly type: string }
}
interface Response {
  readonly content?: Readonly<Record<string, { readonly schema: object }>>
  readonly headers?: Readonly<Record<string, Header & Reference>>
}
export interface Operation {
  readonly operationId: string
  readonly security: readonly object[]
  readonly parameters: readonly { readonly name: string; readonly in: string; readonly schema: object }[]
  readonly requestBody?: {
    readonly content: Readonly<Record<string, { readonly schema: object; readonly example?: unknown }>>
  }
  readonly responses: Readonly<Record<string, Response & Reference>>
}
export interface OpenApi {
  readonly openapi: string
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>
  readonly components: { readonly responses: Readonly<Record<string, Response>> }
}

/** One response. `text` is null for a stream that is not read. */
export interface ReceivedResponse {
  readonly method: string
  readonly path: string
  readonly status: number
  readonly headers: Headers
  readonly text: string | null
}

/** Error responses that may be sent before the operation is determined. */
const BEFORE_THE_PATH = [
  'BadRequest',
  'Unauthenticated',
  'Forbidden',
  'NotFound',
  'TimedOut',
  'UrlTooLong',
  'ExpectationFailed',
  'HeadersTooLarge',
  'Unavailable',
  'VersionNotSupported',
] as const
/** Status of each error response that no operation lists. */
const STATUS: Readonly<Record<(typeof BEFORE_THE_PATH)[number] | 'MethodNotAllowed', number>> = {
  BadRequest: 400,
  Unauthenticated: 401,
  Forbidden: 403,
  NotFound: 404,
  MethodNotAllowed: 405,
  TimedOut: 408,
  UrlTooLong: 414,
  ExpectationFailed: 417,
  HeadersTooLarge: 431,
  Unavailable: 503,
  VersionNotSupported: 505,
}
/** Sent without reading the request, so without an epoch. */
const UNREAD = new Set([400, 408, 414, 417, 431, 505])

export class Contract {
  readonly document: OpenApi
  readonly #ajv = new Ajv2020({ strict: false, validateFormats: true })
  readonly #paths: readonly { readonly path: string; readonly pattern: RegExp }[]
  readonly #compiled = new Map<object, ValidateFunction>()

  constructor(document: OpenApi) {
    this.document = document
    addFormats.default(this.#ajv)
    this.#ajv.addFormat('well-formed', (text) => text.isWellFormed())
    this.#ajv.addSchema(document, 'document')
    this.#paths = Object.keys(document.paths)
      .toSorted(
        (one, other) =>
          Number(one.includes('{')) - Number(other.includes('{')) || lastLiteral(other) - lastLiteral(one),
      )
      .map((path) => ({
        path,
        pattern: new RegExp(`^${path.replaceAll(/[.]/g, '\\.').replaceAll(/\{\w+\}/g, '[^/]+')}$`),
      }))
  }

  /** @returns the differences between a response and the document; empty without any. */
  faultsOf(received: ReceivedResponse): readonly string[] {
    const path = this.#paths.find(({ pattern }) => pattern.test(received.path))?.path
    const found = this.#responseTo(received, path)
    const faults =
      typeof found === 'string'
        ? [found]
        : [...this.#headerFaults(received, found), ...this.#bodyFaults(received, found)]
    return faults.map((fault) => `${received.method} ${path ?? received.path} returned ${received.status}: ${fault}`)
  }

  /** Validates a value against a schema of the document. @returns null if it is valid. */
  faultOf(value: unknown, schema: object): string | null {
    const check =
      this.#compiled.get(schema) ??
      this.#ajv.compile(JSON.parse(JSON.stringify(schema).replaceAll('"$ref":"#/', '"$ref":"document#/')) as object)
    this.#compiled.set(schema, check)
    return check(value) ? null : this.#ajv.errorsText(check.errors, { dataVar: 'body' })
  }

  #responseTo({ method, status, headers }: ReceivedResponse, path: string | undefined): Response | string {
    const operations = path === undefined ? {} : (this.document.paths[path] ?? {})
    const operation = operations[method === 'HEAD' ? 'get' : method.toLowerCase()]
    if (operation !== undefined) {
      const response = operation.responses[status]
      return response === undefined ? 'the document does not list this status' : this.#resolved(response)
    }
    if (method === 'OPTIONS' && status === 204) return {} // A preflight, of any path (D122).
    if (status === STATUS.MethodNotAllowed && path !== undefined) {
      const verbs = Object.keys(operations).flatMap((each) => (each === 'get' ? ['GET', 'HEAD'] : [each.toUpperCase()]))
      const allowed = headers.get('allow')?.split(', ') ?? []
      return allowed.toSorted().join() === verbs.toSorted().join()
        ? this.#refusal('MethodNotAllowed')
        : `Allow names ${allowed.join()}, the document ${verbs.join()}`
    }
    const name = BEFORE_THE_PATH.find((each) => STATUS[each] === status)
    return name === undefined ? 'the document does not list this operation' : this.#refusal(name)
  }

  #refusal(name: string): Response {
    const response = this.document.components.responses[name]
    if (response === undefined) throw new TypeError(`the document has no refusal ${name}`)
    return response
  }

  #headerFaults({ headers, path, status, text }: ReceivedResponse, { headers: documented = {} }: Response): string[] {
    const faults = Object.entries(documented).flatMap(([name, reference]) => {
      const { required, schema } = this.#resolved(reference)
      const value = headers.get(name)
      if (value === null) return required === true ? [`the header ${name} is missing`] : []
      return schema.type === 'integer' && !/^\d+$/.test(value) ? [`the header ${name} is no integer: ${value}`] : []
    })
    const named = headers.has('muster-epoch')
    // The store is not open yet, so its epoch is unknown (D97).
    const isStarting = status === 503 && text?.includes('the master starts: ') === true
    return named === path.startsWith('/api/v1/') || UNREAD.has(status) || isStarting
      ? faults
      : [...faults, `the header Muster-Epoch is ${named ? 'there' : 'missing'}`]
  }

  #bodyFaults({ method, headers, text }: ReceivedResponse, { content }: Response): string[] {
    const media = /^[^;\s]*/.exec(headers.get('content-type') ?? '')?.[0] ?? ''
    if (content === undefined) return text === '' || text === null ? [] : ['it has a body, and the document lists none']
    const { schema } = content[media] ?? content['*/*'] ?? {}
    if (schema === undefined) return [`its media type is "${media}", the document lists ${Object.keys(content).join()}`]
    if (method === 'HEAD' || text === null || media !== 'application/json') return []
    const fault = this.faultOf(JSON.parse(text), schema)
    return fault === null ? [] : [`${fault} in ${text.slice(0, 500)}`]
  }

  #resolved<T extends object>(value: T & Reference): T {
    if (value.$ref === undefined) return value
    return value.$ref
      .split('/')
      .slice(1)
      .reduce<unknown>((at, key) => (at as Record<string, unknown>)[key], this.document) as T
  }
}

/** Position of the last parameter. When two paths match, the more literal one is meant. */
const lastLiteral = (path: string): number => path.length - path.lastIndexOf('}')
