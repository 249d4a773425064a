/** Tests programs of one release with a master of the other: worker, command line, published client and store. */
import { afterEach, describe, expect, it } from '@jest/globals'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { ADMIN_TOKEN, Fleet, WORKER_TOKEN, type Proc } from '../e2e/fleet.ts'
import { startMuster } from '../kit/built-command.ts'
import { eventually } from '../kit/index.ts'
import { startRedis, withRedisServer } from '../kit/redis-server.ts'
import { rolloutReport } from '../kit/rollout-report.ts'
import { forgetDocument } from '../openapi/every-response.ts'
import { CURRENT, PREVIOUS, settingsOf } from './release.ts'

const SLOW = '/automations/slow'

const open: (() => Promise<void>)[] = []
afterEach(async () => {
  for (const close of open.splice(0).toReversed()) await close()
})

/** A fleet whose master is of this release. */
async function fleetOf(checkout: string): Promise<Fleet> {
  const fleet = new Fleet()
  open.push(() => fleet.stop())
  await startMaster(fleet, checkout)
  return fleet
}

async function startMaster(fleet: Fleet, checkout: string): Promise<void> {
  fleet.checkout = checkout
  await fleet.startMaster(settingsOf(checkout))
}

async function startWorker(fleet: Fleet, checkout: string, id: string): Promise<void> {
  fleet.checkout = checkout
  const labels = { SVC_WORKER_LABELS: 'zone=eu-1' } // A previous worker does not read it.
  fleet.startWorker('slow', id, { ...settingsOf(checkout), ...labels, NOTES: notesOf(fleet) })
  await fleet.configure('slow', id, { enabled: true, slots: 2 })
}

const notesOf = ({ directory }: Fleet): string => join(directory, 'notes')
const isGone = async (fleet: Fleet, id: string): Promise<boolean> =>
  (await fleet.call('GET', `${SLOW}/tasks/${id}`)).status === 404

const appliedGen = async (fleet: Fleet, id: string): Promise<number | null> => {
  const path = `${SLOW}/workers/${id}`
  return (await fleet.ok<{ applied_config_gen: number | null }>('GET', path)).applied_config_gen
}

/** Runs the command line of a release. */
async function muster(fleet: Fleet, checkout: string, ...args: readonly string[]) {
  const run = startMuster(args, { SVC_MASTER_URL: fleet.url, SVC_API_TOKEN: ADMIN_TOKEN }, checkout)
  return { code: await run.exited, output: run.output() }
}

const ORDERS = [
  { title: 'a current program with a previous master', master: PREVIOUS, program: CURRENT },
  { title: 'a previous program with a current master', master: CURRENT, program: PREVIOUS },
]

