/**
 * @module master/registry/list
 * Lists the workers of a type, ordered by id. The store is read page by page. A list of one page is one response; a
 * longer one is sent while it is read, so that it never needs more memory than a page.
 */
import type { Static } from 'typebox'
import { RESPONSE_PIECE_BYTES, type WorkersQuery } from '../../protocol/index.ts'
import type { CatalogEntry } from '../../automation/index.ts'
import type { WorkerRow } from '../../storage/index.ts'
import { workerFilter } from '../auth/index.ts'
import type { MasterDeps } from '../deps.ts'
import { RawJson, type HandlerResult, type RouteRequest, type StreamBody } from '../http/index.ts'
import { recordText } from './record.ts'

export type ListQuery = Static<typeof WorkersQuery>

/** The limit of the store's `page`. */
const PAGE_ROWS = 1_000
/** The estimated size of a record without its texts. */
const ROW_BYTES = 512

interface Page {
  readonly records: readonly string[]
  readonly last: boolean
}

export async function listWorkers(
  request: RouteRequest<unknown, ListQuery>,
  deps: Pick<MasterDeps, 'backend' | 'inspections'>,
): Promise<HandlerResult> {
  const { entry, query, principal } = request
  const readPage: ReadPage = (after, limit) =>
    deps.inspections.piece(
      request,
      () => deps.backend.workers.page(entry.type, after, limit, RESPONSE_PIECE_BYTES),
      bytesOf,
    )
  const pages = readPages(entry, { ...query, shows: workerFilter(principal, 'read', entry.type) }, readPage)
  const first = await nextPage(pages) // Before the status is sent, so that an unavailable store is still a 503.
  if (first.last) return { body: new RawJson(`[${first.records.join(',')}]`) }
  return {
    headers: { 'content-type': 'application/json; charset=utf-8' },
    body: { pipe: (write, signal, drained) => writePages(first, pages, write, signal, drained) } satisfies StreamBody,
  }
}

async function writePages(
  first: Page,
  rest: AsyncGenerator<Page>,
  ...[write, signal, drained]: Parameters<StreamBody['pipe']>
): Promise<void> {
  let lead = '['
  for (let page = first; ; page = await nextPage(rest)) {
    signal.throwIfAborted()
    if (page.records.length > 0) {
      if (!write(`${lead}${page.records.join(',')}`)) await drained()
      lead = ','
    }
    if (page.last) return void write(lead === '[' ? '[]' : ']')
  }
}

async function nextPage(pages: AsyncGenerator<Page>): Promise<Page> {
  const { value, done } = await pages.next()
  return done === true ? { records: [], last: true } : value
}

type ReadPage = (after: string | null, limit: number) => Promise<readonly WorkerRow[]>

const bytesOf = (rows: readonly WorkerRow[]): number =>
  rows.reduce(
    (sum, row) => sum + row.hardware.length + row.config.config.length + (row.stats?.length ?? 0) + ROW_BYTES,
    0,
  )

interface Selection extends ListQuery {
  /** Null: every worker is shown. */
  readonly shows: ((id: string) => boolean) | null
}

async function* readPages(entry: CatalogEntry, query: Selection, readPage: ReadPage): AsyncGenerator<Page> {
  const unfiltered = query.state === undefined && query.connected === undefined && query.shows === null
  let left = query.limit ?? Infinity
  let after = query.after ?? null
  for (;;) {
    const ask = unfiltered ? Math.min(PAGE_ROWS, left) : PAGE_ROWS
    const rows = await readPage(after, ask)
    const records = rows
      .filter((row) => matches(row, query))
      .slice(0, left)
      .map((row) => recordText(row, entry, query.view))
    left -= records.length
    after = rows.at(-1)?.id ?? null
    const last = left === 0 || (rows.length < ask && (await isEnd(after, readPage)))
    yield { records, last }
    if (last) return
  }
}

/** A short page may have ended because of its byte limit. */
async function isEnd(last: string | null, readPage: ReadPage): Promise<boolean> {
  return last === null || (await readPage(last, 1)).length === 0
}

function matches(row: WorkerRow, { state, connected, shows }: Selection): boolean {
  if (shows !== null && !shows(row.id)) return false
  return (state === undefined || row.state === state) && (connected === undefined || row.connected === connected)
}
