import { afterEach, describe, expect, it } from '@jest/globals'
import { defineContinuous, runContinuousSlot, SlotStopped, Type, type Context } from '../../src/automation/index.ts'
import { untilAborted, SlotFixture } from './slot-fixture.ts'

type Run = (context: Context) => Promise<void> | void
let slot: { fixture: SlotFixture; done: Promise<void> } | undefined

function start(run: Run) {
  const config = Type.Object({
    target: Type.String({ default: 'a' }),
    token: Type.String({ writeOnly: true, default: 'none' }),
  })
  const fixture = new SlotFixture(defineContinuous({ type: 'watcher', config, run }))
  const done = runContinuousSlot(fixture.entry, fixture.control, fixture.ports)
  slot = { fixture, done }
  return { fixture, done }
}

afterEach(async () => {
  slot?.fixture.kill()
  await slot?.done
  slot = undefined
})

describe('runContinuousSlot', () => {
  it('restarts a run one second after it returned', async () => {
    const starts: number[] = []
    const { fixture } = start(({ now }) => void starts.push(now()))
    await fixture.time.advance(2_500)
    expect(starts.map((at) => at - (starts[0] ?? 0))).toEqual([0, 1_000, 2_000])
    expect(fixture.errors).toEqual([])
  })

  it('reports an error and restarts after full jitter of 1 s, 2 s, 4 s … 60 s', async () => {
    const starts: number[] = []
    const { fixture } = start(({ now }) => {
      starts.push(now())
      throw new Error(`failure ${starts.length}`)
    })
    await fixture.time.advance(1_000_000)
    const gaps = starts.slice(1).map((at, index) => at - (starts[index] ?? 0))
    expect(gaps.slice(0, 6).every((gap, index) => gap <= 1_000 * 2 ** index + 1)).toBe(true)
    expect(Math.max(...gaps)).toBeGreaterThan(20_000)
    expect(Math.max(...gaps)).toBeLessThanOrEqual(60_001)
    expect(fixture.errors.slice(0, 2)).toEqual(['failure 1', 'failure 2'])
    expect(fixture.logs.filter(({ level }) => level === 'error')[0]?.fields).toMatchObject({ error: 'failure 1' })
  })

  it.each<[string, Run]>([
    [
      'that throws immediately',
      () => {
        throw 'text' as unknown
      },
    ],
    ['that rejects with nothing', () => Promise.reject(undefined)],
  ])('survives a run %s', async (_, run) => {
    const { fixture } = start(run)
    await fixture.time.advance(10_000)
    expect(fixture.errors.length).toBeGreaterThan(1)
  })

  it('clears the error and resets the backoff after a minute without a failure', async () => {
    let runs = 0
    const { fixture } = start(async ({ signal, sleep }) => {
      runs += 1
      if (runs === 1) throw new Error('cold start')
      if (runs === 2) await sleep(600_000)
      if (runs === 2) throw new Error('much later')
      await untilAborted(signal)
    })
    await fixture.time.advance(59_000)
    expect(fixture.errors).toEqual(['cold start'])
    await fixture.time.advance(3_000)
    expect(fixture.errors).toEqual(['cold start', null])
    await fixture.time.advance(541_000)
    expect(fixture.errors).toEqual(['cold start', null, 'much later'])
    expect(runs).toBe(3)
  })

  it('clears the error when a run returns', async () => {
    let runs = 0
    const { fixture } = start(() => {
      runs += 1
      if (runs === 1) throw new Error('cold start')
    })
    await fixture.time.advance(2_000)
    expect(fixture.errors).toEqual(['cold start', null])
  })

  it('reports each run with the config under which it began; one that was stopped is none (D137)', async () => {
    let runs = 0
    const { fixture, done } = start(async ({ sleep }) => {
      runs += 1
      await sleep(500)
      if (runs === 2) throw new Error('boom')
    })
    const first = fixture.config
    await fixture.time.advance(100)
    fixture.config = fixture.applied({ target: 'b' })
    await fixture.time.advance(2_000)
    await fixture.time.advance(1_500)
    fixture.stop()
    await done
    expect(fixture.runs.slice(0, 2)).toEqual([
      { config: first, outcome: 'ok', ms: 500 },
      { config: fixture.config, outcome: 'failed', ms: 500 },
    ])
    expect(fixture.runs[0]?.config).toBe(first)
    expect(fixture.runs[1]?.config).toBe(fixture.config)
  })

  it('aborts a run immediately when it is stopped, and awaits it (D53)', async () => {
    const { fixture, done } = start(async ({ signal, emit }) => {
      await untilAborted(signal).catch(() => {})
      await emit({ last: String(signal.reason) })
    })
    await fixture.time.advance(0)
    fixture.stop('recycle')
    await done
    expect(fixture.outputs).toEqual([{ last: 'SlotStopped: the slot was stopped: recycle' }])
  })

  it('does not report an error after the stop', async () => {
    const { fixture, done } = start(({ sleep }) => sleep(600_000))
    await fixture.time.advance(0)
    fixture.stop('disabled')
    await done
    expect(fixture.errors).toEqual([])
    expect(fixture.logs).toEqual([])
  })

  it('ends while it waits for the restart', async () => {
    const { fixture, done } = start(() => {})
    await fixture.time.advance(10)
    fixture.stop()
    await done
    expect(fixture.time.pending).toBe(0)
  })

  it('abandons a run that does not stop before it is killed (D53)', async () => {
    const { fixture, done } = start(() => new Promise<void>(() => {}))
    await fixture.time.advance(0)
    fixture.stop('drain')
    await fixture.time.advance(30_000)
    fixture.kill('drain')
    await done
    expect(fixture.logs).toMatchObject([{ level: 'warn', message: expect.stringContaining('its run is abandoned') }])
  })

  it('does not start if it was stopped before', async () => {
    const fixture = new SlotFixture(
      defineContinuous({
        type: 'watcher',
        run: () => {
          throw new Error('must not run')
        },
      }),
    )
    fixture.stop()
    await runContinuousSlot(fixture.entry, fixture.control, fixture.ports)
    expect(fixture.errors).toEqual([])
  })

  it('returns the newest applied config at each read, and masks the secrets of all earlier ones (D17)', async () => {
    const { fixture } = start(async (context) => {
      const before = context.config
      await context.sleep(10)
      expect(Object.isFrozen(context.config)).toBe(true)
      throw new Error(
        `${before.slots} ${context.config.slots} ${String((before as Record<string, unknown>)['token'])} ` +
          String((context.config as Record<string, unknown>)['token']),
      )
    })
    fixture.config = fixture.applied({ slots: 1, token: 'first-secret' })
    await fixture.time.advance(0)
    fixture.config = fixture.applied({ slots: 2, token: 'second-secret' })
    await fixture.time.advance(10)
    expect(fixture.errors[0]).toMatch(/^1 2 (?:none|\*{8}) \*{8}$/)
  })

  it('has one span for all runs of the slot', async () => {
    const { fixture, done } = start(() => {})
    await fixture.time.advance(5_000)
    fixture.stop()
    await done
    expect(fixture.spans).toEqual([
      {
        name: 'slot.run_continuous',
        attributes: { 'fleet.automation_type': 'watcher', 'fleet.worker_id': 'w1', 'fleet.slot_id': 3 },
      },
    ])
  })

  it('aborts every run with the reason of the stop', async () => {
    const reasons: unknown[] = []
    const { fixture, done } = start(async ({ signal }) => {
      await untilAborted(signal).catch((reason: unknown) => reasons.push(reason))
    })
    await fixture.time.advance(0)
    fixture.stop('slots')
    await done
    expect(reasons).toEqual([new SlotStopped('slots')])
  })
})
