/** Tests masters and workers of two adjacent releases together on one Redis, under load. */
import { afterEach, describe, expect, it } from '@jest/globals'
import { expectNothingLost, Load } from '../e2e/load.ts'
import { allGone, lengthOf, Masters, record } from '../e2e/masters.ts'
import { ADMIN_TOKEN, type Proc } from '../e2e/fleet.ts'
import { eventually } from '../kit/index.ts'
import { withRedisServer } from '../kit/redis-server.ts'
import { forgetDocument } from '../openapi/every-response.ts'
import { CURRENT, PREVIOUS } from './release.ts'

const open: (() => Promise<void>)[] = []
afterEach(async () => {
  for (const close of open.splice(0).toReversed()) await close()
})

async function mastersOf(checkout: string): Promise<Masters> {
  const masters = await Masters.start(2, { checkout })
  open.push(() => masters.stop())
  return masters
}

function loadOn(masters: Masters): Load {
  const load = new Load(masters)
  open.push(() => load.end())
  return load
}

/** Starts an enabled worker of a release, which connects to the master at this index. */
async function startWorker(masters: Masters, place: number, id: string, checkout: string): Promise<Proc> {
  const fleet = masters.at(place)
  const before = fleet.checkout
  fleet.checkout = checkout
  const worker = masters.worker(place, id)
  fleet.checkout = before
  await fleet.configure('slow', id, { enabled: true, slots: 4 })
  return worker
}

/** Replaces the process of a master by one of another release, as a rolling upgrade does. */
async function replace(masters: Masters, place: number, checkout: string, signal: NodeJS.Signals): Promise<void> {
  await masters.end(place, signal)
  masters.at(place).checkout = checkout
  forgetDocument(masters.at(place).url)
  await masters.restart(place)
}

const appliesConfig = async (masters: Masters, place: number, id: string, slots: number): Promise<void> => {
  const gen = await masters.at(place).configure('slow', id, { slots })
  await eventually(
    `${id} has applied generation ${gen}`,
    async () => (await record(masters.at(1 - place), id)).applied_config_gen === gen,
  )
}

