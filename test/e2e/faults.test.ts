/** Tests faults of real processes: stopped, killed, duplicated, and with plugins that misbehave. */
import { afterEach, describe, expect, it } from '@jest/globals'
import { readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { eventually, SLACK } from '../kit/index.ts'
import { Fleet, type Proc } from './fleet.ts'

const AUTOMATIONS = { SVC_AUTOMATIONS: join(process.cwd(), 'test/e2e/automations/faulty.mjs') }
const SLOW = '/automations/slow'
const BAD = '/automations/bad'

interface Output {
  readonly payload: { readonly task_id: string; readonly pid: number }
}
interface Dead {
  readonly items: readonly { readonly payload: { readonly way: string }; readonly last_error: string }[]
}
interface WorkerRecord {
  readonly connected: boolean
  readonly state: string
  readonly config_gen: number
  readonly applied_config_gen: number | null
  readonly current_stats: { readonly slots: number } | null
}

let fleet: Fleet
afterEach(() => fleet.stop())

async function fixture(): Promise<Proc> {
  fleet = new Fleet()
  return fleet.startMaster(AUTOMATIONS)
}

const notesFile = (): string => join(fleet.directory, 'notes')
const worker = (type: string, id: string, settings: Readonly<Record<string, string>> = {}): Proc =>
  fleet.startWorker(type, id, { ...AUTOMATIONS, NOTES: notesFile(), ...settings })
const record = (type: string, id: string): Promise<WorkerRecord> =>
  fleet.ok('GET', `/automations/${type}/workers/${id}`)
const length = async (path: string): Promise<number> => (await fleet.ok<{ length: number }>('GET', path)).length
const submit = async (automation: string, payload: object): Promise<string> =>
  (await fleet.ok<{ task_id: string }>('POST', `${automation}/tasks`, { payload })).task_id
const isGone = async (id: string): Promise<boolean> => (await fleet.call('GET', `${SLOW}/tasks/${id}`)).status === 404

/** Every start of a task so far. */
function starts(): readonly { readonly id: string; readonly pid: number; readonly atMs: number }[] {
  const lines = (() => {
    try {
      return readFileSync(notesFile(), 'utf8').trim().split('\n')
    } catch {
      return [] // No task has started.
    }
  })()
  return lines
    .map((line) => line.split(' '))
    .map(([, id = '', pid, atMs]) => ({ id, pid: Number(pid), atMs: Number(atMs) }))
}

describe('a worker', () => {
  it('that was stopped past its leases settles no task and runs no task whose lease it lost (G5)', async () => {
    await fixture()
    const sleeper = worker('slow', 'sleeper')
    await fleet.configure('slow', 'sleeper', { enabled: true, slots: 2 })
    const tasks = [await submit(SLOW, { ms: 300 }), await submit(SLOW, { ms: 300 })]
    await eventually('both run', async () => starts().length === 2)
    process.kill(sleeper.child.pid ?? 0, 'SIGSTOP')
    const heir = worker('slow', 'heir')
    await fleet.configure('slow', 'heir', { enabled: true, slots: 2 })
    await eventually('the heir has done both', async () => (await Promise.all(tasks.map(isGone))).every(Boolean))
    process.kill(sleeper.child.pid ?? 0, 'SIGCONT')
    await eventually(
      'the sleeper is notified twice',
      async () =>
        sleeper.output().split('its lease had expired').length + sleeper.output().split('lease lost:').length === 4,
      { context: sleeper.output },
    )

    expect(starts().map(({ pid }) => pid)).toEqual([sleeper, sleeper, heir, heir].map(({ child }) => child.pid))
    const done = await fleet.ok<Output[]>('POST', `${SLOW}/output/pop`, { n: 10 })
    expect(
      done
        .filter(({ payload }) => payload.pid === heir.child.pid)
        .map(({ payload }) => payload.task_id)
        .toSorted(),
    ).toEqual(tasks.toSorted())
    const next = await submit(SLOW, { ms: 1 })
    await eventually('the next task is done', () => isGone(next))
  }, 60_000)

  it('releases its tasks at SIGTERM without counting an attempt, and exits with 0 (G8, G14)', async () => {
    await fixture()
    const leaving = worker('slow', 'leaving', { SVC_DRAIN_TIMEOUT_SECONDS: '1' })
    await fleet.configure('slow', 'leaving', { enabled: true, slots: 3 })
    const registered = performance.now()
    await eventually('its slots are reported', async () => (await record('slow', 'leaving')).current_stats?.slots === 3)
    expect(performance.now() - registered).toBeLessThan(5_000 * SLACK)
    for (let n = 0; n < 6; n += 1) await submit(SLOW, { ms: 60_000 })
    await eventually('three run', async () => starts().length === 3)
    leaving.child.kill('SIGTERM')
    expect(await leaving.exited).toBe(0)
    const { items } = await fleet.ok<{ items: readonly { attempt: number }[] }>('GET', `${SLOW}/queue`)
    // All are pending immediately; none waits for the end of a lease.
    expect(items.map(({ attempt }) => attempt)).toEqual([0, 0, 0, 0, 0, 0])
  }, 60_000)

  it('survives a misbehaving plugin, reports each fault, and writes few log lines (G17, G25)', async () => {
    await fixture()
    const hardy = worker('bad', 'hardy')
    await fleet.configure('bad', 'hardy', { enabled: true, slots: 2, max_attempts: 1 })
    const failing = ['throws immediately', 'throws nothing', 'throws a trap', 'emits 2 MiB', 'emits another schema']
    for (const way of ['never ends', ...failing, 'leaves a rejection', 'does well']) await submit(BAD, { way })
    await eventually(
      'all but one are settled',
      async () => (await length(`${BAD}/output/length`)) === 1 && (await length(`${BAD}/dead`)) === failing.length,
      { context: hardy.output },
    )

    const { items } = await fleet.ok<Dead>('GET', `${BAD}/dead`)
    expect(Object.fromEntries(items.map(({ payload, last_error: error }) => [payload.way, error]))).toEqual({
      'throws immediately': 'no good',
      'throws nothing': 'threw null',
      'throws a trap': 'threw something that cannot be read',
      'emits 2 MiB': expect.stringContaining('the maximum is 1048576'),
      'emits another schema': expect.stringContaining('/text'),
    })
    expect(hardy.child.exitCode).toBeNull()
    expect(hardy.output().split('\n').length).toBeLessThan(30)
  }, 60_000)

  it('with an uncaught exception fails that task, releases the others and exits with 1 (D95)', async () => {
    await fixture()
    const crashing = worker('bad', 'crashing')
    await fleet.configure('bad', 'crashing', { enabled: true, slots: 2, max_attempts: 1 })
    await submit(BAD, { way: 'never ends' })
    await submit(BAD, { way: 'throws from a timer' })
    expect(await crashing.exited).toBe(1)

    const { items } = await fleet.ok<Dead>('GET', `${BAD}/dead`)
    expect(items.map(({ payload, last_error: error }) => [payload.way, error])).toEqual([
      ['throws from a timer', 'an uncaught exception ended the worker: from a timer'],
    ])
    // Released immediately and without counting an attempt, instead of after the visibility timeout of 60 s.
    const queue = await fleet.ok<{ items: readonly unknown[] }>('GET', `${BAD}/queue`)
    expect(queue.items).toMatchObject([{ payload: { way: 'never ends' }, attempt: 0 }])
    expect(crashing.output()).toContain('uncaught exception')
  }, 60_000)

  it('warns at its start when it sends its token unencrypted to another host', async () => {
    await fixture()
    const remote = worker('slow', 'remote', { SVC_MASTER_URL: fleet.url.replace('127.0.0.1', '0.0.0.0') })
    await eventually(
      'the warning is logged',
      async () => remote.output().includes('the token is sent unencrypted to 0.0.0.0'),
      { context: remote.output },
    )
  }, 60_000)

  it('exits immediately at a second SIGTERM while it is draining', async () => {
    await fixture()
    const stubborn = worker('bad', 'stubborn')
    await fleet.configure('bad', 'stubborn', { enabled: true, slots: 1 })
    await submit(BAD, { way: 'never ends' })
    await eventually('the task runs', async () => (await length(`${BAD}/queue`)) === 0)
    stubborn.child.kill('SIGTERM')
    await eventually('the first signal was noticed', async () => stubborn.output().includes('stopping'))
    // A duplicate of the same key press: npm forwards a signal that the terminal already sent.
    stubborn.child.kill('SIGTERM')
    await new Promise((resolve) => setTimeout(resolve, 1_100))
    expect(stubborn.child.exitCode).toBeNull()
    stubborn.child.kill('SIGTERM')
    expect(await stubborn.exited).toBeNull()
    expect(stubborn.child.signalCode).toBe('SIGTERM')
    expect(stubborn.output()).toContain('stopping immediately')
  }, 60_000)

  it('that shares its id with another backs off, and logs what to do (D11)', async () => {
    await fixture()
    const twins = [worker('slow', 'twin'), worker('slow', 'twin')]
    await eventually('both were replaced', async () => twins.every(({ output }) => output().includes('SVC_WORKER_ID')))
    await eventually(
      'one of them waits for seconds',
      async () => twins.some(({ output }) => /retry_in_ms=[2-9]\d{3}/.test(output())),
      { context: () => twins.map(({ output }) => output()).join('\n') },
    )
    expect(
      twins
        .map(({ output }) => output())
        .join('\n')
        .split('replaced by a newer connection').length,
    ).toBeLessThan(12)
  }, 60_000)
})

describe('a fleet', () => {
  it('keeps accepted tasks and never runs an acked one again while its processes are killed (G1, G2, G3)', async () => {
    let master = await fixture()
    const workers = ['a', 'b'].map((id) => worker('slow', id))
    for (const id of ['a', 'b']) await fleet.configure('slow', id, { enabled: true, slots: 8 })
    const accepted = new Set<string>()
    const goneAtMs = new Map<string, number>()
    const load = loaded(accepted, goneAtMs)
    for (const victim of ['a', 'master', 'b', 'master'] as const) {
      const before = goneAtMs.size
      await eventually('more tasks are done', async () => goneAtMs.size > before + 20)
      if (victim === 'master') {
        master.child.kill('SIGKILL')
        await master.exited
        master = await fleet.startMaster(AUTOMATIONS)
      } else {
        const index = victim === 'a' ? 0 : 1
        workers[index]?.child.kill('SIGKILL')
        await workers[index]?.exited
        workers[index] = worker('slow', victim)
      }
    }
    await load.stop()
    await eventually(
      'every accepted task is done',
      async () => {
        for (const id of accepted) if (!goneAtMs.has(id)) await look(id, goneAtMs)
        return goneAtMs.size === accepted.size
      },
      { context: () => `${goneAtMs.size} of ${accepted.size}`, withinMs: 60_000 },
    )

    const started = new Set(starts().map(({ id }) => id))
    expect([...accepted].filter((id) => !started.has(id))).toEqual([])
    expect(starts().filter(({ id, atMs }) => atMs > (goneAtMs.get(id) ?? Infinity))).toEqual([])
    expect(await length(`${SLOW}/dead`)).toBe(0)
  }, 120_000)

  it('applies new configs after the master lost its store (D15)', async () => {
    const master = await fixture()
    worker('slow', 'w')
    for (const slots of [1, 2, 3]) await fleet.configure('slow', 'w', { enabled: true, slots })
    await eventually('the third config is applied', async () => (await record('slow', 'w')).applied_config_gen === 3)
    master.child.kill('SIGTERM')
    expect(await master.exited).toBe(0)
    for (const suffix of ['', '-wal', '-shm']) rmSync(join(fleet.directory, `master.db${suffix}`), { force: true })
    await fleet.startMaster(AUTOMATIONS)
    const gen = await fleet.configure('slow', 'w', { enabled: true, slots: 4 })
    await eventually(
      'a lower generation is applied',
      async () => (await record('slow', 'w')).applied_config_gen === gen,
    )
    expect(gen).toBe(1)
    const task = await submit(SLOW, { ms: 1 })
    await eventually('the task is done', () => isGone(task))
  }, 60_000)
})

async function look(id: string, goneAtMs: Map<string, number>): Promise<void> {
  const answer = await fleet.call('GET', `${SLOW}/tasks/${id}`).catch(() => null)
  if (answer?.status === 404) goneAtMs.set(id, Date.now())
}

/** Submits and watches tasks until it is stopped. A call that a killed master interrupted is not repeated. */
function loaded(accepted: Set<string>, goneAtMs: Map<string, number>): { stop(): Promise<void> } {
  const stopped = new AbortController()
  const submitting = (async () => {
    while (!stopped.signal.aborted) {
      const tasks = Array.from({ length: 10 }, (_, n) => ({ payload: { ms: n === 0 ? 500 : 5 } }))
      const answer = await fleet
        .call<{ results: { task_id: string }[] }>('POST', `${SLOW}/tasks/batch`, { tasks })
        .catch(() => null)
      if (answer?.status === 200) for (const { task_id: id } of answer.body.results) accepted.add(id)
      for (const id of accepted) if (!stopped.signal.aborted && !goneAtMs.has(id)) await look(id, goneAtMs)
    }
  })()
  return {
    stop: () => {
      stopped.abort()
      return submitting
    },
  }
}
