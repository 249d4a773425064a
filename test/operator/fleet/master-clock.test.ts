import { describe, expect, it } from '@jest/globals'
import { MasterClock } from '../../../src/operator/fleet/master-clock.ts'
import { VirtualTime } from '../../../src/runtime/index.ts'

const fixture = () => {
  const time = new VirtualTime()
  return { time, clock: new MasterClock(time) }
}

/** The `Date` header of a response, which has whole seconds. */
const headerMs = (masterMs: number): number => Math.floor(masterMs / 1_000) * 1_000

describe('the clock of the master', () => {
  it('is that of this machine before the first response, and no time for changes is known', () => {
    const { time, clock } = fixture()
    clock.observe(undefined)
    expect([clock.nowMs(), clock.notAfterMs(time.monotonicMs() + 15_000)]).toEqual([time.wallMs(), undefined])
  })

  it.each([0, 1, 499, 500, 999])('is at most 0.5 s ahead, whatever this machine shows: %i ms', async (fraction) => {
    const { time, clock } = fixture()
    let masterMs = 1_800_000_000_000 + fraction
    clock.observe(headerMs(masterMs))
    time.stepWall(-86_400_000)
    await time.advance(7_000)
    masterMs += 7_000
    expect(clock.nowMs() - masterMs).toBeLessThanOrEqual(500)
    expect(clock.nowMs() - masterMs).toBeGreaterThan(-500)
  })

  it('is behind by the time that a response takes, so a change is refused earlier and never later', async () => {
    const { time, clock } = fixture()
    const masterMs = 1_800_000_000_999
    const leadsUntilMs = time.monotonicMs() + 15_000
    await time.advance(4_000)
    clock.observe(headerMs(masterMs))
    expect(clock.notAfterMs(leadsUntilMs)).toBeLessThan(masterMs + 15_000 - 1_500 - 4_000)
  })

  it('follows a clock that was set, with the next response', () => {
    const { clock } = fixture()
    for (const masterMs of [1_800_000_000_000, 1_900_000_000_000, 1_700_000_000_000]) {
      clock.observe(masterMs)
      expect(clock.nowMs()).toBe(masterMs + 500)
    }
  })
})

describe('the time until which a change is valid', () => {
  it('is 1.5 to 2.5 s before another replica may lead', () => {
    const { time, clock } = fixture()
    clock.observe(1_800_000_000_000)
    expect(clock.notAfterMs(time.monotonicMs() + 15_000)).toBe(1_800_000_000_000 + 500 + 15_000 - 2_000)
  })

  it('is unlimited without another replica, and has passed for one that does not lead', () => {
    const { clock } = fixture()
    clock.observe(1_800_000_000_000)
    expect([clock.notAfterMs(Infinity), clock.notAfterMs(-Infinity)]).toEqual([undefined, 0])
  })
})
