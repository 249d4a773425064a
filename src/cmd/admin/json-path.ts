/**
 * @module cmd/admin/json-path
 * Compiles the expression of `-o jsonpath=…` (RFC 9535). Only this format loads the library.
 */
import { JSONPathEnvironment, JSONPathError, type JSONValue } from 'json-p3'
import { isRawNumber } from '../../protocol/index.ts'

/** Returns the values that an expression selects from a document, in their order. */
export type Select = (document: unknown) => readonly unknown[]

/** Deeper than every document that a master accepts. */
const MAX_DEPTH = 1_000
const RFC_9535 = new JSONPathEnvironment({ strict: true, maxRecursionDepth: MAX_DEPTH })

/** @throws {Error} for an expression that RFC 9535 does not allow. It names the position. */
export function compilePath(expression: string): Select {
  const problem = problemOf(expression)
  if (problem !== null) throw new Error(problem)
  const path = RFC_9535.compile(expression)
  return (document) =>
    path
      .query(withPlainNumbers(document) as JSONValue)
      .locations()
      .map((location) => valueAt(document, location))
}

/** The library compares numbers alone, so it gets a double in place of a number that is kept as its source text. */
function withPlainNumbers(value: unknown): unknown {
  if (isRawNumber(value)) return Number(value.rawJSON)
  if (Array.isArray(value)) return value.map(withPlainNumbers)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([name, each]) => [name, withPlainNumbers(each)]))
}

/** The value as the document has it, so that a number keeps its digits (D75). */
const valueAt = (document: unknown, location: readonly (string | number)[]): unknown =>
  location.reduce<unknown>((value, step) => (value as Readonly<Record<string | number, unknown>>)[step], document)

/** @returns null for a valid expression. */
function problemOf(expression: string): string | null {
  if (expression === '') return `needs an expression; for example ${quoted('$[*].worker_id')}`
  const fault = faultOf(expression)
  if (fault === null) return null
  const advice = adviceFor(expression)
  const where = `at character ${fault.at}, ${fault.what}`
  return `${JSON.stringify(expression)} is not an expression of RFC 9535: ${where}; ${advice}`
}

interface Fault {
  /** The first character is 1. */
  readonly at: number
  readonly what: string
}

function faultOf(expression: string): Fault | null {
  try {
    RFC_9535.compile(expression)
    return null
  } catch (error) {
    if (!(error instanceof JSONPathError)) throw error
    const { message, token } = error
    const what = message.replace(/ \('.*':\d+\)$/s, '').replace("unexpected token 'TOKEN_ERROR'", token.value)
    return { at: token.index + 1, what: what.replaceAll(/\s+/g, ' ') }
  }
}

/** What the user may have meant: kubectl writes `{.items[*].id}`, and jq `.items`. */
function adviceFor(expression: string): string {
  const inner = (/^\{(?<inner>.*)\}$/s.exec(expression)?.groups?.['inner'] ?? expression).trim()
  const candidates = [inner, `$${inner}`, `$${inner.replace(/^\.(?=\[)/, '')}`, `$.${inner}`]
  const meant = candidates.find((each) => faultOf(each) === null)
  return meant === undefined ? `for example ${quoted('$[*].worker_id')}` : `did you mean ${quoted(meant)}?`
}

/** A shell would replace parts of it without the quotes. */
const quoted = (expression: string): string => `-o 'jsonpath=${expression}'`