describe.each(ORDERS)('$title', ({ master, program }) => {
  it('runs tasks in a worker, with labels and a delay, and follows its config', async () => {
    const fleet = await fleetOf(master)
    await startWorker(fleet, program, 'w-1')
    const tasks = [{ payload: { ms: 1 } }, { payload: { ms: 1 }, delay_seconds: 0.2 }].map((task) =>
      // The previous release rejects fields that it does not know.
      master === CURRENT ? { ...task, labels: { tenant: 'a' }, retry: { base_seconds: 1 } } : task,
    )
    const { results } = await fleet.ok<{ results: { task_id: string; queued: boolean }[] }>(
      'POST',
      `${SLOW}/tasks/batch`,
      { tasks },
    )
    expect(results.map(({ queued }) => queued)).toEqual([true, true])
    await eventually('both tasks are done', async () =>
      (await Promise.all(results.map(({ task_id: id }) => isGone(fleet, id)))).every(Boolean),
    )
    expect(new Set(readFileSync(notesOf(fleet), 'utf8').match(/(?<=^start )\S+/gm))).toEqual(
      new Set(results.map(({ task_id: id }) => id)),
    )
    const gen = await fleet.configure('slow', 'w-1', { slots: 5 })
    await eventually('the worker applies the config', async () => (await appliedGen(fleet, 'w-1')) === gen)
  }, 60_000)

  it('serves the command line', async () => {
    const fleet = await fleetOf(master)
    await startWorker(fleet, program, 'w-1')
    const run = (...args: readonly string[]) => muster(fleet, program, ...args)
    expect(await run('workers', 'ls', 'slow')).toMatchObject({ code: 0, output: expect.stringContaining('slow/w-1') })
    expect(await run('config', 'set', 'slow/w-1', 'slots=3', '--wait')).toMatchObject({ code: 0 })
    expect(await run('config', 'set', 'slow/w-1', 'enabled=false')).toMatchObject({ code: 0 })
    expect(await run('queue', 'pause', 'slow', '--note', 'upgrade')).toMatchObject({ code: 0 })
    const submit = ['tasks', 'submit', 'slow', '--payload', '{"ms":1}', '--task-id', 't-1']
    expect(await run(...submit, '--delay', '600')).toMatchObject({ code: 0 })
    expect(await run('tasks', 'get', 'slow', 't-1')).toMatchObject({
      code: 0,
      output: expect.stringContaining('scheduled'),
    })
    expect(await run('queue', 'resume', 'slow')).toMatchObject({ code: 0 })
    if (program === CURRENT)
      expect(await run(...submit.slice(0, -2), '--label', 'tenant=a')).toMatchObject({
        code: 1,
        output: expect.stringContaining('labels'),
      })
  }, 60_000)

  it('serves the published client', async () => {
    const fleet = await fleetOf(master)
    const address = pathToFileURL(join(program, 'dist/client/public.js')).href
    const { MusterClient, MusterError } = (await import(address)) as typeof import('../../src/client/public.ts')
    const client = new MusterClient({ url: fleet.url, token: ADMIN_TOKEN })
    const slow = client.automation('slow')
    const task = await slow.submit({ ms: 1 }, { delaySeconds: 600 })
    expect(await slow.getTask(task.id)).toMatchObject({ place: 'scheduled' })
    const outcomes = await slow.submitMany([{ payload: { ms: 1 } }, { payload: { ms: 'long' } }])
    expect(outcomes.map(({ kind }) => kind)).toEqual(['submitted', 'failed'])
    expect((await slow.queue()).length).toBe(1)
    if (program === PREVIOUS) return
    const refused = await slow.submit({ ms: 1 }, { labels: { tenant: 'a' } }).catch((error: unknown) => error)
    expect(refused).toBeInstanceOf(MusterError)
    expect(String(refused)).toContain('labels')
  }, 60_000)
})

it.each([
  { master: CURRENT, program: CURRENT, ended: true },
  { master: PREVIOUS, program: CURRENT, ended: undefined },
  { master: CURRENT, program: PREVIOUS, ended: false },
])(
  'shows an orderly end only if both are current (D142)',
  async ({ master, program, ended }) => {
    const fleet = await fleetOf(master)
    await startWorker(fleet, program, 'w-1')
    const record = () => fleet.ok<Record<string, unknown>>('GET', `${SLOW}/workers/w-1`)
    await eventually('the worker runs', async () => (await record())['applied_config_gen'] === 1)
    await fleet.ok('POST', `${SLOW}/workers/w-1/drain`)
    await eventually('the worker has ended', async () => (await record())['connected'] === false)
    expect((await record())['ended']).toBe(ended)
  },
  60_000,
)

