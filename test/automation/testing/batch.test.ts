import { describe, expect, it } from '@jest/globals'
import { defineBatch, Permanent, RetryIn, Type, type BatchContext } from '../../../src/automation/index.ts'
import { runBatch } from '../../../src/automation/testing/index.ts'
import { untilAborted } from '../slot-fixture.ts'

const mailer = (
  run: (context: BatchContext<object, object, object, { inboxes: { payload: object } }>) => Promise<void> | void,
) => defineBatch({ type: 'mailer', payload: {}, pools: { inboxes: { payload: {} } }, run })
const two = [{ payload: { to: 'a' } }, { payload: { to: 'b' } }]

describe('runBatch', () => {
  it('runs every task once, in order, and returns what happened', async () => {
    const run = await runBatch(
      mailer(async ({ task, emit, log, metrics, sleep }) => {
        log.info('sending', { ...(Object(task.payload) as object) })
        await sleep(1_500)
        metrics.counter('sent').add()
        await emit({ id: task.id, payload: task.payload })
      }),
      { tasks: two },
    )
    expect(run.outputs).toEqual([
      { id: 'task-1', payload: { to: 'a' } },
      { id: 'task-2', payload: { to: 'b' } },
    ])
    expect([run.acked, run.dead, run.left, run.virtualSeconds]).toEqual([['task-1', 'task-2'], [], [], 3])
    expect(run.attempts).toEqual([
      {
        taskId: 'task-1',
        attempt: 0,
        slotId: 0,
        startSeconds: 0,
        endSeconds: 1.5,
        outcome: 'acked',
        error: null,
        retryInSeconds: null,
      },
      {
        taskId: 'task-2',
        attempt: 0,
        slotId: 0,
        startSeconds: 1.5,
        endSeconds: 3,
        outcome: 'acked',
        error: null,
        retryInSeconds: null,
      },
    ])
    expect(run.logs).toEqual([
      { level: 'info', message: 'sending', fields: { to: 'a' }, slotId: 0, atSeconds: 0 },
      { level: 'info', message: 'sending', fields: { to: 'b' }, slotId: 0, atSeconds: 1.5 },
    ])
    expect(run.metrics).toEqual({ 'counter.sent': 2 })
    expect(run.calls.slice(0, 2)).toEqual([
      { call: 'sleep', args: [1_500], slotId: 0, taskId: 'task-1', atSeconds: 0 },
      { call: 'emit', args: [run.outputs[0]], slotId: 0, taskId: 'task-1', atSeconds: 1.5 },
    ])
  })

  it('runs as many tasks simultaneously as there are slots, high priority first', async () => {
    const started: [string, number, number][] = []
    const run = await runBatch(
      mailer(async ({ task, slotId, sleep, now }) => {
        started.push([task.id, slotId, now()])
        await sleep(10_000)
      }),
      { slots: 2, tasks: [...two, { id: 'urgent', priority: 1, payload: {} }] },
    )
    expect(started.map(([id, slot]) => [id, slot])).toEqual([
      ['urgent', 0],
      ['task-1', 1],
      ['task-2', 0],
    ])
    expect(run.virtualSeconds).toBe(20)
  })

  it('hands the progress of a run to the next one (D114)', async () => {
    const seen: unknown[] = []
    const run = await runBatch(
      mailer(({ task }) => {
        seen.push(task.lastProgress)
        task.progress({ sent: task.attempt + 1 })
        if (task.attempt < 2) throw new RetryIn(1, 'later')
      }),
      { tasks: two.slice(0, 1) },
    )
    expect(run.acked).toEqual(['task-1'])
    expect(seen).toEqual([null, { sent: 1 }, { sent: 2 }])
  })

  it('retries with the backoff of the automation, on virtual time, until the task is dead', async () => {
    const flaky = defineBatch({
      type: 'flaky',
      payload: {},
      retry: { baseSeconds: 100, factor: 10, capSeconds: 1_000 },
      run: () => {
        throw new Error('smtp is down')
      },
    })
    const run = await runBatch(flaky, { config: { max_attempts: 4 }, tasks: [{ payload: {} }] })
    expect(run.attempts.map(({ attempt, outcome, error }) => [attempt, outcome, error])).toEqual([
      [0, 'scheduled', 'smtp is down'],
      [1, 'scheduled', 'smtp is down'],
      [2, 'scheduled', 'smtp is down'],
      [3, 'dead', 'smtp is down'],
    ])
    expect(run.dead).toEqual([{ id: 'task-1', error: 'smtp is down' }])
    const waits = run.attempts
      .slice(1)
      .map(({ startSeconds }, index) => startSeconds - (run.attempts[index]?.endSeconds ?? 0))
    expect(waits.every((wait, index) => wait >= 0 && wait <= Math.min(1_000, 100 * 10 ** index))).toBe(true)
    expect(run.virtualSeconds).toBeGreaterThan(10)
  })

  it('gives the same run for the same seed, and another one for another seed', async () => {
    const play = async (seed: number) =>
      (
        await runBatch(
          mailer(() => {
            throw new Error('no')
          }),
          { tasks: two, slots: 2, seed },
        )
      ).attempts
    expect(await play(7)).toEqual(await play(7))
    expect(await play(7)).not.toEqual(await play(8))
  })

  it('applies RetryIn and Permanent', async () => {
    const run = await runBatch(
      mailer(({ task }) => {
        if (task.id === 'task-2') throw new Permanent('no such user')
        if (task.attempt === 0) throw new RetryIn(90, 'later')
      }),
      { tasks: two },
    )
    expect(run.attempts).toMatchObject([
      { taskId: 'task-1', outcome: 'scheduled', error: 'later', retryInSeconds: 90, endSeconds: 0 },
      { taskId: 'task-2', outcome: 'dead', error: 'no such user', retryInSeconds: null },
      { taskId: 'task-1', attempt: 1, outcome: 'acked', startSeconds: 90 },
    ])
    expect(run.dead).toEqual([{ id: 'task-2', error: 'no such user' }])
  })

  it('keeps the lease of a run that takes longer than the visibility timeout', async () => {
    const slow = defineBatch({
      type: 'slow',
      payload: {},
      visibilityTimeoutSeconds: 10,
      run: ({ sleep }) => sleep(300_000),
    })
    expect((await runBatch(slow, { slots: 3, tasks: two })).attempts.map(({ outcome }) => outcome)).toEqual([
      'acked',
      'acked',
    ])
  })

  it('uses the given store: keys, counters, locks, pools and messages', async () => {
    const run = await runBatch(
      mailer(async ({ kv, counter, lock, pool, bus }) => {
        expect(await lock.acquire('theirs', { holdSeconds: 5 })).toBeNull()
        await using mine = await lock.acquire('mine', { holdSeconds: 5 })
        await using inbox = await pool('inboxes').claim({ holdSeconds: 5 })
        expect([mine?.token, inbox?.id]).toEqual([expect.any(Number), 'inboxes-1'])
        await kv.set('last', [await kv.get('first'), await counter.add('sent', 2)])
        await kv.delete('first')
        await pool('inboxes').put([{ id: 'new', payload: { n: 2 } }])
        await bus.publish('mail', { done: true })
      }),
      {
        tasks: [{ payload: {} }],
        kv: { first: { a: 1 } },
        counters: { sent: 40 },
        locks: { theirs: 60 },
        pools: { inboxes: [{ payload: { n: 1 } }] },
      },
    )
    expect([run.kv, run.counters, run.locks]).toEqual([
      { last: [{ a: 1 }, 42] },
      { sent: 42 },
      { theirs: 'held', mine: 'free' },
    ])
    expect(run.pools).toEqual({
      inboxes: [
        { id: 'inboxes-1', payload: { n: 1 }, tags: {}, inUse: false },
        { id: 'new', payload: { n: 2 }, tags: {}, inUse: false },
      ],
    })
    expect(run.published).toEqual([{ topic: 'mail', message: { done: true } }])
    expect(run.calls.map(({ call }) => call)).toEqual([
      'lock.acquire',
      'lock.acquire',
      'pool.claim',
      'kv.get',
      'counter.add',
      'kv.set',
      'kv.delete',
      'pool.put',
      'bus.publish',
      'pool.release',
      'lock.release',
    ])
    expect(run.calls[2]).toMatchObject({
      args: ['inboxes', { holdSeconds: 5 }],
      result: { id: 'inboxes-1', payload: { n: 1 } },
    })
  })

  it('rejects an invalid call of the context, as the master does', async () => {
    const run = await runBatch(
      mailer(async ({ counter }) => void (await counter.add('n', 0.5))),
      { config: { max_attempts: 1 }, tasks: [{ payload: {} }] },
    )
    expect(run.dead).toEqual([{ id: 'task-1', error: expect.stringContaining('params/delta') }])
    expect(run.calls[0]).toMatchObject({ call: 'counter.add', error: expect.stringContaining('params/delta') })
  })

  it('stops virtual time while a run waits for real I/O', async () => {
    const { readFile } = await import('node:fs/promises')
    const run = await runBatch(
      mailer(async ({ emit }) => emit({ bytes: (await readFile(new URL(import.meta.url))).length })),
      { slots: 2, tasks: two },
    )
    expect(run.outputs).toHaveLength(2)
    expect(run.virtualSeconds).toBe(0)
  })

  it('changes config and slots from the script; a task keeps the config of its reserve', async () => {
    const widths: unknown[] = []
    const scaler = defineBatch({
      type: 'scaler',
      config: Type.Object({ width: Type.Integer({ default: 1 }) }),
      payload: Type.Object({}),
      async run({ config, slotId, sleep }) {
        await sleep(10_000)
        widths.push([slotId, config.width])
      },
    })
    await runBatch(scaler, {
      tasks: Array.from({ length: 4 }, () => ({ payload: {} })),
      script: { 5: (h) => h.setConfig({ width: 2, slots: 3 }) },
    })
    expect(widths).toEqual([
      [0, 1],
      [1, 2],
      [2, 2],
      [0, 2],
    ])
  })

  it('loses a lease from the script: the run is aborted, its outcome ignored, the task run again', async () => {
    const reasons: unknown[] = []
    const run = await runBatch(
      mailer(async ({ task, signal, sleep }) => {
        if (task.attempt > 0 || reasons.length > 0) return
        await Promise.race([sleep(60_000), untilAborted(signal)]).catch((error: unknown) =>
          reasons.push((error as { why: string }).why),
        )
        await expect(task.extend()).rejects.toMatchObject({ code: 'lease_lost' })
      }),
      { tasks: [{ payload: {} }], script: { 30: (h) => h.loseLease('task-1') } },
    )
    expect(reasons).toEqual(['lease_lost'])
    expect(run.attempts).toMatchObject([
      { outcome: 'lease_lost', endSeconds: 30 },
      { outcome: 'acked', attempt: 0, startSeconds: 30 },
    ])
  })

  it('disconnects the worker from the script: calls fail, and the outcome is delivered afterwards', async () => {
    const run = await runBatch(
      mailer(async ({ kv, sleep }) => {
        await sleep(15_000)
        await kv.set('a', 1).catch(() => {})
      }),
      { tasks: two, script: { 10: (h) => h.disconnect(20) } },
    )
    expect(run.calls.filter(({ call }) => call === 'kv.set')).toEqual([
      expect.objectContaining({ error: expect.stringContaining('disconnected'), atSeconds: 15 }),
      expect.not.objectContaining({ error: expect.anything() }),
    ])
    expect(run.attempts).toMatchObject([
      { taskId: 'task-1', endSeconds: 15, outcome: 'acked' },
      { taskId: 'task-2', startSeconds: 30, outcome: 'acked' },
    ])
  })

  it('releases a task at a shutdown without counting an attempt, and lists it as left', async () => {
    const run = await runBatch(
      mailer(({ signal }) => untilAborted(signal)),
      { tasks: two, maxVirtualSeconds: 100, script: { 10: (h) => h.stop('shutdown') }, maxWaitSeconds: 0.5, allow: [] },
    ).catch((error: unknown) => error)
    // Waiting only for the signal counts as outside of the context.
    expect(run).toMatchObject({ faults: [{ name: 'stuck' }] })
    const waiting = await runBatch(
      mailer(({ sleep }) => sleep(600_000)),
      { tasks: two, script: { 10: (h) => h.stop('shutdown') } },
    )
    expect(waiting.attempts).toMatchObject([{ taskId: 'task-1', outcome: 'released', attempt: 0, endSeconds: 40 }])
    expect(waiting.left).toEqual(['task-1', 'task-2'])
  })

  it('submits tasks and recycles slots from the script', async () => {
    const run = await runBatch(
      mailer(() => {}),
      {
        tasks: [],
        script: {
          5: (h) => h.submit([{ payload: {} }]),
          6: (h) => h.stop('recycle'),
          7: (h) => h.submit([{ payload: {} }]),
        },
      },
    )
    expect(run.attempts.map(({ startSeconds, outcome }) => [startSeconds, outcome])).toEqual([
      [5, 'acked'],
      [7, 'acked'],
    ])
  })
})
