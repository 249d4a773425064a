import { afterEach, beforeEach, describe, expect, it } from '@jest/globals'
import type { RunnableEntry } from '../../src/automation/index.ts'
import { boundLogFields, seededRandom, VirtualTime } from '../../src/runtime/index.ts'
import { startWorker, type RunningWorker, type WorkerOptions } from '../../src/worker/index.ts'
import { Peer } from '../../src/worker-test/index.ts'
import {
  batchEntry,
  continuousEntry,
  recordingLog,
  testHost,
  runTurns,
  advanceUntil,
  type RecordingLog,
} from './fixtures.ts'

const never = (signal: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    signal.addEventListener('abort', () => resolve(), { once: true })
  })

let time: VirtualTime
let peer: Peer
let log: RecordingLog
let worker: RunningWorker | undefined

beforeEach(async () => {
  time = new VirtualTime()
  log = recordingLog()
  peer = await new Peer().start()
  worker = undefined
  time.every(5_000, () => peer.ping())
})

afterEach(async () => {
  if (worker !== undefined) {
    worker.drain('the test is over')
    const over = new Set<number>()
    void worker.done.then((code) => over.add(code))
    while (over.size === 0) await time.advance(500)
  }
  await peer.close()
})

function start(entry: RunnableEntry, more: Partial<WorkerOptions> = {}): RunningWorker {
  worker = startWorker({
    masterUrl: peer.url,
    token: 'worker-token',
    entry,
    workerId: 'w1',
    drainTimeoutSeconds: 30,
    clock: time,
    timers: time,
    random: seededRandom(1),
    log,
    host: testHost,
    ...more,
  })
  return worker
}

const exited = async (running: RunningWorker): Promise<0 | 1> => {
  let code: 0 | 1 | undefined
  void running.done.then((each) => {
    code = each
  })
  await advanceUntil(time, 'the worker exits', () => code !== undefined)
  return code as 0 | 1
}

describe('a worker and its tasks', () => {
  it('registers, reads its config, runs and acks tasks, and sends their outputs', async () => {
    const running = start(batchEntry(({ task, emit }) => emit({ done: task.id })))
    peer.submit('a', 'b', 'c')
    await advanceUntil(time, 'three acks', () => peer.settled('tasks.ack').length === 3)
    await advanceUntil(time, 'three outputs', () => peer.outputs.length === 3)
    expect(peer.frames[0]).toMatchObject({
      type: 'register',
      worker_id: 'w1',
      automation_type: 'render',
      protocol_version: 1,
      instance_id: expect.any(String),
    })
    expect(peer.settled('tasks.ack')).toEqual(['a', 'b', 'c'])
    expect(peer.outputs).toEqual([{ done: 'a' }, { done: 'b' }, { done: 'c' }])
    expect(running.state()).toMatchObject({
      state: 'RUNNING',
      registered: true,
      connected: true,
      configGen: 1,
      lastError: null,
      slots: 1,
    })
    expect(peer.handshakes[0]?.authorization).toBe('Bearer worker-token')
  })

  it('nacks a task whose run throws and reports the message as last_error until a run succeeds', async () => {
    start(
      batchEntry(({ task }) => {
        if (task.id === 'bad') throw new Error('no such file')
      }),
    )
    peer.submit('bad')
    await advanceUntil(time, 'a nack', () => peer.settled('tasks.nack').length === 1)
    await advanceUntil(time, 'an ERROR state', () => peer.of('state').at(-1)?.state === 'ERROR')
    expect(peer.of('state').at(-1)).toMatchObject({ last_error: 'no such file', config_gen: 1 })
    peer.submit('good')
    await advanceUntil(time, 'RUNNING again', () => peer.of('state').at(-1)?.state === 'RUNNING')
    expect(peer.of('state').at(-1)?.last_error).toBeNull()
  })

  it('gives a task the config at the time of its reserve (G16)', async () => {
    const seen: unknown[] = []
    let go = (): void => {}
    start(
      batchEntry(async (context) => {
        await new Promise<void>((resolve) => {
          go = resolve
        })
        seen.push((context.config as { text?: string }).text)
      }),
    )
    peer.config = { ...peer.config, text: 'old' }
    peer.submit('a')
    await advanceUntil(time, 'the task runs', () => worker?.state().slots === 1 && peer.leased.size === 1)
    await runTurns()
    peer.setConfig({ text: 'new' })
    await advanceUntil(time, 'the new config is applied', () => worker?.state().configGen === 2)
    go()
    await advanceUntil(time, 'an ack', () => peer.settled('tasks.ack').length === 1)
    expect(seen).toEqual(['old'])
  })

  it('aborts the run of a lost lease and ignores its outcome', async () => {
    const reasons: unknown[] = []
    start(
      batchEntry(async ({ signal }) => {
        await never(signal)
        reasons.push((signal.reason as { why?: string }).why)
      }),
    )
    peer.submit('a')
    await advanceUntil(time, 'a lease', () => peer.leased.size === 1)
    peer.lostTokens.add([...peer.leased.keys()][0] ?? 0)
    await time.advance(20_000)
    await advanceUntil(time, 'the run is aborted', () => reasons.length === 1)
    await runTurns()
    expect(reasons).toEqual(['lease_lost'])
    expect(peer.settles).toEqual([])
  })
})

