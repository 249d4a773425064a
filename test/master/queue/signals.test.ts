/** What a master does when another one signals that tasks are pending (D232). */
import { afterEach, describe, expect, it } from '@jest/globals'
import { settled, QueueFixture } from './fixture.ts'
import { Watched } from './watched.ts'

const WORKERS = Array.from({ length: 30 }, (_, n) => `w${n}`)

let fixture: QueueFixture
let store: Watched
async function open(workers: readonly string[] = WORKERS): Promise<void> {
  store = new Watched()
  fixture = await QueueFixture.open({ backend: store.wrap })
  await fixture.workers(workers)
}
afterEach(() => fixture.close())

/** A long poll. `ids` are its tasks as soon as it has ended. */
function poll(worker: string) {
  const seen: { ids: string[] | null } = { ids: null }
  void fixture.queue
    .reserve('mailer', { worker, limit: 1, waitMs: 30_000, signal: new AbortController().signal })
    .then((leases) => (seen.ids = leases.map(({ id }) => id)))
  return seen
}

/** How many waiters each reserve contained, without the first `from`. */
const sentSince = (from: number): number[] =>
  store
    .named('tasks.reserve')
    .slice(from)
    .map((args) => (args[2] as readonly unknown[]).length)

const WAKE = { kind: 'wake', type: 'mailer' } as const
/** Submits tasks to the store as another master does, and delivers its signal. */
async function submitElsewhere(...ids: readonly string[]): Promise<void> {
  const { tasks, bus } = fixture.deps.backend
  const common = { ownId: true, key: null, tier: 1, ttlMs: null, maxAttempts: null, submittedAtMs: 0 } as const
  await tasks.submit(
    'mailer',
    60_000,
    ids.map((id) => ({ ...common, id, body: '{"payload":{}}' })),
  )
  await bus.signal('m1', WAKE)
}

describe('the signal of another master', () => {
  it('wakes a waiter', async () => {
    await open(['w'])
    const seen = poll('w')
    await settled(fixture)
    await submitElsewhere('elsewhere')
    await settled(fixture)
    expect(seen.ids).toEqual(['elsewhere'])
  })

  it('is followed by a reserve for 8 of the waiters, and by one for all once there are more tasks', async () => {
    await open()
    const polls = WORKERS.map((id) => poll(id))
    await settled(fixture)
    const before = store.named('tasks.reserve').length
    await submitElsewhere('one')
    await settled(fixture)
    expect(sentSince(before)).toEqual([8])
    expect(polls.flatMap(({ ids }) => ids ?? [])).toEqual(['one'])
    await submitElsewhere(...Array.from({ length: 29 }, (_, n) => `t${n}`))
    await settled(fixture)
    expect(sentSince(before)).toEqual([8, 8, 21])
    expect(polls.every(({ ids }) => ids?.length === 1)).toBe(true)
  })

  it('is passed on by a master without waiters, if it went to a few masters only', async () => {
    await open(['w'])
    const seen = poll('w')
    await settled(fixture)
    const signal = async (isChosen: boolean): Promise<void> => {
      await fixture.deps.backend.bus.signal('m1', isChosen ? { ...WAKE, isChosen } : WAKE)
      await settled(fixture)
    }
    await signal(true)
    expect(store.named('bus.passWake')).toEqual([])
    await submitElsewhere('one')
    await settled(fixture)
    expect(seen.ids).toEqual(['one'])
    await signal(false)
    expect(store.named('bus.passWake')).toEqual([])
    // Another master finds the task within a second.
    store.failure = (name) => (name === 'bus.passWake' ? new Error('no store') : undefined)
    await signal(true)
    expect(store.named('bus.passWake')).toEqual([['mailer']])
  })

  it('leaves every waiter in the reserve of each second, so that each gets its drain (G14)', async () => {
    await open()
    for (const id of WORKERS) poll(id)
    await settled(fixture)
    const before = store.named('tasks.reserve').length
    await fixture.time.advance(1_000)
    expect(sentSince(before)).toEqual([30])
    let respond = (): void => {}
    const responded = new Promise<void>((resolve) => (respond = resolve))
    store.gate = (name) => (name === 'tasks.reserve' ? responded : undefined)
    await submitElsewhere('one')
    await fixture.deps.backend.bus.signal('m1', WAKE) // Its task was taken by a third master.
    await fixture.time.advance(1_000)
    respond()
    await settled(fixture)
    expect(sentSince(before)).toEqual([30, 8, 29])
  })
})
