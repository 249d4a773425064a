import { describe, expect, it } from '@jest/globals'
import { Breaker, type OpenReason } from '../../../src/operator/fleet/breaker.ts'
import { seededRandom, VirtualTime } from '../../../src/runtime/index.ts'

function fixture() {
  const time = new VirtualTime()
  const turns: (OpenReason | null)[] = []
  const probes: number[] = []
  const master = { isBack: false }
  const breaker = new Breaker({
    clock: time,
    timers: time,
    random: seededRandom(1),
    onTurn: (reason) => turns.push(reason),
    probe: async () => {
      probes.push(time.monotonicMs())
      return master.isBack
    },
  })
  const end = new AbortController()
  const running = breaker.run(end.signal)
  const fail = (times: number): void => {
    for (let call = 0; call < times; call += 1) breaker.ended(true)
  }
  const stop = (): Promise<void> => {
    end.abort()
    return running
  }
  return { time, breaker, turns, probes, master, fail, stop }
}

describe('the circuit breaker', () => {
  it('opens after five consecutive failures, but not if a success came in between', async () => {
    const { breaker, fail, turns, stop } = fixture()
    fail(4)
    breaker.ended(false)
    fail(4)
    expect(turns).toEqual([])
    fail(1)
    expect([turns, breaker.reason]).toEqual([['MasterUnreachable'], 'MasterUnreachable'])
    await stop()
  })

  it('opens when half of the last 20 calls failed within 10 s, but not over a longer time', async () => {
    const { time, breaker, turns, stop } = fixture()
    const mixed = async (gapMs: number): Promise<void> => {
      for (let call = 0; call < 20; call += 1) {
        breaker.ended(call % 2 === 1)
        await time.advance(gapMs)
      }
    }
    await mixed(600)
    expect(turns).toEqual([])
    await mixed(100)
    expect(turns).toEqual(['MasterUnreachable'])
    await stop()
  })

  it('probes every 2 to 15 s with jitter, and closes with the first success', async () => {
    const { time, breaker, fail, turns, probes, master, stop } = fixture()
    fail(5)
    await time.advance(120_000)
    const gaps = probes.map((at, index) => at - (probes[index - 1] ?? 0))
    expect(Math.min(...gaps)).toBeGreaterThanOrEqual(1_000)
    expect(Math.max(...gaps)).toBeLessThanOrEqual(15_000)
    expect(gaps.slice(4).every((gap) => gap >= 7_500)).toBe(true)
    expect(breaker.unavailableMs).toBe(120_000)
    master.isBack = true
    await time.advance(15_000)
    expect([turns, breaker.unavailableMs]).toEqual([['MasterUnreachable', null], 0])
    await stop()
  })

  it('keeps its probe interval while a master is ready but fails every call', async () => {
    const { time, breaker, fail, probes, master, stop } = fixture()
    master.isBack = true
    for (let round = 0; round < 6; round += 1) {
      breaker.ended(false)
      fail(5)
      await time.advance(15_000)
    }
    fail(5)
    const openedMs = time.monotonicMs()
    await time.advance(15_000)
    expect((probes.at(-1) ?? 0) - openedMs).toBeGreaterThanOrEqual(7_500)
    await time.advance(30_000)
    breaker.ended(false)
    fail(5)
    const againMs = time.monotonicMs()
    await time.advance(15_000)
    expect((probes.at(-1) ?? 0) - againMs).toBeLessThanOrEqual(2_000)
    await stop()
  })

  it('sends no probe before the time that a refusal requests', async () => {
    const { time, breaker, fail, probes, stop } = fixture()
    fail(4)
    breaker.ended(true, 20_000)
    await time.advance(30_000)
    expect(probes[0]).toBe(20_000)
    await stop()
  })

  it('ignores calls that were sent before it opened', async () => {
    const { time, breaker, fail, turns, stop } = fixture()
    fail(5)
    await time.advance(1_000)
    breaker.ended(false)
    expect([turns, breaker.unavailableMs]).toEqual([['MasterUnreachable'], 1_000])
    breaker.close()
    fail(4)
    expect(turns).toEqual(['MasterUnreachable', null])
    await stop()
  })
})