describe('a worker that drains', () => {
  it('finishes the task in flight after a drain frame, takes no new one and exits 0 (D53, G14)', async () => {
    let go = (): void => {}
    const running = start(
      batchEntry(
        () =>
          new Promise<void>((resolve) => {
            go = resolve
          }),
      ),
    )
    peer.submit('long')
    await advanceUntil(time, 'a lease', () => peer.leased.size === 1)
    peer.send({ type: 'drain' })
    await advanceUntil(time, 'draining', () => running.state().draining)
    peer.submit('next')
    await time.advance(600_000)
    expect(peer.settles).toEqual([])
    expect(running.state().slots).toBe(1)
    go()
    expect(await exited(running)).toBe(0)
    expect(peer.settled('tasks.ack')).toEqual(['long'])
    expect(peer.settled('tasks.release')).toEqual([])
    expect(peer.leased.size).toBe(0)
    expect(peer.pending.map(({ task_id: id }) => id)).toEqual(['next'])
    expect(peer.events.at(-1)).toContain('the control channel closed with 4100')
  })

  it('releases tasks that run longer than the drain timeout after SIGTERM and exits 0 (D53, G14)', async () => {
    const reasons: unknown[] = []
    const running = start(
      batchEntry(async ({ signal }) => {
        await never(signal)
        reasons.push((signal.reason as { why?: string }).why)
      }),
    )
    peer.submit('stuck')
    await advanceUntil(time, 'a lease', () => peer.leased.size === 1)
    running.drain('SIGTERM')
    await time.advance(29_000)
    expect(peer.settles).toEqual([])
    expect(await exited(running)).toBe(0)
    expect(peer.settled('tasks.release')).toEqual(['stuck'])
    expect(reasons).toEqual(['shutdown'])
  })

  it('aborts continuous slots immediately and abandons them after the drain timeout (D53)', async () => {
    let stoppedAtMs: number | undefined
    const running = start(
      continuousEntry(({ signal }) => {
        signal.addEventListener('abort', () => {
          stoppedAtMs = time.monotonicMs()
        })
        return new Promise<void>(() => {})
      }),
    )
    await advanceUntil(time, 'a slot', () => running.state().slots === 1)
    const atMs = time.monotonicMs()
    peer.send({ type: 'drain' })
    await advanceUntil(time, 'the slot is stopped', () => stoppedAtMs !== undefined)
    expect((stoppedAtMs ?? Infinity) - atMs).toBeLessThan(100)
    await time.advance(29_000)
    expect(running.state().slots).toBe(1)
    expect(await exited(running)).toBe(0)
    expect(time.monotonicMs() - atMs).toBeLessThan(40_000)
  })

  it('exits 0 after SIGTERM and its deadline while the master is unavailable', async () => {
    const running = start(batchEntry(({ signal }) => never(signal)))
    peer.submit('a')
    await advanceUntil(time, 'a lease', () => peer.leased.size === 1)
    await peer.close()
    const atMs = time.monotonicMs()
    running.drain('SIGTERM')
    expect(await exited(running)).toBe(0)
    expect(time.monotonicMs() - atMs).toBeLessThan(44_000) // The grace period of a pod is the timeout plus 15 s.
    expect(time.pending).toBe(1) // The timer of the test. No timer of the worker keeps the process running.
    peer = await new Peer().start()
  })

  it('sends buffered outputs before it closes', async () => {
    const running = start(
      batchEntry(async ({ emit, task }) => {
        for (let n = 0; n < 2_500; n += 1) await emit({ id: task.id, n })
        worker?.drain('SIGTERM')
      }),
    )
    peer.submit('a')
    expect(await exited(running)).toBe(0)
    expect(peer.outputs.map((each) => each['n'])).toEqual(Array.from({ length: 2_500 }, (_, n) => n))
    expect(Math.max(...peer.of('output_batch').map(({ outputs }) => outputs.length))).toBe(1_000)
  })
})

