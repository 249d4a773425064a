/** Lists of tasks: the bounds and cursors of one request (D116). */
import { afterEach, beforeEach, expect, it } from '@jest/globals'
import { QueueFixture } from './fixture.ts'

interface Page {
  readonly items: readonly { readonly task_id: string }[]
  readonly cursor: string | null
  readonly examined: number
}

let fixture: QueueFixture
beforeEach(async () => {
  fixture = await QueueFixture.open()
})
afterEach(() => fixture.close())

/** Submits `t0`, `t1`, …; every seventh has a label. */
async function fill(length: number, to = 'a@b'): Promise<void> {
  for (let from = 0; from < length; from += 500) {
    const tasks = Array.from({ length: Math.min(500, length - from) }, (_, at) => {
      const labels = (from + at) % 7 === 0 ? { labels: { k: 'v' } } : {}
      return { task_id: `t${from + at}`, payload: { to }, ...labels }
    })
    const { status } = await fixture.call('POST', '/automations/mailer/tasks/batch', { body: { tasks } })
    expect(status).toBe(200)
  }
}

const page = async (query: string): Promise<Page> =>
  (await fixture.call('GET', `/automations/mailer/tasks?${query}`)).json as Page

async function pages(query: string): Promise<{ ids: string[]; examined: number[] }> {
  const [ids, examined]: [string[], number[]] = [[], []]
  for (let cursor: string | null = ''; cursor !== null;) {
    const next: Page = await page(`${query}${cursor === '' ? '' : `&cursor=${encodeURIComponent(cursor)}`}`)
    ids.push(...next.items.map(({ task_id: id }) => id))
    examined.push(next.examined)
    cursor = next.cursor
  }
  return { ids, examined }
}

it('lists the tasks that one worker has in flight (D197)', async () => {
  await fill(3)
  await fixture.workers(['w', 'v'], { enabled: true })
  for (const worker of ['w', 'v']) await fixture.rpc(worker, 'tasks.reserve', { limit: 1 })
  const items = async (query: string): Promise<unknown> => (await page(query)).items
  expect(await items('worker_id=w')).toMatchObject([{ task_id: 't0', place: 'in_flight', worker_id: 'w' }])
  expect(await items('worker_id=v&text=T1')).toMatchObject([{ task_id: 't1', worker_id: 'v' }])
  expect(await items('worker_id=x')).toEqual([])
  expect(await items('worker_id=w&place=pending')).toEqual([])
})

it('examines at most 5,000 tasks in one request, and continues behind them', async () => {
  await fill(5_600)
  const first = await page('text=t5599')
  expect(first).toMatchObject({ items: [], examined: 5_000, cursor: expect.any(String) })
  const { ids, examined } = await pages('text=t5599')
  expect([ids, examined]).toEqual([['t5599'], [5_000, 600]])
}, 60_000)

it('lists each task once where the limit ends a page of the store', async () => {
  await fill(1_300)
  const labelled = Array.from({ length: Math.ceil(1_300 / 7) }, (_, i) => `t${7 * i}`)
  for (const limit of [30, 71, 186, 1_000]) expect((await pages(`label=k:v&limit=${limit}`)).ids).toEqual(labelled)
  const all = Array.from({ length: 1_300 }, (_, i) => `t${i}`)
  for (const limit of [499, 500, 501, 1_000]) {
    const { ids, examined } = await pages(`limit=${limit}`)
    expect(ids).toEqual(all)
    expect(examined.reduce((sum, n) => sum + n, 0)).toBe(1_300)
  }
}, 60_000)
