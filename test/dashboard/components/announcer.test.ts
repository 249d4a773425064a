import { describe, expect, it } from '@jest/globals'
import { Announcer } from '../../../src/dashboard/components/announcer.ts'
import { VirtualTime } from '../../../src/runtime/index.ts'

function setUp() {
  const time = new VirtualTime()
  const announcer = new Announcer({ nowMs: time.monotonicMs, after: time.after })
  const announced: string[] = []
  announcer.watch(() => announced.push(announcer.announced()))
  return { time, announcer, announced }
}

describe('the announcer for screen readers', () => {
  it('announces the latest texts at most once every ten seconds', async () => {
    const { time, announcer, announced } = setUp()
    for (let n = 0; n < 300; n += 1) {
      announcer.say('workers', `${n} found.`)
      announcer.say('the fleet', n < 299 ? 'All well.' : 'One is offline.')
      await time.advance(n < 2 ? 600 : 100)
    }
    await time.advance(20_000)
    expect(announced.length).toBeLessThanOrEqual(5)
    expect(announced[0]).toBe('0 found. All well.')
    expect(announced.at(-1)).toBe('299 found. One is offline.')
  })

  it('waits until typing stops', async () => {
    const { time, announcer, announced } = setUp()
    for (const text of ['9 found.', '4 found.', '1 found.']) {
      announcer.say('workers', text)
      await time.advance(200)
    }
    expect(announced).toEqual([])
    await time.advance(300)
    expect(announced).toEqual(['1 found.'])
  })

  it('announces within ten seconds even if texts change constantly', async () => {
    const { time, announcer, announced } = setUp()
    for (let n = 0; n < 100; n += 1) {
      announcer.say('workers', `${n} found.`)
      await time.advance(250)
    }
    expect(announced.length).toBeGreaterThan(1)
  })
})
