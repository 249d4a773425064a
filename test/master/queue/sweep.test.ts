import { afterEach, describe, expect, it } from '@jest/globals'
import { UNAVAILABLE, entryOf, settled, QueueFixture, type QueueFixtureOptions } from './fixture.ts'
import { Watched } from './watched.ts'

let fixture: QueueFixture
async function open(options: QueueFixtureOptions = {}): Promise<QueueFixture> {
  fixture = await QueueFixture.open(options)
  await fixture.workers(['w', 'v'])
  return fixture
}
afterEach(() => fixture.close())

describe('the sweep', () => {
  it('moves the task of a dead worker to a waiting one within the visibility timeout and one sweep (D26)', async () => {
    await open()
    const id = await fixture.submit()
    const [lost] = await fixture.take('w')
    let leases: { task_id: string; attempt: number; token: number }[] = []
    const waitFor = async (): Promise<void> => {
      while (leases.length === 0)
        leases = [...(await fixture.rpc('v', 'tasks.reserve', { limit: 1, wait_ms: 30_000 })).tasks]
    }
    const found = waitFor()
    await fixture.time.advance(59_000)
    expect(leases).toEqual([])
    await fixture.time.advance(12_100)
    await found
    expect(leases).toMatchObject([{ task_id: id, attempt: 0 }])
    expect(leases[0]?.token).toBeGreaterThan(lost?.token ?? Infinity)
    expect(await fixture.metric('svc_leases_lost_total')).toContain('outcome="requeued"} 1')
  })

  it('moves a task to the dead letters after exactly the allowed number of lost leases (D26, G8)', async () => {
    await open({ settings: { maxLostLeases: 2 } })
    const id = await fixture.submit()
    for (let lost = 1; lost <= 2; lost += 1) {
      expect(await fixture.take('w')).toHaveLength(1)
      await fixture.time.advance(72_000)
    }
    expect(await fixture.place(id)).toBe('dead')
    const { json } = await fixture.call('GET', '/automations/mailer/dead')
    expect(json).toMatchObject({ length: 1, items: [{ id, attempt: 0, last_error: expect.stringContaining('2') }] })
  })

  it('promotes a due retry even while no worker reserves (D28)', async () => {
    await open()
    const id = await fixture.submit()
    const [lease] = await fixture.take('w')
    await fixture.rpc('w', 'tasks.nack', {
      tasks: [{ task_id: id, token: lease?.token ?? 0, error: 'x', retry_in_ms: 1_000 }],
    })
    await fixture.time.advance(12_100)
    expect(await fixture.place(id)).toBe('pending')
  })

  it('continues until a long backlog is processed', async () => {
    await open()
    const tasks = Array.from({ length: 1_000 }, () => ({ payload: { to: 'a@b' } }))
    for (let batch = 0; batch < 2; batch += 1)
      await fixture.call('POST', '/automations/mailer/tasks/batch', { body: { tasks } })
    for (let taken = 0; taken < 2_000; taken += 500) expect(await fixture.take('w', 500)).toHaveLength(500)
    await fixture.time.advance(72_000)
    expect((await fixture.call('GET', '/automations/mailer/queue?n=1')).json).toMatchObject({ length: 2_000 })
  })

  it('of a type whose store call hangs delays no other type, and never overlaps itself', async () => {
    const store = new Watched()
    store.gate = (name) =>
      name === 'tasks.sweep' && store.named(name).at(-1)?.[0] === 'slow' ? new Promise(() => {}) : undefined
    fixture = await QueueFixture.open({ backend: store.wrap, entries: [entryOf('slow'), entryOf('mailer')] })
    await fixture.time.advance(100_000)
    const swept = store.named('tasks.sweep').map(([type]) => type)
    expect(swept.filter((type) => type === 'slow')).toHaveLength(1)
    expect(swept.filter((type) => type === 'mailer').length).toBeGreaterThanOrEqual(9)
    fixture = await QueueFixture.open() // The sweep of the first one hangs by design.
  })

  it('skips continuous automations, and spreads the types over the period', async () => {
    const store = new Watched()
    const seen: [string, number][] = []
    store.gate = (name) =>
      void (name === 'tasks.sweep' && seen.push([String(store.named(name).at(-1)?.[0]), fixture.time.monotonicMs()]))
    await open({
      backend: store.wrap,
      entries: [entryOf('mailer'), entryOf('second'), entryOf('feed', { kind: 'ContinuousAutomation' })],
    })
    await fixture.time.advance(60_000)
    expect(new Set(seen.map(([type]) => type))).toEqual(new Set(['mailer', 'second']))
    const firstOf = (type: string): number => seen.find(([each]) => each === type)?.[1] ?? 0
    expect(Math.abs(firstOf('mailer') - firstOf('second'))).toBeGreaterThan(100)
    for (const type of ['mailer', 'second']) {
      const at = seen.filter(([each]) => each === type).map(([, ms]) => ms)
      expect(at[0]).toBeLessThanOrEqual(10_000)
      for (const [index, ms] of at.slice(1).entries())
        expect(Math.abs(ms - (at[index] ?? 0) - 10_000)).toBeLessThanOrEqual(1_000)
    }
  })

  it('leaves a queue to the masters that sweep it, and asks before each sweep', async () => {
    const store = new Watched()
    const mine = new Set(['mailer'])
    await open({
      backend: store.wrap,
      entries: [entryOf('mailer'), entryOf('second')],
      isSweeping: (type) => mine.has(type),
    })
    await fixture.time.advance(30_000)
    expect(new Set(store.named('tasks.sweep').map(([type]) => type))).toEqual(new Set(['mailer']))
    mine.add('second').delete('mailer')
    const before = store.named('tasks.sweep').length
    await fixture.time.advance(30_000)
    expect(
      new Set(
        store
          .named('tasks.sweep')
          .slice(before)
          .map(([type]) => type),
      ),
    ).toEqual(new Set(['second']))
  })

  it('survives an unavailable store, logs it once per minute, and catches up', async () => {
    const store = new Watched()
    await open({ backend: store.wrap })
    await fixture.submit()
    await fixture.take('w')
    store.failure = (name) => (name === 'tasks.sweep' ? UNAVAILABLE : undefined)
    await fixture.time.advance(119_000)
    expect(fixture.log.lines.filter(({ message }) => message.startsWith('failed to sweep'))).toHaveLength(2)
    store.failure = () => undefined
    await fixture.time.advance(12_000)
    await settled(fixture)
    expect((await fixture.call('GET', '/automations/mailer/queue')).json).toMatchObject({ length: 1 })
  })
})
