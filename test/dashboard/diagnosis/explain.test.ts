import { describe, expect, it } from '@jest/globals'
import fc from 'fast-check'
import { explainQueue, explainWorker, type WorkerFacts } from '../../../src/dashboard/diagnosis/explain.ts'

const NOW = 10_000
export const worker = (part: Partial<WorkerFacts> = {}): WorkerFacts => ({
  worker_id: 'w-1',
  automation_type: 'mailer',
  connected: true,
  state: 'RUNNING',
  state_since: NOW - 120,
  draining: false,
  last_error: null,
  config: { enabled: true, slots: 2 },
  config_gen: 3,
  applied_config_gen: 3,
  config_changed_at: NOW - 600,
  current_stats: { slots: 2 },
  ...part,
})
const queue = (part: object = {}) => ({
  high: 0,
  normal: 5,
  low: 0,
  in_flight: 0,
  scheduled: 0,
  dead: 0,
  oldest_submitted_at: null,
  ...part,
})
const first = (workers: readonly WorkerFacts[], part: object = {}) =>
  explainQueue({ type: 'mailer', queue: queue(part), workers })[0]

describe('explainQueue', () => {
  it.each<[string, readonly WorkerFacts[], object, RegExp]>([
    ['no worker', [], {}, /^No worker of mailer has registered/],
    ['none connected', [worker({ connected: false })], {}, /^The only worker of mailer is offline/],
    [
      'none enabled',
      [worker({ config: { enabled: false, slots: 1 } }), worker({ config: {} })],
      {},
      /^All 2 connected workers are not enabled/,
    ],
    ['zero slots', [worker({ config: { enabled: true, slots: 0 } })], {}, /scaled to zero slots/],
    ['all draining', [worker({ state: 'DRAINING', draining: true })], {}, /draining/],
    [
      'all in ERROR',
      [
        worker({ state: 'ERROR', last_error: 'a' }),
        worker({ state: 'ERROR', last_error: 'b' }),
        worker({ state: 'ERROR', last_error: 'b' }),
      ],
      {},
      /in ERROR: b$/,
    ],
    ['no free slot', [worker()], { in_flight: 2 }, /^All 2 slots are busy, 5 tasks are waiting/],
    [
      'free slots, none in flight',
      [worker()],
      {},
      /^5 tasks are waiting and none is in flight, although 2 slots on 1 worker could/,
    ],
    ['only retries', [worker()], { normal: 0, scheduled: 4 }, /^4 tasks are scheduled/],
    [
      'a pause',
      [worker()],
      { paused: { note: 'mail is down', actor: 'admin', since: 1, until: null } },
      /^Paused by admin \(mail is down\): no task is leased until the queue is resumed\.$/,
    ],
    [
      'a pause that ends by time',
      [worker()],
      { paused: { note: null, actor: 'admin', since: 1, until: 60 } },
      /^Paused by admin: no task is leased until 1970-01-01T00:01:00.000Z\.$/,
    ],
    ['processing', [worker()], { in_flight: 1 }, /^Processing: 1 task in flight/],
    ['empty queue', [], { normal: 0 }, /^No tasks left: all tasks/],
    ['only dead tasks', [], { normal: 0, dead: 2 }, /^No tasks left except the dead ones/],
  ])('returns the decisive cause first: %s', (_, workers, part, text) => {
    expect(first(workers, part)?.text).toMatch(text)
  })

  it('lists contributing causes after the decisive one', () => {
    const texts = explainQueue({
      type: 'mailer',
      queue: queue({ high: 3, low: 1, in_flight: 2, dead: 1 }),
      workers: [worker(), worker({ connected: false }), worker({ config: { enabled: false } })],
    }).map(({ text }) => text)
    expect(texts).toEqual([
      expect.stringMatching(/^All 2 slots are busy, 9 tasks are waiting/),
      'The normal and low tiers wait for 3 high tasks.',
      '1 worker is offline.',
      '1 worker is not enabled.',
      '1 task ran out of attempts.',
    ])
  })

  it('links to a single affected worker, or to the list if there are several', () => {
    expect(first([worker({ state: 'ERROR' })])?.link?.href).toBe('#/workers/mailer/w-1')
    expect(first([worker({ state: 'ERROR' }), worker({ state: 'ERROR', worker_id: 'w-2' })])?.link?.text).toBe(
      'Show these workers',
    )
  })

  it('always returns a cause, a "bad" one if tasks are waiting and no worker can take them', () => {
    const workers = fc.array(
      fc.record({
        connected: fc.boolean(),
        enabled: fc.boolean(),
        slots: fc.nat(3),
        state: fc.constantFrom('IDLE', 'RUNNING', 'ERROR', 'DRAINING'),
      }),
      { maxLength: 4 },
    )
    const counts = fc.record({
      high: fc.nat(2),
      normal: fc.nat(2),
      low: fc.nat(2),
      in_flight: fc.nat(4),
      scheduled: fc.nat(2),
      dead: fc.nat(2),
    })
    fc.assert(
      fc.property(workers, counts, (those, part) => {
        const facts = those.map(({ connected, enabled, slots, state }) =>
          worker({
            connected,
            state,
            draining: state === 'DRAINING',
            config: { enabled, slots },
            current_stats: { slots },
          }),
        )
        const able = those.some(
          ({ connected, enabled, slots, state }) =>
            connected && enabled && slots > 0 && (state === 'IDLE' || state === 'RUNNING'),
        )
        const [cause] = explainQueue({ type: 't', queue: queue(part), workers: facts })
        expect(cause).toBeDefined()
        if (!able && part.high + part.normal + part.low > 0) expect(cause?.tone).toBe('bad')
      }),
    )
  })
})

describe('explainWorker', () => {
  it.each<[string, Partial<WorkerFacts>, RegExp]>([
    ['offline', { connected: false, last_error: 'ECONNREFUSED' }, /^Offline for 2 min\..*ECONNREFUSED$/],
    ['ended', { connected: false, ended: true }, /^Its process ended in an orderly way 2 min ago/],
    ['not enabled', { config: { enabled: false, slots: 1 } }, /^Not enabled/],
    ['zero slots', { config: { enabled: true, slots: 0 } }, /Scaled to zero/],
    ['draining', { state: 'DRAINING', draining: true }, /^Draining for 2 min/],
    ['behind', { applied_config_gen: 2 }, /^Config generation 3 is saved, 2 is applied. Saved 10 min ago/],
    ['nothing applied', { applied_config_gen: null }, /^Config generation 3 is not applied yet/],
    ['in ERROR', { state: 'ERROR', last_error: 'boom' }, /^In ERROR for 2 min: boom$/],
    ['healthy', {}, /^No problems/],
    ['just saved', { applied_config_gen: 2, config_changed_at: NOW - 2 }, /^No problems/],
    ['ahead of a master that lost its state', { applied_config_gen: 9 }, /^Config generation 3 is saved, 9 is applied/],
  ])('returns the decisive cause first: %s', (_, part, text) => {
    expect(explainWorker(worker(part), NOW)[0]?.text).toMatch(text)
  })

  it('returns all causes, starting with the one that hides the others', () => {
    expect(
      explainWorker(worker({ connected: false, config: { enabled: false, slots: 0 }, applied_config_gen: 1 }), NOW).map(
        ({ tone }) => tone,
      ),
    ).toEqual(['bad', 'warn', 'warn', 'warn'])
  })
})
