import { afterEach, beforeEach, describe, expect, it } from '@jest/globals'
import { buildCatalog, defineBatch, Type, type RunnableEntry } from '../../src/automation/index.ts'
import { startMaster, type RunningMaster } from '../../src/master/index.ts'
import { seededRandom, VirtualTime } from '../../src/runtime/index.ts'
import { MemoryBackend } from '../../src/storage/memory/index.ts'
import { startWorker, type RunningWorker } from '../../src/worker/index.ts'
import { recordingLog, testHost, advanceUntil, type RecordingLog } from './fixtures.ts'

const ADMIN = 'admin-token-of-this-test'
const WORKER = 'worker-token-of-this-test'

let time: VirtualTime
let log: RecordingLog
let master: RunningMaster
let catalog: ReadonlyMap<string, RunnableEntry>
let worker: RunningWorker | undefined
let finish: (() => void)[]
/** Why the runs of tasks that are held were stopped. */
let stopped: unknown[]

beforeEach(async () => {
  time = new VirtualTime()
  log = recordingLog()
  finish = []
  stopped = []
  worker = undefined
  catalog = buildCatalog([
    defineBatch({
      type: 'render',
      config: Type.Object({ text: Type.Optional(Type.String()) }),
      payload: Type.Object({
        slow: Type.Optional(Type.Boolean()),
        fail: Type.Optional(Type.Boolean()),
        held: Type.Optional(Type.Boolean()),
      }),
      output: Type.Object({ id: Type.String() }),
      run: async ({ task, emit, kv, signal }) => {
        if (task.payload.held === true) {
          finish.push(() => undefined)
          await new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve()))
          stopped.push(signal.reason.why)
          return
        }
        if (task.payload.fail === true) throw new Error('as asked')
        if (task.payload.slow === true) {
          await new Promise<void>((resolve) => void finish.push(resolve))
          await kv.set('last', task.id)
        }
        await emit({ id: task.id })
      },
    }),
  ])
  master = await startMaster({
    listen: { host: '127.0.0.1', port: 0 },
    clock: time,
    timers: time,
    random: seededRandom(1),
    log: recordingLog(),
    backend: new MemoryBackend({ clock: time, random: seededRandom(2) }),
    backendScheme: 'memory',
    catalog,
    tokens: { admin: ADMIN, worker: WORKER, workerPeers: [], scopes: new Map() },
    settings: {
      submitRpsPerToken: 0,
      idempotencyTtlSeconds: 86_400,
      maxBodyBytes: 1_048_576,
      maxLostLeases: 10,
      maxQueueLength: 5_000_000,
      maxSockets: 1_000,
    },
    dashboardDir: null,
    version: '0',
  })
})

afterEach(async () => {
  const over = new Set<string>()
  worker?.drain('the test is over')
  void (worker?.done ?? Promise.resolve()).then(() => over.add('worker'))
  while (!over.has('worker')) await time.advance(500)
  void master.stop().then(() => over.add('master'))
  while (!over.has('master')) await time.advance(500)
})

function start(token = WORKER): RunningWorker {
  const entry = catalog.get('render')
  if (entry === undefined) throw new Error('no entry')
  worker = startWorker({
    masterUrl: master.url,
    token,
    entry,
    workerId: 'w1',
    drainTimeoutSeconds: 5,
    clock: time,
    timers: time,
    random: seededRandom(3),
    log,
    host: testHost,
  })
  return worker
}

/** Calls the REST API while virtual time advances. */
async function api<T>(method: string, path: string, body?: object): Promise<T> {
  let answer: { status: number; value: T } | undefined
  const call = fetch(`${master.url}/api/v1/automations/render${path}`, {
    method,
    headers: { authorization: `Bearer ${ADMIN}`, 'content-type': 'application/json' },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  })
  void call.then(async (response) => {
    answer = { status: response.status, value: (await response.json()) as T }
  })
  await advanceUntil(time, `${method} ${path} is answered`, () => answer !== undefined)
  if (answer === undefined || answer.status >= 400) throw new Error(`${method} ${path}: ${JSON.stringify(answer)}`)
  return answer.value
}

interface Record {
  readonly state: string
  readonly connected: boolean
  readonly applied_config_gen: number | null
  readonly last_error: string | null
  readonly current_stats: { readonly slots: number } | null
}
const record = (): Promise<Record> => api('GET', '/workers/w1')

async function becomes(what: string, holds: (record: Record) => boolean): Promise<void> {
  for (let tries = 0; tries < 200; tries += 1) {
    if (holds(await record())) return
    await time.advance(50)
  }
  throw new Error(`this did not come true: ${what}; the record is ${JSON.stringify(await record())}`)
}

