/**
 * @module master/http/hot-paths
 * Finds the rows of the most frequent requests, which are marked `isHot` in the route table, without the router. The
 * path is split at its slashes and compared with few patterns. A path with a percent sign, or any other character that
 * has a meaning in a URL, and every path that is not hot goes to the router, which finds the same row for a hot path.
 */
import type { Params, Row } from './serve.ts'

export interface HotMatch {
  readonly row: Row
  readonly params: Params
}

/** One segment of a pattern: literal text, or the name of a parameter. */
type Segment = { readonly text: string } | { readonly name: string }
interface Pattern {
  readonly row: Row
  readonly segments: readonly Segment[]
}

/** Paths that need no decoding. */
const PLAIN = /^[\w\-.~:@+/]+$/
const PARAMETER = /^\{(?<name>\w+)\}$/

/**
 * @param rows All rows, in the order in which the router tries them.
 * @returns the row of a request; undefined if the router must find it.
 * @throws {TypeError} if the router would find another row of the same method for the path of a hot row.
 */
export function createHotPaths(rows: readonly Row[]): (method: string, path: string) => HotMatch | undefined {
  const patterns = rows.map((row) => ({ row, segments: segmentsOf(row.route.path) }))
  const byMethod = new Map<string, Map<number, Pattern[]>>()
  for (const [at, pattern] of patterns.entries()) {
    const { route } = pattern.row
    if (route.isHot !== true) continue
    const earlier = patterns
      .slice(0, at)
      .find((other) => other.row.route.method === route.method && overlap(other, pattern))
    if (earlier !== undefined && earlier.row.route.isHot !== true)
      throw new TypeError(`${route.method} ${route.path} cannot be hot, because ${earlier.row.route.path} comes first`)
    const byLength = byMethod.get(route.method) ?? new Map<number, Pattern[]>()
    byMethod.set(route.method, byLength)
    byLength.set(pattern.segments.length, [...(byLength.get(pattern.segments.length) ?? []), pattern])
  }
  return (method, path) => {
    const byLength = byMethod.get(method)
    if (byLength === undefined || !PLAIN.test(path)) return undefined
    const segments = path.split('/')
    for (const { row, segments: wanted } of byLength.get(segments.length) ?? []) {
      const params = paramsOf(wanted, segments)
      if (params !== null) return { row, params }
    }
    return undefined
  }
}

function segmentsOf(path: string): readonly Segment[] {
  return path.split('/').map((text) => {
    const name = PARAMETER.exec(text)?.groups?.['name']
    return name === undefined ? { text } : { name }
  })
}

/** Whether some path matches both. */
function overlap(one: Pattern, other: Pattern): boolean {
  return (
    one.segments.length === other.segments.length &&
    one.segments.every((segment, i) => {
      const its = other.segments[i]
      return its === undefined || 'name' in segment || 'name' in its || segment.text === its.text
    })
  )
}

/** The parameters of a path; null if it does not match. A parameter has at least one character. */
function paramsOf(wanted: readonly Segment[], segments: readonly string[]): Params | null {
  const params: Record<string, string> = {}
  for (const [i, segment] of wanted.entries()) {
    const text = segments[i] ?? ''
    if ('text' in segment) {
      if (segment.text !== text) return null
    } else if (text === '') return null
    else params[segment.name] = text
  }
  return params
}
