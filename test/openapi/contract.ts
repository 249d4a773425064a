/**
 * @module test/openapi/contract
 * Holds an answer of a master against the OpenAPI document: is this status told of for the operation, with this media
 * type, these headers and a body of this shape?
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

/** One answer; `text` is null where the body is a stream that nobody waits for. */
export interface Told {
  readonly method: string
  readonly path: string
  readonly status: number
  readonly headers: Headers
  readonly text: string | null
}

/** What a request may be answered before anybody looks which operation it means. */
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
/** By status, of the refusals that no operation lists. */
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
/** Answered without the request being read, so without an epoch. */
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

  /** What is wrong with an answer; empty when the document told of it. */
  faultsOf(told: Told): readonly string[] {
    const path = this.#paths.find(({ pattern }) => pattern.test(told.path))?.path
    const found = this.#responseTo(told, path)
    const faults =
      typeof found === 'string' ? [found] : [...this.#headerFaults(told, found), ...this.#bodyFaults(told, found)]
    return faults.map((fault) => `${told.method} ${path ?? told.path} answered ${told.status}: ${fault}`)
  }

  /** What is wrong with a value of a schema that stands in the document; null: nothing. */
  faultOf(value: unknown, schema: object): string | null {
    const check =
      this.#compiled.get(schema) ??
      this.#ajv.compile(JSON.parse(JSON.stringify(schema).replaceAll('"$ref":"#/', '"$ref":"document#/')) as object)
    this.#compiled.set(schema, check)
    return check(value) ? null : this.#ajv.errorsText(check.errors, { dataVar: 'body' })
  }

  #responseTo({ method, status, headers }: Told, path: string | undefined): Response | string {
    const operations = path === undefined ? {} : (this.document.paths[path] ?? {})
    const operation = operations[method === 'HEAD' ? 'get' : method.toLowerCase()]
    if (operation !== undefined) {
      const response = operation.responses[status]
      return response === undefined ? 'the document does not tell of this status' : this.#resolved(response)
    }
    if (status === STATUS.MethodNotAllowed && path !== undefined) {
      const verbs = Object.keys(operations).flatMap((each) => (each === 'get' ? ['GET', 'HEAD'] : [each.toUpperCase()]))
      const allowed = headers.get('allow')?.split(', ') ?? []
      return allowed.toSorted().join() === verbs.toSorted().join()
        ? this.#refusal('MethodNotAllowed')
        : `Allow names ${allowed.join()}, the document ${verbs.join()}`
    }
    const name = BEFORE_THE_PATH.find((each) => STATUS[each] === status)
    return name === undefined ? 'the document does not tell of this operation' : this.#refusal(name)
  }

  #refusal(name: string): Response {
    const response = this.document.components.responses[name]
    if (response === undefined) throw new TypeError(`the document has no refusal ${name}`)
    return response
  }

  #headerFaults({ headers, path, status, text }: Told, { headers: told = {} }: Response): string[] {
    const faults = Object.entries(told).flatMap(([name, reference]) => {
      const { required, schema } = this.#resolved(reference)
      const value = headers.get(name)
      if (value === null) return required === true ? [`the header ${name} is missing`] : []
      return schema.type === 'integer' && !/^\d+$/.test(value) ? [`the header ${name} is no integer: ${value}`] : []
    })
    const named = headers.has('muster-epoch')
    const isStarting = status === 503 && text?.includes('the master starts: ') === true // The store is not open yet, so its epoch is unknown (D97).
    return named === path.startsWith('/api/v1/') || UNREAD.has(status) || isStarting
      ? faults
      : [...faults, `the header Muster-Epoch is ${named ? 'there' : 'missing'}`]
  }

  #bodyFaults({ method, headers, text }: Told, { content }: Response): string[] {
    const media = /^[^;\s]*/.exec(headers.get('content-type') ?? '')?.[0] ?? ''
    if (content === undefined)
      return text === '' || text === null ? [] : ['it has a body, and the document tells of none']
    const { schema } = content[media] ?? content['*/*'] ?? {}
    if (schema === undefined)
      return [`its media type is "${media}", the document tells of ${Object.keys(content).join()}`]
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

/** How far a path goes before its last parameter ends: the more literal one is meant where two fit. */
const lastLiteral = (path: string): number => path.length - path.lastIndexOf('}')