describe('the SQLite file of the previous release', () => {
  it('is opened by the current one with every task in its place, and again by the previous one', async () => {
    const fleet = await fleetOf(PREVIOUS)
    await startWorker(fleet, PREVIOUS, 'w-1')
    const gen = await fleet.configure('slow', 'w-1', { enabled: false })
    await eventually('the worker is disabled', async () => (await appliedGen(fleet, 'w-1')) === gen)
    await fleet.ok('POST', `${SLOW}/tasks`, { payload: { ms: 1 } })
    await fleet.ok('POST', `${SLOW}/tasks`, { task_id: 'later', payload: { ms: 1 }, delay_seconds: 600 })
    // A reserve that was sent before the worker was disabled may lease the task, which is then released.
    let queue: unknown
    await eventually('the task is pending', async () => {
      queue = await fleet.ok('GET', `${SLOW}/queue`)
      return (queue as { length: number }).length === 1
    })
    const history = await fleet.ok('GET', `${SLOW}/workers/w-1/config/history`)
    for (const checkout of [CURRENT, PREVIOUS]) {
      await fleet.stopMaster()
      forgetDocument(fleet.url)
      await startMaster(fleet, checkout)
      expect(await fleet.ok('GET', `${SLOW}/queue`)).toEqual(queue)
      expect(await fleet.ok('GET', `${SLOW}/workers/w-1/config/history`)).toEqual(history)
      expect(await fleet.ok('GET', `${SLOW}/tasks/later`)).toMatchObject({ place: 'scheduled' })
    }
  }, 60_000)
})

withRedisServer('a store with revisions, which the previous release does not know', () => {
  it.each(['SQLite', 'Redis'] as const)(
    'on %s is served by it, and a change that it makes shows in the label (D132, D133)',
    async (kind) => {
      const redis = kind === 'Redis' ? await startRedis({ appendfsync: 'always' }) : undefined
      if (redis !== undefined) open.push(() => redis.close())
      const fleet = new Fleet(redis?.url)
      open.push(() => fleet.stop())
      const restart = async (checkout: string): Promise<void> => {
        await fleet.stopMaster()
        forgetDocument(fleet.url)
        await startMaster(fleet, checkout)
      }
      const record = () => fleet.ok<Record<string, unknown>>('GET', `${SLOW}/workers/w-1`)
      const history = async () => {
        const rows = await fleet.ok<{ config: object }[]>('GET', `${SLOW}/workers/w-1/config/history?limit=3`)
        return rows.map(({ config }) => config)
      }
      const apply = async (): Promise<unknown> => {
        const { epoch } = await fleet.ok<{ epoch: string }>('GET', '/me')
        const { config_gen: gen } = await record()
        const workers = [{ worker_id: 'w-1', if_match: `${epoch}.${String(gen)}`, if_managed_by: null }]
        return fleet.ok('POST', `${SLOW}/configs`, { revision: 'r1', workers })
      }
      await startMaster(fleet, CURRENT)
      await startWorker(fleet, CURRENT, 'w-1')
      await fleet.ok('PUT', `${SLOW}/revisions/r1`, { config: { enabled: true, slots: 3 } })
      expect(await apply()).toMatchObject({ results: [{ changed: ['slots'] }] })
      expect(await record()).toMatchObject({ config_revision: 'r1/-' })
      await restart(PREVIOUS)
      expect(await record()).toMatchObject({ config: { slots: 3 } })
      expect((await history())[0]).toEqual({})
      await fleet.configure('slow', 'w-1', { slots: 4 })
      await restart(CURRENT)
      expect(await record()).toMatchObject({ config_revision: 'r1/*', config: { slots: 4 } })
      expect(await history()).toMatchObject([{ slots: 4 }, { slots: 3 }, { slots: 2 }])
      expect(await apply()).toMatchObject({ results: [{ changed: ['slots'] }] })
      expect(await record()).toMatchObject({ config_revision: 'r1/-', config: { slots: 3 } })
    },
    60_000,
  )
})

