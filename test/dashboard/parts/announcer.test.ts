import { describe, expect, it } from '@jest/globals'
import { Announcer } from '../../../src/dashboard/parts/announcer.ts'
import { VirtualTime } from '../../../src/runtime/index.ts'

function world() {
  const time = new VirtualTime()
  const announcer = new Announcer({ nowMs: time.monotonicMs, after: time.after })
  const told: string[] = []
  announcer.watch(() => told.push(announcer.told()))
  return { time, announcer, told }
}

describe('what a screen reader is told', () => {
  it('comes at most once in ten seconds, however much changes, and is the newest', async () => {
    const { time, announcer, told } = world()
    for (let n = 0; n < 300; n += 1) {
      announcer.say('workers', `${n} found.`)
      announcer.say('the fleet', n < 299 ? 'All well.' : 'One is offline.')
      await time.advance(n < 2 ? 600 : 100)
    }
    await time.advance(20_000)
    expect(told.length).toBeLessThanOrEqual(5)
    expect(told[0]).toBe('0 found. All well.')
    expect(told.at(-1)).toBe('299 found. One is offline.')
  })

  it('waits until typing rests', async () => {
    const { time, announcer, told } = world()
    for (const text of ['9 found.', '4 found.', '1 found.']) {
      announcer.say('workers', text)
      await time.advance(200)
    }
    expect(told).toEqual([])
    await time.advance(300)
    expect(told).toEqual(['1 found.'])
  })

  it('does not wait for ever while something changes all the time', async () => {
    const { time, announcer, told } = world()
    for (let n = 0; n < 100; n += 1) {
      announcer.say('workers', `${n} found.`)
      await time.advance(250)
    }
    expect(told.length).toBeGreaterThan(1)
  })
})
