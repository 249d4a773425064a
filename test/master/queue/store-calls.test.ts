/** Tests which calls of the store a reserve costs, and when they are sent (D123). */
import { afterEach, describe, expect, it } from '@jest/globals'
import { settled, QueueFixture, type QueueFixtureOptions } from './fixture.ts'
import { Watched } from './watched.ts'

let fixture: QueueFixture
async function open(
  options: QueueFixtureOptions = {},
  workers: readonly string[] = ['w', 'v', 'u'],
): Promise<QueueFixture> {
  fixture = await QueueFixture.open(options)
  await fixture.workers(workers)
  return fixture
}
afterEach(() => fixture.close())

/** A long poll. `seen` shows its outcome as soon as it is known. */
function poll(worker: string, { limit = 1, waitMs = 30_000, signal = new AbortController().signal } = {}) {
  const seen: { ids: string[] | null; error: unknown } = { ids: null, error: null }
  const done = fixture.queue.reserve('mailer', { worker, limit, waitMs, signal }).then(
    (leases) => void (seen.ids = leases.map(({ id }) => id)),
    (error: unknown) => void (seen.error = error),
  )
  return { seen, done }
}

/** @returns a promise, and the function that resolves it. */
function gate(): readonly [Promise<void>, () => void] {
  let resolve = (): void => {}
  const opened = new Promise<void>((whenOpened) => {
    resolve = whenOpened
  })
  return [opened, () => resolve()]
}

describe('a reserve', () => {
  it('sends the store only the waiters that one submit can serve', async () => {
    const store = new Watched()
    await open({ backend: store.wrap })
    const polls = [poll('w'), poll('v'), poll('u')]
    await settled(fixture)
    const before = store.named('tasks.reserve').length
    await fixture.submit()
    await settled(fixture)
    expect(
      store
        .named('tasks.reserve')
        .slice(before)
        .map(([, , requests]) => (requests as unknown[]).length),
    ).toEqual([1])
    expect(polls.filter(({ seen }) => seen.ids !== null)).toHaveLength(1)
  })

  it('costs no call while the queue is empty, and is sent right behind a submit, before its commit', async () => {
    const store = new Watched()
    await open({ backend: store.wrap })
    await fixture.take('w')
    const before = store.calls.length
    const { seen } = poll('w')
    await settled(fixture)
    expect(store.calls.slice(before)).toEqual([])
    const [committed, commit] = gate()
    const [returned, returnReserve] = gate()
    const gates = new Map([
      ['tasks.submit', committed],
      ['tasks.reserve', returned],
    ])
    store.gate = (name) => gates.get(name)
    const submitted = fixture.submit()
    await settled(fixture)
    expect(store.calls.slice(before).map(({ name }) => name)).toEqual(['tasks.submit', 'tasks.reserve'])
    commit()
    returnReserve()
    const id = await submitted
    await settled(fixture)
    expect(seen.ids).toEqual([id])
    expect(store.named('tasks.reserve')).toHaveLength(2)
  })

  it('that the store runs before the submit is repeated after it', async () => {
    const store = new Watched()
    await open({ backend: store.wrap })
    await fixture.take('w')
    const { seen } = poll('w')
    const [committed, commit] = gate()
    store.gate = (name) => (name === 'tasks.submit' ? committed : undefined)
    const submitted = fixture.submit()
    for (let turn = 0; turn < 20; turn++) await Promise.resolve()
    expect(seen.ids).toBeNull()
    commit()
    const id = await submitted
    await settled(fixture)
    expect(seen.ids).toEqual([id])
  })

  it('combines all reserves of one tick in one store call', async () => {
    const store = new Watched()
    await open({ backend: store.wrap })
    await Promise.all(
      ['w', 'v', 'u'].map((worker) =>
        fixture.queue.reserve('mailer', { worker, limit: 3, waitMs: 0, signal: new AbortController().signal }),
      ),
    )
    expect(store.named('tasks.reserve')).toHaveLength(1)
    expect(store.named('tasks.reserve')[0]?.[2]).toMatchObject([
      { worker: 'w', limit: 3 },
      { worker: 'v' },
      { worker: 'u' },
    ])
  })
})