withRedisServer('a worker that ended in an orderly way', () => {
  it.each(['SQLite', 'Redis'] as const)(
    'on %s is not shown as such after it registered at a previous master and was killed (D142)',
    async (kind) => {
      const redis = kind === 'Redis' ? await startRedis({ appendfsync: 'always' }) : undefined
      if (redis !== undefined) open.push(() => redis.close())
      const fleet = new Fleet(redis?.url)
      open.push(() => fleet.stop())
      const record = () => fleet.ok<Record<string, unknown>>('GET', `${SLOW}/workers/w-1`)
      const becomes = (connected: boolean) =>
        eventually(`connected is ${connected}`, async () => (await record())['connected'] === connected)
      const joinWorker = () => fleet.startWorker('slow', 'w-1', { ...settingsOf(CURRENT), NOTES: notesOf(fleet) })
      await startMaster(fleet, CURRENT)
      const first = joinWorker()
      await eventually(
        'the worker is registered',
        async () => (await fleet.call('GET', `${SLOW}/workers/w-1`)).status === 200,
      )
      first.child.kill('SIGTERM')
      expect(await first.exited).toBe(0)
      await becomes(false)
      expect(await record()).toMatchObject({ ended: true })
      await fleet.stopMaster()
      forgetDocument(fleet.url)
      await startMaster(fleet, PREVIOUS)
      const second = joinWorker()
      await becomes(true)
      second.child.kill('SIGKILL')
      await becomes(false)
      await fleet.stopMaster()
      forgetDocument(fleet.url)
      await startMaster(fleet, CURRENT)
      expect(await record()).toMatchObject({ connected: false, ended: false })
    },
    60_000,
  )
})

withRedisServer('a store with enrolment rules, which the previous release does not know', () => {
  it.each(['SQLite', 'Redis'] as const)(
    'on %s is served by it, which enrols no worker, and works again (D141)',
    async (kind) => {
      const redis = kind === 'Redis' ? await startRedis({ appendfsync: 'always' }) : undefined
      if (redis !== undefined) open.push(() => redis.close())
      const fleet = new Fleet(redis?.url)
      open.push(() => fleet.stop())
      const restart = async (checkout: string): Promise<void> => {
        await fleet.stopMaster()
        forgetDocument(fleet.url)
        await startMaster(fleet, checkout)
      }
      const joinWorker = async (id: string): Promise<void> => {
        fleet.startWorker('slow', id, { ...settingsOf(CURRENT), NOTES: notesOf(fleet) })
        const path = `${SLOW}/workers/${id}`
        await eventually('the worker is registered', async () => (await fleet.call('GET', path)).status === 200)
      }
      const configOf = async (id: string) =>
        (await fleet.ok<{ config: { enabled: boolean; slots: number } }>('GET', `${SLOW}/workers/${id}`)).config
      await startMaster(fleet, CURRENT)
      await fleet.ok('PUT', `${SLOW}/revisions/r1`, { config: { enabled: true, slots: 3 } })
      await fleet.ok('PUT', `${SLOW}/enrolments/e1`, { id_patterns: ['w-*'], revision: 'r1' })
      await joinWorker('w-1')
      expect(await configOf('w-1')).toMatchObject({ enabled: true, slots: 3 })
      await restart(PREVIOUS)
      await joinWorker('w-2')
      expect(await configOf('w-1')).toMatchObject({ enabled: true, slots: 3 })
      expect(await configOf('w-2')).toMatchObject({ enabled: false, slots: 1 })
      await restart(CURRENT)
      await joinWorker('w-3')
      expect(await configOf('w-2')).toMatchObject({ enabled: false, slots: 1 })
      expect(await configOf('w-3')).toMatchObject({ enabled: true, slots: 3 })
    },
    60_000,
  )
})

withRedisServer('a store with rollout reports, which the previous release does not know', () => {
  it.each(['SQLite', 'Redis'] as const)(
    'on %s is served by it, and shows them again (D148)',
    async (kind) => {
      const redis = kind === 'Redis' ? await startRedis({ appendfsync: 'always' }) : undefined
      if (redis !== undefined) open.push(() => redis.close())
      const fleet = new Fleet(redis?.url)
      open.push(() => fleet.stop())
      const restart = async (checkout: string): Promise<void> => {
        await fleet.stopMaster()
        forgetDocument(fleet.url)
        await startMaster(fleet, checkout)
      }
      const list = () => fleet.ok<{ rollouts: { rollout: string }[] }>('GET', `${SLOW}/rollouts`)
      await startMaster(fleet, CURRENT)
      await fleet.ok('PUT', `${SLOW}/rollouts/s1`, rolloutReport())
      const stored = await list()
      await restart(PREVIOUS)
      expect(await fleet.ok('GET', `${SLOW}/workers`)).toEqual([])
      await restart(CURRENT)
      expect(await list()).toEqual(stored)
    },
    60_000,
  )
})

