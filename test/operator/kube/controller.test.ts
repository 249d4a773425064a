import { afterEach, beforeEach, describe, expect, it } from '@jest/globals'
import { Registry } from 'prom-client'
import { VirtualTime } from '../../../src/runtime/index.ts'
import {
  Controller,
  createKubeMetrics,
  Health,
  WorkQueue,
  type KubeMetrics,
  type ObjectKey,
  type ReconcileOutcome,
} from '../../../src/operator/kube/index.ts'
import { recordingLog, type RecordingLog } from '../../kit/index.ts'
import { random } from './fixture.ts'

let time: VirtualTime
let queue: WorkQueue
let registry: Registry
let metrics: KubeMetrics
let log: RecordingLog
let abort: AbortController
let ended: Promise<void>

beforeEach(() => {
  time = new VirtualTime()
  registry = new Registry()
  metrics = createKubeMetrics(registry, 'probe', 'muster-operator')
  queue = new WorkQueue({ clock: time, timers: time, random: random(), observer: metrics.queue })
  log = recordingLog()
  abort = new AbortController()
  ended = Promise.resolve()
})
afterEach(async () => {
  abort.abort(new Error('over'))
  await ended
  queue.close()
})

function controlling(reconcile: (key: ObjectKey, signal: AbortSignal) => Promise<ReconcileOutcome>): Controller {
  const controller = new Controller({ queue, clock: time, timers: time, log, reconcile, observer: metrics.controller })
  ended = controller.run(abort.signal)
  return controller
}

const health = (controller: Controller | undefined, activeMs = (): number => time.monotonicMs()) =>
  new Health({
    clock: time,
    queue,
    cache: { isSynced: true },
    watches: [
      {
        get activeMs() {
          return activeMs()
        },
      },
    ],
    controller: () => controller,
  })

const nextTurn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))