withRedisServer('two releases on one Redis', () => {
  it('lose no task while masters and workers are upgraded one by one, and rolled back (G1, G2)', async () => {
    const masters = await mastersOf(PREVIOUS)
    const old = [await startWorker(masters, 0, 'old-0', PREVIOUS), await startWorker(masters, 1, 'old-1', PREVIOUS)]
    const load = loadOn(masters)
    await load.continues([0, 1])
    await replace(masters, 0, CURRENT, 'SIGTERM')
    await load.continues([0, 1])
    const young = await startWorker(masters, 1, 'new-1', CURRENT) // Of the previous master.
    await appliesConfig(masters, 0, 'new-1', 3)
    await appliesConfig(masters, 1, 'old-0', 3)
    await load.continues([0, 1])
    await replace(masters, 1, CURRENT, 'SIGTERM')
    await load.continues([0, 1])
    for (const worker of old) worker.child.kill('SIGTERM')
    expect(await Promise.all(old.map(({ exited }) => exited))).toEqual([0, 0])
    await load.continues([0, 1])
    await replace(masters, 0, PREVIOUS, 'SIGTERM')
    await replace(masters, 1, PREVIOUS, 'SIGTERM')
    await load.continues([0, 1])
    young.child.kill('SIGTERM')
    expect(await young.exited).toBe(0)
    await startWorker(masters, 0, 'old-2', PREVIOUS)
    await load.end()
    await expectNothingLost(masters, load)
  }, 180_000)

  describe.each([
    { title: 'previous', victim: PREVIOUS, survivor: CURRENT },
    { title: 'current', victim: CURRENT, survivor: PREVIOUS },
  ])('beside another release, a $title', ({ victim, survivor }) => {
    it('master that is killed loses no task, and its workers continue (G1, G2)', async () => {
      const masters = await mastersOf(survivor)
      await replace(masters, 0, victim, 'SIGTERM')
      await startWorker(masters, 0, 'w-0', survivor)
      await startWorker(masters, 1, 'w-1', victim)
      const load = loadOn(masters)
      await load.continues([0, 1])
      await masters.end(0)
      await load.continues([1])
      await masters.restart(0)
      await load.continues([0, 1])
      await load.end()
      await expectNothingLost(masters, load)
    }, 120_000)

    it('worker that is killed loses no task: another worker runs it (G1, G2, G5)', async () => {
      const masters = await mastersOf(survivor)
      const killed = await startWorker(masters, 0, 'killed', victim)
      await startWorker(masters, 1, 'heir', survivor)
      const load = loadOn(masters)
      await load.continues([0, 1])
      killed.child.kill('SIGKILL')
      await load.continues([0, 1])
      await load.end()
      await expectNothingLost(masters, load)
    }, 120_000)
  })

  it('of which the previous one leases what the current one stored run no cancelled task (G28)', async () => {
    const masters = await mastersOf(CURRENT)
    const [current, previous] = [masters.at(0), masters.at(1)]
    const ids = Array.from({ length: 60 }, (_, n) => `t-${n}`)
    const submit = (some: readonly string[], fields: object = {}): Promise<unknown> =>
      current.ok('POST', '/automations/slow/tasks/batch', {
        tasks: some.map((id) => ({ task_id: id, payload: { ms: 1 }, ...fields })),
      })
    await submit(ids.slice(0, 40), { retain_seconds: 60 })
    await submit(ids.slice(40))
    const cancelled = ids.filter((_, n) => n % 2 === 0)
    await current.ok('POST', '/automations/slow/tasks/select', { action: 'cancel', task_ids: cancelled })
    const again = cancelled.slice(-10) // The others are retained, so their ids are still known.
    await submit(again)
    await replace(masters, 1, PREVIOUS, 'SIGTERM')
    await startWorker(masters, 1, 'w-1', PREVIOUS)
    await allGone(previous, ids)
    const started = masters.starts().map(({ id }) => id)
    const others = ids.filter((id) => !cancelled.includes(id))
    expect(started.filter((id) => !again.includes(id)).toSorted()).toEqual(others.toSorted())
    // The previous release does not know that the ticket of a cancelled task is stale. If it leases that ticket and the
    // one of the new task with this id in one call, it runs the new task twice, and never more often.
    const runs = again.map((id) => started.filter((each) => each === id).length)
    expect(runs.filter((count) => count < 1 || count > 2)).toEqual([])
    // The sweep of the current master repairs what the previous one did not count.
    for (const fleet of [current, previous])
      await eventually('the queue is empty', async () => (await lengthOf(fleet, '/automations/slow/queue')) === 0)
  }, 120_000)

  it('accept added fields, cancel and pause only after the previous master has ended', async () => {
    const masters = await mastersOf(CURRENT)
    await replace(masters, 1, PREVIOUS, 'SIGTERM')
    const { url } = masters.at(0)
    const call = async (method: string, path: string, body?: object) => {
      const response = await fetch(`${url}/api/v1/automations/slow/${path}`, {
        method,
        headers: { authorization: `Bearer ${ADMIN_TOKEN}`, 'content-type': 'application/json' },
        ...(body !== undefined && { body: JSON.stringify(body) }),
      })
      return { status: response.status, retryAfter: response.headers.get('retry-after'), text: await response.text() }
    }
    const labelled = { payload: { ms: 1 }, labels: { tenant: 'a' } }
    const submit = () => call('POST', 'tasks', labelled)
    await eventually('the current master knows the previous one', async () => (await submit()).status === 503)
    expect(await submit()).toMatchObject({ retryAfter: '5', text: expect.stringContaining('labels') })
    const grouped = { payload: { ms: 1 }, group_key: 'a' }
    expect(await call('POST', 'tasks', grouped)).toMatchObject({
      status: 503,
      retryAfter: '5',
      text: expect.stringContaining('group_key'),
    })
    expect(await call('DELETE', 'tasks/t-1')).toMatchObject({ status: 503, text: expect.stringContaining('cancel') })
    expect(await call('PUT', 'queue/pause')).toMatchObject({ status: 503, text: expect.stringContaining('pause') })
    expect(await call('POST', 'tasks', { payload: { ms: 1 } })).toMatchObject({ status: 200 })
    await replace(masters, 1, CURRENT, 'SIGTERM')
    await eventually('the field is accepted', async () => (await submit()).status === 200)
    // The type has no groups, which the previous release would not accept in its definition.
    expect(await call('POST', 'tasks', grouped)).toMatchObject({ status: 422, text: expect.stringContaining('groups') })
  }, 120_000)
})