withRedisServer('a worker with labels', () => {
  it.each(['SQLite', 'Redis'] as const)(
    'on %s works at a previous master, and a current one shows its labels (D136)',
    async (kind) => {
      const redis = kind === 'Redis' ? await startRedis({ appendfsync: 'always' }) : undefined
      if (redis !== undefined) open.push(() => redis.close())
      const fleet = new Fleet(redis?.url)
      open.push(() => fleet.stop())
      await startMaster(fleet, PREVIOUS)
      await startWorker(fleet, CURRENT, 'w-1')
      const record = () => fleet.ok<Record<string, unknown>>('GET', `${SLOW}/workers/w-1`)
      const followsConfig = async (): Promise<void> => {
        const gen = await fleet.configure('slow', 'w-1', { enabled: true })
        await eventually('the worker applies the config', async () => (await appliedGen(fleet, 'w-1')) === gen)
      }
      await followsConfig()
      expect(await record()).not.toHaveProperty('labels')
      for (const checkout of [CURRENT, PREVIOUS, CURRENT]) {
        await fleet.stopMaster()
        forgetDocument(fleet.url)
        await startMaster(fleet, checkout)
        await followsConfig()
        const { labels } = await record()
        expect(labels).toEqual(checkout === CURRENT ? { zone: 'eu-1' } : undefined)
      }
    },
    60_000,
  )
})

/** What the previous release says about a store that needs more than it knows. */
const REFUSALS = { SQLite: 'was written by a newer version', Redis: 'was written by a newer release' }

withRedisServer('a store with a task that the previous release does not know', () => {
  it.each(['SQLite', 'Redis'] as const)(
    'on %s is refused by it in words, and keeps its tasks (D121)',
    async (kind) => {
      const redis = kind === 'Redis' ? await startRedis({ appendfsync: 'always' }) : undefined
      if (redis !== undefined) open.push(() => redis.close())
      const fleet = new Fleet(redis?.url)
      open.push(() => fleet.stop())
      const startPrevious = (): Proc => {
        fleet.checkout = PREVIOUS
        return fleet.spawn('master', {
          SVC_LISTEN: '127.0.0.1:0',
          SVC_BACKEND_URL: redis?.url ?? `filedb://${join(fleet.directory, 'master.db')}`,
          SVC_ADMIN_TOKEN: ADMIN_TOKEN,
          SVC_WORKER_TOKEN: WORKER_TOKEN,
          ...settingsOf(PREVIOUS),
        })
      }
      await startMaster(fleet, CURRENT)
      await fleet.ok('POST', `${SLOW}/tasks`, { task_id: 'plain', payload: { ms: 1 } })
      await fleet.stopMaster()
      const accepted = startPrevious()
      await eventually(
        'the previous release serves the store',
        async () => accepted.output().includes('the master listens'),
        {
          context: () => accepted.output(),
        },
      )
      accepted.child.kill('SIGTERM')
      expect(await accepted.exited).toBe(0)
      await startMaster(fleet, CURRENT)
      await fleet.ok('POST', `${SLOW}/tasks`, { task_id: 'only', payload: { ms: 1 }, unique_key: 'k' })
      await fleet.stopMaster()
      const refused = startPrevious()
      expect(await refused.exited).toBe(1)
      expect(refused.output()).toContain(REFUSALS[kind])
      forgetDocument(fleet.url)
      await startMaster(fleet, CURRENT)
      expect(await fleet.ok('GET', `${SLOW}/queue`)).toMatchObject({ length: 2 })
    },
    60_000,
  )
})
