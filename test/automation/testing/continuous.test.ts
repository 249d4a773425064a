import { describe, expect, it } from '@jest/globals'
import { defineContinuous, Type, type Context } from '../../../src/automation/index.ts'
import { runContinuous } from '../../../src/automation/testing/index.ts'

const watcher = (run: (context: Context<{ type: 'object' }>) => Promise<void> | void) =>
  defineContinuous({ type: 'watcher', run })

describe('runContinuous', () => {
  it('runs for the given virtual seconds, then drains', async () => {
    const run = await runContinuous(
      watcher(async ({ counter, emit, signal, sleep }) => {
        while (!signal.aborted) {
          await emit({ beat: await counter.add('beats', 1) })
          await sleep(3_600_000)
        }
      }),
      { forSeconds: 24 * 3_600 - 1, slots: 2 },
    )
    expect(run.outputs).toHaveLength(48)
    expect([run.counters, run.virtualSeconds]).toEqual([{ beats: 48 }, 86_399])
    expect(run.runs).toEqual([0, 1].map((slotId) => ({ slotId, startSeconds: 0, endSeconds: 86_399, error: null })))
  })

  it('restarts a run that failed or returned, as the worker does', async () => {
    let starts = 0
    const run = await runContinuous(
      watcher(({ sleep, signal }) => {
        starts += 1
        if (starts === 1) throw new Error('no route')
        return starts === 2
          ? undefined
          : sleep(60_000).catch(() => expect(signal.reason).toMatchObject({ why: 'drain' }))
      }),
      { forSeconds: 10 },
    )
    expect(run.runs).toMatchObject([
      { startSeconds: 0, error: 'no route' },
      { error: null },
      { endSeconds: 10, error: null },
    ])
    expect(run.runs[1]?.startSeconds).toBeLessThan(1)
    expect((run.runs[2]?.startSeconds ?? 0) - (run.runs[1]?.endSeconds ?? 0)).toBe(1)
    expect(run.workerLogs).toContainEqual(
      expect.objectContaining({ level: 'error', fields: expect.objectContaining({ error: 'no route' }) }),
    )
  })

  it('returns the newest config at each read', async () => {
    const ticker = defineContinuous({
      type: 'ticker',
      config: Type.Object({ every: Type.Integer({ default: 10 }) }),
      async run(context) {
        for (;;) {
          await context.emit({ every: context.config.every })
          await context.sleep(context.config.every * 1_000)
        }
      },
    })
    const run = await runContinuous(ticker, { forSeconds: 25, script: { 10: (h) => h.setConfig({ every: 2 }) } })
    expect(run.outputs.map(({ every }) => every)).toEqual([10, 2, 2, 2, 2, 2, 2, 2, 2])
  })

  it('aborts the slots with the reason, and ends early when the script drains', async () => {
    const whys: unknown[] = []
    const run = await runContinuous(
      watcher(async ({ sleep, signal }) => {
        await sleep(1e9).catch(() => whys.push((signal.reason as { why: string }).why))
      }),
      {
        forSeconds: 300,
        slots: 2,
        script: {
          10: (h) => h.setConfig({ slots: 1 }),
          20: (h) => h.stop('recycle'),
          30: (h) => h.setConfig({ enabled: false }),
          40: (h) => h.setConfig({ enabled: true }),
          50: (h) => h.stop('shutdown'),
        },
      },
    )
    expect(whys).toEqual(['slots', 'recycle', 'disabled', 'shutdown'])
    expect(run.virtualSeconds).toBe(50)
  })

  it('replaces slots by their age', async () => {
    const whys: unknown[] = []
    await runContinuous(
      watcher(
        async ({ sleep, signal }) =>
          void (await sleep(1e9).catch(() => whys.push((signal.reason as { why: string }).why))),
      ),
      { forSeconds: 100, config: { recycle_seconds: 40 } },
    )
    expect(whys).toEqual(['recycle', 'recycle', 'drain'])
  })

  it('delivers messages during a subscription, except while disconnected', async () => {
    const received: unknown[] = []
    const run = await runContinuous(
      watcher(async ({ bus }) => {
        for await (const message of bus.subscribe('orders')) received.push(message)
      }),
      {
        forSeconds: 60,
        script: {
          10: (h) => h.publish('event:orders', 1),
          15: (h) => h.publish('other', 2),
          20: (h) => h.disconnect(20),
          30: (h) => h.publish('orders', 3),
          50: (h) => h.publish('orders', 4),
        },
      },
    )
    expect(received).toEqual([1, 4])
    expect(run.published.map(({ topic }) => topic)).toEqual(['orders', 'other', 'orders', 'orders'])
    expect(run.calls).toEqual([{ call: 'bus.subscribe', args: ['orders'], slotId: 0, taskId: null, atSeconds: 0 }])
  })
})
