import { describe, expect, it } from '@jest/globals'
import fc from 'fast-check'
import { explainQueue, type WorkerFacts } from '../../src/diagnosis/index.ts'
import { NOW, queue, runs, worker, workerRuns } from './facts.ts'

const first = (workers: readonly WorkerFacts[], part: object = {}) =>
  explainQueue({ type: 'mailer', queue: queue(part), workers, runs: null, nowSeconds: NOW })[0]

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
      /^All 3 workers that take tasks fail their tasks: b\. w-1 fails every task it takes\./,
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
    ['empty queue', [], { normal: 0 }, /^No task of mailer is waiting or running\.$/],
    ['only dead tasks', [], { normal: 0, dead: 2 }, /^No task is waiting or running, but 2 tasks are dead\./],
  ])('returns the decisive cause first: %s', (_, workers, part, text) => {
    expect(first(workers, part)?.text).toMatch(text)
  })

  it('lists contributing causes after the decisive one', () => {
    const texts = explainQueue({
      type: 'mailer',
      queue: queue({ high: 3, low: 1, in_flight: 2, dead: 1 }),
      workers: [worker(), worker({ connected: false }), worker({ config: { enabled: false } })],
      runs: null,
      nowSeconds: NOW,
    }).map(({ text }) => text)
    expect(texts).toEqual([
      expect.stringMatching(/^All 2 slots are busy, 9 tasks are waiting/),
      'The normal and low tiers wait for 3 high tasks.',
      '1 worker is offline.',
      '1 worker is not enabled.',
      '1 task is in the dead letters.',
    ])
  })

  it('names what fixes it: of a single worker, or the list if there are several', () => {
    const disabled = { config: { enabled: false, slots: 1 } }
    expect(first([worker(disabled)])?.fixes).toEqual([{ kind: 'edit_config', type: 'mailer', worker: 'w-1' }])
    expect(first([worker(disabled), worker({ ...disabled, worker_id: 'w-2' })])?.fixes).toEqual([
      { kind: 'list_workers', type: 'mailer', filter: 'not_enabled' },
    ])
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
        const [cause] = explainQueue({ type: 't', queue: queue(part), workers: facts, runs: null, nowSeconds: NOW })
        expect(cause).toBeDefined()
        if (!able && part.high + part.normal + part.low > 0) expect(cause?.tone).toBe('bad')
      }),
    )
  })
})

