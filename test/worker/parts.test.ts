import { beforeEach, describe, expect, it } from '@jest/globals'
import { MAX_ERROR_CHARS, MAX_FRAME_BYTES, type ReservedTask } from '../../src/protocol/index.ts'
import { VirtualTime } from '../../src/runtime/index.ts'
import { workerAddress } from '../../src/worker/address.ts'
import type { AppliedConfig } from '../../src/automation/index.ts'
import { HeldLease, type Settlement } from '../../src/worker/lease.ts'
import { ActiveErrors } from '../../src/worker/active-errors.ts'
import { Prefetch } from '../../src/worker/prefetch.ts'
import { StateReporter, stateOf, type WorkerCondition } from '../../src/worker/state-reporter.ts'
import { Stats } from '../../src/worker/stats.ts'
import { testHost } from './fixtures.ts'

let time: VirtualTime

beforeEach(() => {
  time = new VirtualTime()
})

describe('the address of a worker', () => {
  it('keeps a path prefix, turns http into ws, and escapes names', () => {
    expect(workerAddress('https://fleet.example/muster/', 'render', 'box 1?')).toEqual({
      origin: 'https://fleet.example',
      configPath: '/muster/api/v1/automations/render/workers/box%201%3F/config',
      rpcPath: '/muster/api/v1/automations/render/workers/box%201%3F/rpc',
      busPath: '/muster/api/v1/automations/render/workers/box%201%3F/bus',
      controlUrl: 'wss://fleet.example/muster/api/v1/automations/render/workers/box%201%3F/control',
    })
    expect(workerAddress('http://[::1]:8080', 'a', 'b').controlUrl).toBe(
      'ws://[::1]:8080/api/v1/automations/a/workers/b/control',
    )
  })

  it.each(['master:8080', 'ftp://master', 'http://user:secret@master', 'http://master/?token=secret', 'nonsense'])(
    'rejects %s without repeating its secrets',
    (url) => {
      expect(() => workerAddress(url, 'a', 'b')).toThrow(TypeError)
      expect(() => workerAddress(url, 'a', 'b')).not.toThrow(/secret/)
    },
  )
})

describe('the errors of a worker', () => {
  it('report the newest one, and the previous one when the newest is cleared', () => {
    let changes = 0
    const errors = new ActiveErrors(() => {
      changes += 1
    })
    errors.set('slot 1', 'first')
    errors.set('config', 'second')
    errors.set('slot 2', null)
    expect([errors.last, changes]).toEqual(['second', 2])
    errors.set('config', null)
    expect(errors.last).toBe('first')
    errors.set('slot 1', 'x'.repeat(5_000))
    expect(errors.last).toHaveLength(4_096)
    errors.set('slot 1', null)
    expect(errors.last).toBeNull()
  })

  it('are truncated between characters, never inside a surrogate pair', () => {
    const errors = new ActiveErrors(() => {})
    errors.set('slot 1', `${'x'.repeat(MAX_ERROR_CHARS - 1)}😀`)
    expect(errors.last).toBe('x'.repeat(MAX_ERROR_CHARS - 1))
  })
})

describe('the error of a nack', () => {
  it('is truncated between characters, never inside a surrogate pair', () => {
    const outcomes: Settlement[] = []
    const task = { task_id: 't', token: 1, payload: {}, attempt: 0, lease_seconds: 60 } as unknown as ReservedTask
    const lease = new HeldLease(task, {} as AppliedConfig, {
      settle: (_lease, outcome) => void outcomes.push(outcome),
      extend: () => Promise.resolve(),
      report: () => {},
    })
    lease.nack(`${'x'.repeat(MAX_ERROR_CHARS - 1)}😀`)
    expect(outcomes[0]?.item).toMatchObject({ error: 'x'.repeat(MAX_ERROR_CHARS - 1) })
  })
})

describe('prefetching', () => {
  const run = (slots: number, tasksPerCycle: number, cycleMs: number): number => {
    const prefetch = new Prefetch(0)
    for (let cycle = 1; cycle <= 100; cycle += 1) {
      for (let task = 0; task < tasksPerCycle; task += 1) prefetch.taken()
      prefetch.recordResponse(cycle * cycleMs, 3, true)
    }
    return prefetch.depth(slots)
  }

  it('requests the tasks of two round trips, at most four per slot, for tasks that take no time', () => {
    expect(run(100, 100, 4)).toBe(149)
    expect(run(10, 100, 4)).toBe(40)
    expect(run(10, 2, 1)).toBeGreaterThan(5)
  })

  it('requests none for tasks that take a second', () => {
    expect(run(100, 100, 1_000)).toBe(0)
  })
})

describe('the state of a worker', () => {
  it.each([
    ['IDLE', { target: 0, active: 0, failing: 0, spawnFails: true }],
    ['RUNNING', { target: 2, active: 2, failing: 1, spawnFails: false }],
    ['ERROR', { target: 2, active: 2, failing: 2, spawnFails: false }],
    ['ERROR', { target: 2, active: 0, failing: 0, spawnFails: true }],
    ['RUNNING', { target: 2, active: 0, failing: 0, spawnFails: false }],
  ] as const)('is %s for %o', (state, slots) => expect(stateOf(slots)).toBe(state))

  it('is sent after each change and every 15 s, with changes within 100 ms in one frame', async () => {
    const said: WorkerCondition[] = []
    let condition: WorkerCondition = { state: 'IDLE', configGen: 0, lastError: null }
    const reporter = new StateReporter({
      clock: time,
      timers: time,
      condition: () => condition,
      send: () => {
        const {
          state,
          config_gen: configGen,
          last_error: lastError,
        } = JSON.parse(reporter.frame()) as { state: 'IDLE'; config_gen: number; last_error: null }
        said.push({ state, configGen, lastError })
      },
    })
    reporter.start()
    reporter.sendIfChanged()
    reporter.sendIfChanged()
    for (const configGen of [1, 2, 3]) {
      condition = { ...condition, configGen }
      reporter.sendIfChanged()
    }
    await time.advance(100)
    expect(said.map(({ configGen }) => configGen)).toEqual([0, 3])
    await time.advance(30_000)
    expect(said).toHaveLength(4)
    reporter.stop()
    expect(time.pending).toBe(0)
  })
})

describe('the stats frame', () => {
  const make = (counters: object, metrics: Record<string, number> = {}): Stats =>
    new Stats({
      clock: time,
      host: { ...testHost, cpuMs: () => time.monotonicMs() / 4 },
      metrics: () => metrics,
      perSlot: () => [{ slot_id: 0, age_seconds: 1, counters: counters as Record<string, unknown> }],
    })

  it('reports the CPU usage since the previous frame as a share of one core', async () => {
    const stats = make({})
    await time.advance(15_000)
    expect(JSON.parse(stats.frame())).toMatchObject({
      type: 'stats',
      slots: 1,
      cpu_pct: 25,
      rss_mb: 64,
      per_slot: [{ slot_id: 0 }],
    })
  })

  it('omits per_slot, then the metrics, to fit into a frame', () => {
    const pad = 'x'.repeat(MAX_FRAME_BYTES)
    expect(JSON.parse(make({ [pad]: 1 }, { 'counter.a': 1 }).frame())).toMatchObject({ metrics: { 'counter.a': 1 } })
    expect(make({ [pad]: 1 }).frame()).not.toContain('per_slot')
    expect(JSON.parse(make({}, { [pad]: 1 }).frame())).toMatchObject({ metrics: {} })
  })
})
