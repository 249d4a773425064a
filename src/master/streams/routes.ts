/** @module master/streams/routes  Routes of output streams: length, peek, pop and tail (D9, D50, D56). */
import { Type } from 'typebox'
import {
  API_PREFIX,
  DEFAULT_N,
  LengthBody,
  N,
  Name,
  nQuery,
  NBody,
  OutputEntry,
  Strict,
  TailBody,
} from '../../protocol/index.ts'
import type { StreamEntry, Streams } from '../../storage/index.ts'
import { route, type Route } from '../http/index.ts'
import type { Inspections, InspectionBody } from '../inspections/index.ts'

const OUTPUT = `${API_PREFIX}/automations/{type}/output`
const DEFAULT_TAIL = 100
const TailQuery = Strict({
  n: Type.Optional(Type.Integer({ ...N, default: DEFAULT_TAIL })),
  after: Type.Optional(Name),
})

export function streamRoutes(streams: Streams, inspections: Inspections): readonly Route[] {
  return [
    lengthRoute(streams),
    peekRoute(streams, inspections),
    popRoute(streams, inspections),
    tailRoute(streams, inspections),
  ]
}

function lengthRoute(streams: Streams): Route {
  return route({
    method: 'GET',
    path: `${OUTPUT}/length`,
    access: 'scoped',
    needs: 'read',
    response: LengthBody,
    summary: 'How many entries the output stream contains.',
    handle: async ({ params }) => {
      const [length = 0] = await streams.length([params.type])
      return { body: { length } }
    },
  })
}

function peekRoute(streams: Streams, inspections: Inspections): Route {
  return route({
    method: 'GET',
    path: `${OUTPUT}/peek`,
    access: 'scoped',
    needs: 'read',
    query: nQuery(DEFAULT_N.stream),
    response: Type.Array(OutputEntry),
    summary: 'The oldest entries, not removed.',
    handle: (request) =>
      inspections.respond(request, (out) =>
        writePeek(out, streams, request.params.type, request.query.n ?? DEFAULT_N.stream),
      ),
  })
}

function popRoute(streams: Streams, inspections: Inspections): Route {
  return route({
    method: 'POST',
    path: `${OUTPUT}/pop`,
    access: 'scoped',
    isHot: true,
    needs: 'consume',
    audit: 'output.pop',
    body: NBody,
    bodyMayBeAbsent: true,
    example: { n: 10 },
    response: Type.Array(OutputEntry),
    summary: 'Removes and returns the oldest entries; there is no undo.',
    handle: async (request) => {
      let count = 0
      const result = await inspections.respond(request, async (out) => {
        count = await writePopped(out, streams, request.params.type, request.body.n ?? DEFAULT_N.stream)
      })
      return { ...result, audit: { count } }
    },
  })
}

function tailRoute(streams: Streams, inspections: Inspections): Route {
  return route({
    method: 'GET',
    path: `${OUTPUT}/tail`,
    access: 'scoped',
    needs: 'read',
    query: TailQuery,
    response: TailBody,
    summary: 'The newest entries, or those after an id; `gap` is true if entries in between were removed.',
    handle: (request) =>
      inspections.respond(request, (out) =>
        writeTail(out, streams, request.params.type, request.query.after ?? null, request.query.n ?? DEFAULT_TAIL),
      ),
  })
}

async function writePeek(out: InspectionBody, streams: Streams, type: string, n: number): Promise<void> {
  out.text('[')
  const entries = await out.read(() => streams.peek(type, n, out.room))
  out.items(entries.map(entryText))
  await writeRest(out, streams, type, { last: entries.at(-1), left: n - entries.length })
  out.text(']')
}

async function writeTail(
  out: InspectionBody,
  streams: Streams,
  type: string,
  after: string | null,
  n: number,
): Promise<void> {
  const { entries, gap } = await out.read(() => streams.tail(type, after, n, out.room))
  out.text('{"entries":[')
  out.items(entries.map(entryText))
  await writeRest(out, streams, type, { last: entries.at(-1), left: n - entries.length })
  out.text(`],"gap":${gap}}`)
}

/** Writes the entries after `last`, the end of the previous piece. */
async function writeRest(
  out: InspectionBody,
  streams: Streams,
  type: string,
  from: { readonly last: StreamEntry | undefined; readonly left: number },
): Promise<void> {
  for (let { last, left } = from; last !== undefined && left > 0 && out.room > 0;) {
    const { id } = last
    const { entries } = await out.read(() => streams.tail(type, id, left, out.room))
    out.items(entries.map(entryText))
    last = entries.at(-1)
    left -= entries.length
  }
}

/**
 * Removes entries and writes them. Each piece is removed in one step. After a failure the client gets what was already
 * removed, because those entries exist nowhere else.
 * @returns how many entries were removed.
 */
async function writePopped(out: InspectionBody, streams: Streams, type: string, n: number): Promise<number> {
  let left = n
  out.text('[')
  while (left > 0 && out.room > 0) {
    const entries = await out
      .read(() => streams.pop(type, left, out.room))
      .catch((error: unknown) => {
        if (left === n) throw error
        return []
      })
    if (entries.length === 0) break
    out.items(entries.map(entryText))
    left -= entries.length
  }
  out.text(']')
  return n - left
}

/** Inserts the id before the stored fields. */
const entryText = ({ id, entry }: StreamEntry): string => `{"id":${JSON.stringify(id)},${entry.slice(1)}`