describe('the controller', () => {
  it('yields to the event loop after a slice of work without a wait', async () => {
    let ran = 0
    for (let index = 0; index < 100; index += 1) queue.add(`ns/${index}`, 100)
    controlling(async () => {
      ran += 1
      time.jump(1)
      return { kind: 'ok' }
    })
    for (let turn = 0; turn < 500; turn += 1) await Promise.resolve()
    expect(ran).toBeGreaterThanOrEqual(10)
    expect(ran).toBeLessThan(30) // Each of the 16 workers finishes what it has started.
    for (let turn = 0; turn < 20; turn += 1) await time.advance(10)
    expect(ran).toBe(100)
  })

  it('works for one slice per turn of the event loop, not one slice per parallel worker', async () => {
    let ran = 0
    for (let index = 0; index < 400; index += 1) queue.add(`ns/${index}`, 100)
    const timers = Object.assign(Object.create(time) as VirtualTime, {
      after: (_ms: number, task: () => void) => {
        void nextTurn().then(task)
        return () => {}
      },
    })
    ended = new Controller({
      queue,
      clock: time,
      timers,
      log,
      reconcile: async () => {
        ran += 1
        time.jump(1)
        return { kind: 'ok' }
      },
    }).run(abort.signal)
    for (let turn = 0; turn < 60; turn += 1) {
      const before = ran
      await nextTurn()
      expect(ran - before).toBeLessThan(30)
    }
    expect(ran).toBe(400)
  })

  it('processes 16 keys in parallel, and none of them twice', async () => {
    let most = 0
    const running = new Set<ObjectKey>()
    const runs: ObjectKey[] = []
    controlling(async (key) => {
      expect(running.has(key)).toBe(false)
      running.add(key)
      runs.push(key)
      most = Math.max(most, running.size)
      await time.sleep(100)
      running.delete(key)
      return { kind: 'ok' }
    })
    for (let round = 0; round < 3; round += 1) {
      for (let index = 0; index < 40; index += 1) queue.add(`ns/${index}`, 100)
      await time.advance(50)
    }
    await time.advance(2_000)
    expect(most).toBe(16)
    expect(new Set(runs).size).toBe(40)
  })

  it('retries a key whose reconcile threw, without delaying the others', async () => {
    const runs: ObjectKey[] = []
    controlling(async (key) => {
      runs.push(key)
      if (key === 'ns/poison') throw new Error('boom')
      return { kind: 'ok' }
    })
    queue.add('ns/poison', 100)
    for (let index = 0; index < 20; index += 1) queue.add(`ns/${index}`, 100)
    await time.advance(120_000)
    expect(runs.filter((key) => key === 'ns/poison').length).toBeGreaterThan(4)
    expect(new Set(runs).size).toBe(21)
    expect(log.lines[0]).toMatchObject({ level: 'error', fields: { key: 'ns/poison' } })
  })

  it('exports its metrics under the names of controller-runtime', async () => {
    metrics.observe({ queue, watchAgeMs: () => 1_500 })
    const outcomes: ReconcileOutcome[] = [
      { kind: 'ok' },
      { kind: 'ok', againAfterMs: 600_000 },
      { kind: 'terminal' },
      { kind: 'retry', afterMs: 600_000 },
    ]
    controlling(async (key) => {
      await time.sleep(20)
      return outcomes[Number(key.slice(3))] ?? { kind: 'retry' }
    })
    for (let index = 0; index < 5; index += 1) queue.add(`ns/${index}`, 100)
    await time.advance(20)
    metrics.onRequest('GET', '200', 'kube:6443')
    metrics.onLeader(true)
    metrics.onRestart('idle')
    metrics.onStatusWrite('transition')
    const text = await registry.metrics()
    for (const line of [
      'controller_runtime_reconcile_total{controller="probe",result="success"} 1',
      'controller_runtime_reconcile_total{controller="probe",result="requeue_after"} 2',
      'controller_runtime_reconcile_total{controller="probe",result="requeue"} 1',
      'controller_runtime_reconcile_total{controller="probe",result="error"} 1',
      'controller_runtime_reconcile_errors_total{controller="probe"} 1',
      'controller_runtime_terminal_reconcile_errors_total{controller="probe"} 1',
      'controller_runtime_active_workers{controller="probe"} 0',
      'controller_runtime_max_concurrent_reconciles{controller="probe"} 16',
      'controller_runtime_reconcile_time_seconds_count{controller="probe"} 5',
      'workqueue_adds_total{name="probe"} 5',
      'workqueue_retries_total{name="probe"} 2',
      'workqueue_depth{name="probe"} 0',
      'workqueue_queue_duration_seconds_count{name="probe"} 5',
      'workqueue_work_duration_seconds_sum{name="probe"} 0.1',
      'workqueue_unfinished_work_seconds{name="probe"} 0',
      'workqueue_longest_running_processor_seconds{name="probe"} 0',
      'leader_election_master_status{name="muster-operator"} 1',
      'rest_client_requests_total{method="GET",code="200",host="kube:6443"} 1',
      'svc_operator_watch_restarts_total{reason="idle"} 1',
      'svc_operator_status_writes_total{kind="transition"} 1',
      'svc_operator_watch_age_seconds{name="probe"} 1.5',
    ])
      expect(text).toContain(line)
  })
})

describe('the health', () => {
  it('fails when a reconcile runs for more than 120 s', async () => {
    const controller = controlling(
      () => new Promise((resolve) => void time.after(130_000, () => resolve({ kind: 'ok' }))),
    )
    queue.add('ns/a', 100)
    await time.advance(120_000)
    expect(health(controller).stuck()).toEqual([])
    await time.advance(1_000)
    expect(health(controller).stuck()).toEqual(['a reconcile has run for more than 120 s'])
    await time.advance(60_000)
    expect(health(controller).stuck()).toEqual([])
  })

  it('fails when keys are due and none is finished, but not while the queue is parked or on standby', async () => {
    const idle = new Controller({ queue, clock: time, timers: time, log, reconcile: async () => ({ kind: 'ok' }) })
    queue.add('ns/a', 100)
    queue.park('the breaker is open')
    await time.advance(600_000)
    expect(health(idle).stuck()).toEqual([])
    queue.park(null)
    expect(health(idle).stuck()).toEqual([])
    await time.advance(121_000)
    expect(health(idle).stuck()).toEqual(['keys have waited for 120 s and none was finished'])
    expect(health(undefined).stuck()).toEqual([])
  })

  it('fails when a watch has neither read nor retried for 10 min', async () => {
    await time.advance(600_000)
    expect(health(undefined, () => 0).stuck()).toEqual([])
    await time.advance(1)
    expect(health(undefined, () => 0).stuck()).toEqual(['a watch has neither read nor retried for 10 min'])
    expect(health(undefined).isReady).toBe(true)
  })
})