async function enabled(slots: number): Promise<RunningWorker> {
  const running = start()
  await advanceUntil(time, 'registered', () => running.state().registered)
  await api('PATCH', '/workers/w1/config', { enabled: true, slots })
  await advanceUntil(time, 'the slots run', () => running.state().slots === slots)
  return running
}

describe('a worker with a real master', () => {
  it('shows an applied config in its record shortly after the PATCH', async () => {
    await enabled(3)
    await becomes('applied', (each) => each.applied_config_gen === 1 && each.state === 'RUNNING' && each.connected)
    await time.advance(15_000)
    await becomes('stats', (each) => each.current_stats?.slots === 3)
  })

  it('runs each task of a batch once and adds the outputs to the stream', async () => {
    await enabled(10)
    const submitted = await api<{ results: { task_id: string }[] }>('POST', '/tasks/batch', {
      tasks: Array.from({ length: 300 }, () => ({ payload: {} })),
    })
    let length = 0
    while (length < 300) ({ length } = await api<{ length: number }>('GET', '/output/length'))
    const outputs = await api<{ payload: { id: string } }[]>('POST', '/output/pop', { n: 1_000 })
    expect(outputs.map(({ payload }) => payload.id).toSorted()).toEqual(
      submitted.results.map(({ task_id: id }) => id).toSorted(),
    )
    expect(await api('GET', '/queue')).toMatchObject({ length: 0 })
  })

  it('finishes its task after a drain by POST, long after the visibility timeout, and exits 0 (D53, G14)', async () => {
    const running = await enabled(2)
    await api('POST', '/tasks', { payload: { slow: true }, task_id: 'slow' })
    await advanceUntil(time, 'the task runs', () => finish.length === 1)
    await api('POST', '/workers/w1/drain')
    await advanceUntil(time, 'draining', () => running.state().draining)
    await api('POST', '/tasks', { payload: {}, task_id: 'next' })
    for (let third = 0; third < 10; third += 1) await time.advance(20_000) // Extends the lease each time.
    for (const done of finish) done()
    let code: number | undefined
    void running.done.then((each) => {
      code = each
    })
    await advanceUntil(time, 'the end', () => code !== undefined)
    expect(code).toBe(0)
    expect(finish).toHaveLength(1)
    const left = await api<{ items: { id: string; attempt: number }[] }>('GET', '/queue')
    expect(left.items.map(({ id, attempt }) => [id, attempt])).toEqual([['next', 0]])
  })

  it('stops the run of a cancelled task within a second, and its outcome does not count (D117, G28)', async () => {
    await enabled(1)
    await api('POST', '/tasks', { payload: { held: true }, task_id: 'held' })
    await advanceUntil(time, 'the task runs', () => finish.length === 1)
    await api('POST', '/tasks', { payload: {}, task_id: 'next' })
    const cancelledAtMs = time.monotonicMs()
    expect(await api('DELETE', '/tasks/held')).toEqual({ task_id: 'held', outcome: 'cancelled', was: 'in_flight' })
    await advanceUntil(time, 'the run stops', () => stopped.length > 0)
    expect(time.monotonicMs() - cancelledAtMs).toBeLessThan(1_000)
    expect(stopped).toEqual(['lease_lost'])
    let length = 0
    while (length < 1) ({ length } = await api<{ length: number }>('GET', '/output/length'))
    expect(await api('POST', '/output/pop', { n: 10 })).toMatchObject([{ payload: { id: 'next' } }])
    for (let third = 0; third < 5; third += 1) await time.advance(30_000)
    expect(finish).toHaveLength(1)
    expect(await api('GET', '/queue')).toMatchObject({ length: 0 })
    expect(await api('GET', '/dead')).toMatchObject({ length: 0 })
  })

  it('returns a failing task to the queue with backoff and reports the error', async () => {
    await enabled(1)
    await api('POST', '/tasks', { payload: { fail: true }, max_attempts: 1, task_id: 'bad' })
    await becomes('ERROR', (each) => each.state === 'ERROR' && each.last_error === 'as asked')
    const dead = await api<{ items: { id: string; last_error: string }[] }>('GET', '/dead')
    expect(dead.items).toMatchObject([{ id: 'bad', last_error: 'as asked' }])
  })

  it('retries after its token was rejected', async () => {
    start('wrong-token')
    await advanceUntil(time, 'the complaint', () =>
      log.lines.some(({ level, message }) => level === 'error' && message.includes('rejected the worker token')),
    )
    expect(worker?.state().registered).toBe(false)
  })
})
