import { afterEach, describe, expect, it } from '@jest/globals'
import { defineContinuous, runContinuousSlot, SlotStopped, Type, type Context } from '../../src/automation/index.ts'
import { untilAborted, World } from './world.ts'

type Run = (context: Context) => Promise<void> | void
let slot: { world: World; done: Promise<void> } | undefined

function start(run: Run) {
  const config = Type.Object({
    target: Type.String({ default: 'a' }),
    token: Type.String({ writeOnly: true, default: 'none' }),
  })
  const world = new World(defineContinuous({ type: 'watcher', config, run }))
  const done = runContinuousSlot(world.entry, world.control, world.ports)
  slot = { world, done }
  return { world, done }
}

afterEach(async () => {
  slot?.world.kill()
  await slot?.done
  slot = undefined
})

describe('runContinuousSlot', () => {
  it('restarts a run one second after it returned', async () => {
    const starts: number[] = []
    const { world } = start(({ now }) => void starts.push(now()))
    await world.time.advance(2_500)
    expect(starts.map((at) => at - (starts[0] ?? 0))).toEqual([0, 1_000, 2_000])
    expect(world.errors).toEqual([])
  })

  it('reports an error and restarts after full jitter of 1 s, 2 s, 4 s … 60 s', async () => {
    const starts: number[] = []
    const { world } = start(({ now }) => {
      starts.push(now())
      throw new Error(`failure ${starts.length}`)
    })
    await world.time.advance(1_000_000)
    const gaps = starts.slice(1).map((at, index) => at - (starts[index] ?? 0))
    expect(gaps.slice(0, 6).every((gap, index) => gap <= 1_000 * 2 ** index + 1)).toBe(true)
    expect(Math.max(...gaps)).toBeGreaterThan(20_000)
    expect(Math.max(...gaps)).toBeLessThanOrEqual(60_001)
    expect(world.errors.slice(0, 2)).toEqual(['failure 1', 'failure 2'])
    expect(world.logs.filter(({ level }) => level === 'error')[0]?.fields).toMatchObject({ error: 'failure 1' })
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
    const { world } = start(run)
    await world.time.advance(10_000)
    expect(world.errors.length).toBeGreaterThan(1)
  })

  it('clears the error and resets the backoff after a minute without a failure', async () => {
    let runs = 0
    const { world } = start(async ({ signal, sleep }) => {
      runs += 1
      if (runs === 1) throw new Error('cold start')
      if (runs === 2) await sleep(600_000)
      if (runs === 2) throw new Error('much later')
      await untilAborted(signal)
    })
    await world.time.advance(59_000)
    expect(world.errors).toEqual(['cold start'])
    await world.time.advance(3_000)
    expect(world.errors).toEqual(['cold start', null])
    await world.time.advance(541_000)
    expect(world.errors).toEqual(['cold start', null, 'much later'])
    expect(runs).toBe(3)
  })

  it('clears the error when a run returns', async () => {
    let runs = 0
    const { world } = start(() => {
      runs += 1
      if (runs === 1) throw new Error('cold start')
    })
    await world.time.advance(2_000)
    expect(world.errors).toEqual(['cold start', null])
  })

  it('aborts a run immediately when it is stopped, and awaits it (D53)', async () => {
    const { world, done } = start(async ({ signal, emit }) => {
      await untilAborted(signal).catch(() => {})
      await emit({ last: String(signal.reason) })
    })
    await world.time.advance(0)
    world.stop('recycle')
    await done
    expect(world.outputs).toEqual([{ last: 'SlotStopped: the slot was stopped: recycle' }])
  })

  it('does not report an error after the stop', async () => {
    const { world, done } = start(({ sleep }) => sleep(600_000))
    await world.time.advance(0)
    world.stop('disabled')
    await done
    expect(world.errors).toEqual([])
    expect(world.logs).toEqual([])
  })

  it('ends while it waits for the restart', async () => {
    const { world, done } = start(() => {})
    await world.time.advance(10)
    world.stop()
    await done
    expect(world.time.pending).toBe(0)
  })

  it('abandons a run that does not stop before it is killed (D53)', async () => {
    const { world, done } = start(() => new Promise<void>(() => {}))
    await world.time.advance(0)
    world.stop('drain')
    await world.time.advance(30_000)
    world.kill('drain')
    await done
    expect(world.logs).toMatchObject([{ level: 'warn', message: expect.stringContaining('left behind') }])
  })

  it('does not start if it was stopped before', async () => {
    const world = new World(
      defineContinuous({
        type: 'watcher',
        run: () => {
          throw new Error('must not run')
        },
      }),
    )
    world.stop()
    await runContinuousSlot(world.entry, world.control, world.ports)
    expect(world.errors).toEqual([])
  })

  it('returns the newest applied config at each read, and masks the secrets of all earlier ones (D17)', async () => {
    const { world } = start(async (context) => {
      const before = context.config
      await context.sleep(10)
      expect(Object.isFrozen(context.config)).toBe(true)
      throw new Error(
        `${before.slots} ${context.config.slots} ${String((before as Record<string, unknown>)['token'])} ${String((context.config as Record<string, unknown>)['token'])}`,
      )
    })
    world.config = world.applied({ slots: 1, token: 'first-secret' })
    await world.time.advance(0)
    world.config = world.applied({ slots: 2, token: 'second-secret' })
    await world.time.advance(10)
    expect(world.errors[0]).toMatch(/^1 2 (?:none|\*{8}) \*{8}$/)
  })

  it('has one span for all runs of the slot', async () => {
    const { world, done } = start(() => {})
    await world.time.advance(5_000)
    world.stop()
    await done
    expect(world.spans).toEqual([
      {
        name: 'slot.run_continuous',
        attributes: { 'fleet.automation_type': 'watcher', 'fleet.worker_id': 'w1', 'fleet.slot_id': 3 },
      },
    ])
  })

  it('aborts every run with the reason of the stop', async () => {
    const reasons: unknown[] = []
    const { world, done } = start(async ({ signal }) => {
      await untilAborted(signal).catch((reason: unknown) => reasons.push(reason))
    })
    await world.time.advance(0)
    world.stop('slots')
    await done
    expect(reasons).toEqual([new SlotStopped('slots')])
  })
})
