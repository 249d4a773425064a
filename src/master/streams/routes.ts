/** @module master/streams/routes  Length, peek, pop and tail of an output stream (D9, D50, D56). */
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
import { RawJson, route, type Route } from '../http/route.ts'

const OUTPUT = `${API_PREFIX}/automations/{type}/output`
const DEFAULT_TAIL = 100
const TailQuery = Strict({
  n: Type.Optional(Type.Integer({ ...N, default: DEFAULT_TAIL })),
  after: Type.Optional(Name),
})

export function streamRoutes(streams: Streams): readonly Route[] {
  return [
    route({
      method: 'GET',
      path: `${OUTPUT}/length`,
      access: 'scoped',
      response: LengthBody,
      summary: 'How many entries the output stream holds.',
      handle: async ({ params }) => {
        const [length = 0] = await streams.length([params.type])
        return { body: { length } }
      },
    }),
    route({
      method: 'GET',
      path: `${OUTPUT}/peek`,
      access: 'scoped',
      query: nQuery(DEFAULT_N.stream),
      response: Type.Array(OutputEntry),
      summary: 'The oldest entries, not removed.',
      handle: async ({ params, query }) => ({
        body: new RawJson(entriesText(await streams.peek(params.type, query.n ?? DEFAULT_N.stream))),
      }),
    }),
    route({
      method: 'POST',
      path: `${OUTPUT}/pop`,
      access: 'scoped',
      body: NBody,
      bodyMayBeAbsent: true,
      example: { n: 10 },
      response: Type.Array(OutputEntry),
      summary: 'Removes and answers the oldest entries, in one step; there is no undo.',
      handle: async ({ params, body }) => ({
        body: new RawJson(entriesText(await streams.pop(params.type, body.n ?? DEFAULT_N.stream))),
      }),
    }),
    route({
      method: 'GET',
      path: `${OUTPUT}/tail`,
      access: 'scoped',
      query: TailQuery,
      response: TailBody,
      summary: 'The newest entries, or those after an id; `gap` says that some in between are gone.',
      handle: async ({ params, query }) => {
        const { entries, gap } = await streams.tail(params.type, query.after ?? null, query.n ?? DEFAULT_TAIL)
        return { body: new RawJson(`{"entries":${entriesText(entries)},"gap":${gap}}`) }
      },
    }),
  ]
}

/** The id goes in front of each stored text. */
function entriesText(entries: readonly StreamEntry[]): string {
  return `[${entries.map(({ id, entry }) => `{"id":${JSON.stringify(id)},${entry.slice(1)}`).join(',')}]`
}
