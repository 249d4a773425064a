import { describe, expect, it } from '@jest/globals'
import type { Api } from '../../../src/dashboard/api/client.ts'
import { Problem } from '../../../src/dashboard/api/problem.ts'
import { PAGE_ROWS, readSingles, readWorkers } from '../../../src/dashboard/workers/reading.ts'
import type { WorkerRow } from '../../../src/dashboard/workers/row.ts'
import { WorkerStore } from '../../../src/dashboard/workers/store.ts'
import { row } from './rows.ts'

interface Asked {
  readonly path: string
  readonly after: unknown
}

/** The paged worker list of the master. A function may make a request fail. */
function listing(
  ids: Readonly<Record<string, readonly string[]>>,
  fails: () => Problem | null = () => null,
): { api: Api; asked: Asked[] } {
  const asked: Asked[] = []
  const get = async (
    path: readonly string[],
    query: Readonly<Record<string, unknown>> = {},
  ): Promise<{ body: unknown; epoch: string }> => {
    asked.push({ path: path.join('/'), after: query['after'] })
    const problem = fails()
    if (problem !== null) throw problem
    const [, type = '', , id] = path
    const all = (ids[type] ?? []).map((each): WorkerRow => row(each, { automation_type: type }))
    if (id !== undefined) {
      const one = all.find(({ worker_id: each }) => each === id)
      if (one === undefined) throw new Problem('no such worker', { status: 404 })
      return { body: one, epoch: 'e' }
    }
    const from = query['after'] === undefined ? 0 : all.findIndex(({ worker_id: each }) => each === query['after']) + 1
    return { body: all.slice(from, from + PAGE_ROWS), epoch: 'e' }
  }
  return { api: { get } as unknown as Api, asked }
}

/** Runs the read loop for a number of pauses. @returns the length of each pause and the reported problems. */
async function run(
  api: Api,
  store: WorkerStore,
  types: readonly string[],
  turns: number,
  wakeAt = -1,
): Promise<{ waits: number[]; problems: (Problem | undefined)[] }> {
  const stop = new AbortController()
  const waits: number[] = []
  const problems: (Problem | undefined)[] = []
  await readWorkers({
    api,
    store,
    types,
    signal: stop.signal,
    report: (problem) => void problems.push(problem),
    pause: async (ms) => {
      waits.push(ms)
      if (waits.length >= turns) stop.abort()
      return waits.length === wakeAt
    },
  })
  return { waits, problems }
}

const many = (count: number): readonly string[] =>
  Array.from({ length: count }, (_, n) => `m-${String(n).padStart(6, '0')}`)

describe('reading the workers', () => {
  it('reads all pages without a pause first, then one page per pause', async () => {
    const store = new WorkerStore()
    const { api, asked } = listing({ mailer: many(2_500), probe: ['p-1'] })
    const { waits } = await run(api, store, ['mailer', 'probe'], 2)
    expect(asked.slice(0, 4).map(({ path, after }) => [path.split('/')[1], after])).toEqual([
      ['mailer', undefined],
      ['mailer', 'm-000999'],
      ['mailer', 'm-001999'],
      ['probe', undefined],
    ])
    expect(store.snapshot().rows.size).toBe(2_501)
    expect(waits).toEqual([3_750, 3_750]) // 15 s over four pages.
    expect(asked).toHaveLength(5)
  })

  it('sends at most one request every 1.5 s', async () => {
    const { api } = listing({ mailer: many(20_000) })
    expect((await run(api, new WorkerStore(), ['mailer'], 1)).waits).toEqual([1_500])
  })

  it('reads all pages again when it is woken', async () => {
    const { api, asked } = listing({ mailer: many(1_500) })
    await run(api, new WorkerStore(), ['mailer'], 2, 1)
    expect(asked.map(({ after }) => after)).toEqual([undefined, 'm-000999', undefined, 'm-000999'])
  })

  it('reports a problem, respects Retry-After, and retries automatically', async () => {
    const responses = [new Problem('unavailable', { status: 503, retryAfterSeconds: 7 }), null, null]
    const { api } = listing({ mailer: ['a'] }, () => responses.shift() ?? null)
    const store = new WorkerStore()
    const { waits, problems } = await run(api, store, ['mailer'], 2)
    expect([waits[0], problems[0]?.message, problems[1], store.snapshot().rows.size]).toEqual([
      7_000,
      'unavailable',
      undefined,
      1,
    ])
  })

  it('retries soon after a later page failed, independent of the length of a round', async () => {
    const responses = [null, new Problem('unavailable'), null]
    const { api } = listing({ mailer: ['a'] }, () => responses.shift() ?? null)
    expect((await run(api, new WorkerStore(), ['mailer'], 2)).waits).toEqual([15_000, 1_500])
  })

  it('keeps the rows when a later page fails', async () => {
    let fails = false
    const { api } = listing({ mailer: ['a', 'b'] }, () => (fails ? new Problem('unavailable') : null))
    const store = new WorkerStore()
    const stop = new AbortController()
    let turns = 0
    const problems: (Problem | undefined)[] = []
    await readWorkers({
      api,
      store,
      types: ['mailer'],
      signal: stop.signal,
      report: (problem) => void problems.push(problem),
      pause: async () => {
        fails = true
        turns += 1
        if (turns === 3) stop.abort()
        return false
      },
    })
    expect([problems.at(-1)?.message, store.snapshot().rows.size]).toEqual(['unavailable', 2])
  })
})

describe('workers named by events', () => {
  it('are read one by one if they are few, and removed if the master returns 404', async () => {
    const store = new WorkerStore()
    store.takeOne(row('gone'))
    const { api } = listing({ mailer: ['a'] })
    expect(
      await readSingles(api, store, [
        { type: 'mailer', id: 'a' },
        { type: 'mailer', id: 'gone' },
      ]),
    ).toBe(true)
    expect([...store.snapshot().rows.keys()]).toEqual(['mailer/a'])
    expect(
      await readSingles(
        api,
        store,
        many(21).map((id) => ({ type: 'mailer', id })),
      ),
    ).toBe(false)
  })
})