describe('explainQueue with failures (D152)', () => {
  const BUSY = { normal: 900, in_flight: 18, dead: 7_000 }
  const good = ['img-01', 'img-02', 'img-03'].map((id) => worker({ worker_id: id }))
  const bad = worker({
    worker_id: 'img-04',
    state: 'ERROR',
    state_since: NOW - 659,
    last_error: 'getaddrinfo ENOTFOUND old.invalid',
    config_changed_at: NOW - 660,
    config_changed_by: 'admin dashboard:ana',
  })
  const badRuns = workerRuns({
    worker_id: 'img-04',
    failed: 2_076,
    died: 1_344,
    config_failed: 20_000,
    config_changed: ['origin'],
    last_error_runs: 20_000,
  })
  const causes = (workers: readonly WorkerFacts[], of: ReturnType<typeof runs> | null, part: object = BUSY) =>
    explainQueue({ type: 'mailer', queue: queue(part), workers, runs: of, nowSeconds: NOW })

  it('names the failing worker, its error and its config change before busy slots', () => {
    const [cause, ...others] = causes([...good, bad], runs({ done: 537, failed: 2_076, workers: [badRuns] }))
    expect(cause).toEqual({
      tone: 'bad',
      text:
        'img-04 has failed every task since its config changed 11 min ago (origin, by admin dashboard:ana): ' +
        'getaddrinfo ENOTFOUND old.invalid. 2,076 runs failed in the last minute, none succeeded; 1,344 tasks died. ' +
        'All failed with the same error.',
      fixes: [
        { kind: 'edit_config', type: 'mailer', worker: 'img-04' },
        { kind: 'show_config_change', type: 'mailer', worker: 'img-04', generation: 3 },
        { kind: 'drain_worker', type: 'mailer', worker: 'img-04' },
        { kind: 'replay_dead', type: 'mailer' },
      ],
    })
    expect(others.map(({ text }) => text).join(' ')).not.toMatch(/busy|Add slots/)
  })

  it('names it before its counts are known, by its state and error', () => {
    const since = { state_since: NOW - 4, config_changed_at: NOW - 5 }
    expect(causes([...good, { ...bad, ...since }], null)[0]?.text).toBe(
      'img-04 has failed every task since its config changed 5 s ago (by admin dashboard:ana): ' +
        'getaddrinfo ENOTFOUND old.invalid.',
    )
  })

  it('does not suspect a config under which runs succeeded, nor a change of slots alone', () => {
    const healthy = { ...badRuns, done: 100, failed: 300, config_done: 5_000, last_error_runs: 250, config_failed: 300 }
    expect(causes([...good, bad], runs({ done: 600, failed: 300, workers: [healthy] }))[0]?.text).toBe(
      'img-04 fails 75 % of its tasks: getaddrinfo ENOTFOUND old.invalid. ' +
        '300 runs failed in the last minute, 100 succeeded; 1,344 tasks died. ' +
        'The newest error ended 250 of 300 failed runs under this config. ' +
        'Its config changed 11 min ago (origin, by admin dashboard:ana).',
    )
    const scaled = { ...badRuns, config_changed: ['slots'] }
    expect(causes([...good, bad], runs({ done: 1, failed: 2_076, workers: [scaled] }))[0]?.text).toMatch(
      /^img-04 fails every task it takes: .* Its config changed 11 min ago \(slots, by admin dashboard:ana\)\.$/,
    )
  })

  it('ignores counts of an earlier config, so that a fixed worker is not blamed', () => {
    const fixed = worker({ ...bad, state: 'RUNNING', last_error: null, config_gen: 4, applied_config_gen: 4 })
    expect(causes([...good, fixed], runs({ done: 537, failed: 2_076, workers: [badRuns] }))[0]?.text).toMatch(
      /^79 % of the runs failed in the last minute \(2,076 of 2,613\), and no worker stands out\./,
    )
  })

  it('names further failing workers, and the error that all have in common', () => {
    const second = worker({ ...bad, worker_id: 'img-05' })
    expect(causes([...good, bad, second], runs({ done: 1, failed: 2_076, workers: [badRuns] }))[1]).toMatchObject({
      text: '1 more worker fails its tasks: img-05.',
      fixes: [{ kind: 'list_workers', filter: 'failing' }],
    })
    const [cause] = causes([bad, second], runs({ done: 0, failed: 2_076, workers: [badRuns] }))
    expect(cause?.text).toMatch(
      /^All 2 workers that take tasks fail their tasks: getaddrinfo ENOTFOUND old\.invalid\. img-04 has failed /,
    )
    expect(cause?.fixes.map(({ kind }) => kind)).not.toContain('drain_worker')
  })

  it('explains dead tasks although the queue is empty', () => {
    const empty = { normal: 0, dead: 7_000 }
    expect(causes([...good, bad], runs({ done: 9, failed: 2_076, workers: [badRuns] }), empty)).toMatchObject([
      { text: expect.stringMatching(/^img-04 has failed every task/) },
      { text: 'No task is waiting or running, but 7,000 tasks are dead.', fixes: [{ kind: 'replay_dead' }] },
    ])
  })

  it('keeps busy slots first while few runs of few workers fail', () => {
    const many = Array.from({ length: 99 }, (_, n) => worker({ worker_id: `ok-${n}` }))
    const few = { ...badRuns, failed: 12, died: null }
    const all = causes([...many, bad], runs({ done: 50_000, failed: 12, workers: [few] }), {
      normal: 9,
      in_flight: 999,
    })
    expect(all.map(({ text }) => text)).toEqual([
      expect.stringMatching(/^All 200 slots are busy/),
      'img-04 fails its tasks: getaddrinfo ENOTFOUND old.invalid.',
    ])
  })

  it('says that a worker cannot start a slot', () => {
    const none = { ...bad, current_stats: { slots: 0 }, last_error: 'no such module' }
    expect(causes([...good, none], null)[0]?.text).toBe(
      'img-04 has not started a slot since its config changed 11 min ago (by admin dashboard:ana): no such module.',
    )
  })

  it('shows failures behind a pause, and none of workers that take no tasks', () => {
    const paused = { note: null, actor: 'admin', since: 1, until: null }
    const of = runs({ done: 9, failed: 2_076, workers: [badRuns] })
    expect(causes([...good, bad], of, { ...BUSY, paused }).map(({ text }) => text.slice(0, 6))).toEqual([
      'Paused',
      'img-04',
      '7,000 ',
    ])
    expect(causes([worker({ ...bad, connected: false })], of)[0]?.text).toMatch(/is offline/)
  })
})