describe('a worker with errors', () => {
  it('exits 1 without a retry when the master has another protocol version', async () => {
    peer.closeCode = 4000
    const running = start(batchEntry(() => {}))
    expect(await exited(running)).toBe(1)
    expect(peer.handshakes).toHaveLength(1)
    expect(
      log.lines.some(
        ({ level, message }) => level === 'error' && message.includes('the master rejected it permanently'),
      ),
    ).toBe(true)
  })

  it('keeps other slots running when one fails repeatedly (G25)', async () => {
    const running = start(
      continuousEntry(async ({ slotId, emit, sleep }) => {
        if (slotId === 1) throw new Error('boom')
        for (;;) {
          await emit({ slotId })
          await sleep(1_000)
        }
      }),
    )
    peer.config['slots'] = 3
    await advanceUntil(time, 'the error shows', () => running.state().lastError === 'boom')
    await time.advance(30_000)
    await advanceUntil(time, 'outputs of both', () => peer.outputs.length > 40)
    expect(new Set(peer.outputs.map((each) => each['slotId']))).toEqual(new Set([0, 2]))
    expect(running.state()).toMatchObject({ state: 'RUNNING', slots: 3 })
  })

  it('logs and reports an unhandled error of a plugin, and continues', async () => {
    const running = start(batchEntry(() => {}))
    await advanceUntil(time, 'a slot', () => running.state().slots === 1)
    running.reportUnhandledError(new Error('thrown in a callback'))
    await advanceUntil(
      time,
      'the state reports it',
      () => peer.of('state').at(-1)?.last_error?.includes('thrown in a callback') === true,
    )
    peer.submit('a')
    await advanceUntil(time, 'an ack', () => peer.settled('tasks.ack').length === 1)
    expect(running.state().state).toBe('RUNNING')
  })

  it('registers again when the master has lost its record', async () => {
    const running = start(batchEntry(() => {}))
    await advanceUntil(time, 'registered', () => running.state().registered)
    await time.advance(11_000)
    peer.configStatus = 404
    peer.send({ type: 'config_changed', config_gen: 2 })
    await advanceUntil(time, 'a second register', () => peer.of('register').length === 2)
    peer.configStatus = null
    await advanceUntil(time, 'registered again', () => running.state().registered)
    expect(peer.of('register')[1]).toEqual(peer.of('register')[0])
  })

  it('keeps running tasks while the master is unavailable and settles them afterwards (G11)', async () => {
    let go = (): void => {}
    const running = start(
      batchEntry(
        () =>
          new Promise<void>((resolve) => {
            go = resolve
          }),
      ),
    )
    peer.submit('a')
    await advanceUntil(time, 'a lease', () => peer.leased.size === 1)
    const port = peer.port
    await peer.close()
    await advanceUntil(time, 'the break is seen', () => !running.state().connected)
    go()
    await time.advance(5_000)
    peer = await new Peer().start(port)
    await advanceUntil(time, 'the ack arrives', () => peer.settled('tasks.ack').length === 1)
    expect(peer.settled('tasks.ack')).toEqual(['a'])
  })

  it('limits the log lines of a plugin that throws repeatedly (G17)', async () => {
    const running = start(batchEntry(() => {}))
    await advanceUntil(time, 'a slot', () => running.state().slots === 1)
    for (let n = 0; n < 1_000; n += 1) running.reportUnhandledError(new Error(`thrown, the ${n}th time`))
    const escaped = () => log.lines.filter(({ message }) => message.includes('unhandled rejection in the automation'))
    expect(escaped()).toHaveLength(1)
    await time.advance(60_000)
    running.reportUnhandledError(new Error('again'))
    expect(escaped()[1]?.fields).toMatchObject({ suppressed: 999 })
  })

  it('logs an unavailable master once a minute, and immediately when the reason changes', async () => {
    const running = start(batchEntry(() => {}))
    await advanceUntil(time, 'registered', () => running.state().slots === 1)
    const reserving = () => log.lines.filter(({ message }) => message.includes('failed to reserve tasks'))
    peer.rpcMethods['tasks.reserve'] = () => ({ error: { code: -32003, message: 'the store is unavailable' } })
    peer.submit('a') // Ends the long poll.
    await advanceUntil(time, 'a first failure', () => reserving().length === 1)
    await time.advance(30_000)
    expect(reserving()).toHaveLength(1)
    peer.rpcStatus = 500
    await advanceUntil(time, 'a second failure', () => reserving().length === 2)
  })

  it('logs outcomes without the fields of a slot or task', async () => {
    const lines: object[] = []
    const warn = (message: string): void => void (message.includes('failed to deliver') && lines.push(boundLogFields()))
    const running = start(
      batchEntry(() => {}),
      { log: { ...log, warn } },
    )
    await advanceUntil(time, 'a slot', () => running.state().slots === 1)
    peer.rpcMethods['tasks.ack'] = () => ({ error: { code: -32003, message: 'the store is unavailable' } })
    peer.submit('a')
    await advanceUntil(time, 'an ack fails', () => lines.length > 0)
    expect(lines[0]).toEqual({ automation_type: 'render', worker_id: 'w1' })
    delete peer.rpcMethods['tasks.ack']
  })

  it('sends stats after registering and after a change of the number of slots', async () => {
    const running = start(batchEntry(() => {}))
    await advanceUntil(time, 'registered', () => running.state().registered)
    await time.advance(2_000)
    await advanceUntil(time, 'stats', () => peer.of('stats').at(-1)?.slots === 1)
    peer.setConfig({ slots: 5 })
    await advanceUntil(time, 'five slots', () => running.state().slots === 5)
    await time.advance(1_000)
    await advanceUntil(time, 'new stats', () => peer.of('stats').at(-1)?.slots === 5)
    expect(time.monotonicMs()).toBeLessThan(15_000)
  })

  it('does not abort a reserve whose response is in flight on SIGTERM (G14)', async () => {
    const running = start(batchEntry(() => {}))
    await advanceUntil(time, 'a long poll', () => peer.rpcCalls.some(({ method }) => method === 'tasks.reserve'))
    running.drain('SIGTERM')
    await time.advance(50)
    await runTurns()
    peer.submit('late')
    expect(await exited(running)).toBe(0)
    expect(peer.settled('tasks.release')).toEqual(['late'])
  })

  it('sends stats every 15 s, including each slot', async () => {
    const running = start(
      continuousEntry(async ({ metrics, signal }) => {
        metrics.counter('rounds').add(2)
        await never(signal)
      }),
    )
    peer.config['slots'] = 2
    await advanceUntil(time, 'slots', () => running.state().slots === 2)
    await time.advance(15_000)
    await advanceUntil(time, 'stats', () => peer.of('stats').length > 0)
    const stats = peer.of('stats').at(-1)
    expect(stats).toMatchObject({ slots: 2, rss_mb: 64, metrics: { 'counter.rounds': 4 } })
    expect(stats?.per_slot?.map((each) => [each.slot_id, each.counters])).toEqual([
      [0, { rounds: 2 }],
      [1, { rounds: 2 }],
    ])
  })

  it('adds what runs did under the applied config to its stats, and restarts with each config (D137)', async () => {
    const running = start(
      batchEntry(async ({ task, sleep }) => {
        await sleep(1_000)
        if (task.id.startsWith('bad')) throw new Error('boom')
      }),
    )
    peer.submit('a', 'bad', 'c')
    await advanceUntil(
      time,
      'three outcomes',
      () => peer.settled('tasks.ack').length === 2 && peer.settled('tasks.nack').length === 1,
    )
    const statsWith = async (gen: number): Promise<Record<string, unknown>> => {
      const isNew = (metrics: Record<string, unknown> | undefined): boolean =>
        metrics?.['gauge.muster.config_gen'] === gen
      const seen = peer.of('stats').length
      await advanceUntil(time, 'stats', () => peer.of('stats').length > seen && isNew(peer.of('stats').at(-1)?.metrics))
      return peer.of('stats').at(-1)?.metrics ?? {}
    }
    expect(await statsWith(1)).toEqual({
      'counter.muster.runs_ok': 2,
      'counter.muster.runs_failed': 1,
      'counter.muster.last_error_runs': 1,
      'counter.muster.run_ms_le.40': 3,
      'gauge.muster.config_gen': 1,
      'gauge.muster.tasks_held': 1, // A reserve waits at the master.
    })
    peer.setConfig({ slots: 0 })
    await advanceUntil(time, 'no slot', () => running.state().configGen === 2 && running.state().slots === 0)
    await time.advance(30_000)
    expect(await statsWith(2)).toEqual({ 'gauge.muster.config_gen': 2, 'gauge.muster.tasks_held': 0 })
  })

  it('reports a config that it refuses in its stats until it applies another one (D137)', async () => {
    const running = start(batchEntry(() => {}))
    const refused = (): unknown => peer.of('stats').at(-1)?.metrics['gauge.muster.refused_config_gen']
    await advanceUntil(time, 'the config', () => running.state().configGen === 1)
    peer.setConfig({ slots: 'many' })
    await advanceUntil(time, 'the refused generation', () => refused() === 2)
    expect(running.state().configGen).toBe(1)
    peer.setConfig({ slots: 1 })
    await advanceUntil(time, 'the next config', () => running.state().configGen === 3 && refused() === undefined)
  })

  it('serves health, readiness and metrics when configured', async () => {
    const running = start(
      batchEntry(() => {}),
      { healthListen: { host: '127.0.0.1', port: 0 } },
    )
    await advanceUntil(time, 'it listens', () => running.state().healthPort !== null && running.state().registered)
    const base = `http://127.0.0.1:${running.state().healthPort}`
    expect((await fetch(`${base}/healthz`)).status).toBe(200)
    expect((await fetch(`${base}/readyz`)).status).toBe(200)
    expect(await (await fetch(`${base}/metrics`)).text()).toContain(
      'svc_worker_process_connected{automation_type="render",worker_id="w1"} 1',
    )
    peer.submit('a')
    await advanceUntil(time, 'an ack', () => peer.settled('tasks.ack').length === 1)
  })

  it('exits 1 when its health listener cannot use the address', async () => {
    const running = start(
      batchEntry(() => {}),
      { healthListen: { host: '127.0.0.1', port: peer.port } },
    )
    expect(await exited(running)).toBe(1)
    expect(log.lines.some(({ message }) => message.includes('SVC_HEALTH_LISTEN'))).toBe(true)
  })
})
