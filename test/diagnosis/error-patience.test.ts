import { describe, expect, it } from '@jest/globals'
import { ErrorPatience } from '../../src/diagnosis/index.ts'

const of = (state: 'ERROR' | 'RUNNING', since: number, connected = true, gen = 1) =>
  ({
    automation_type: 'mailer',
    worker_id: 'm-7',
    connected,
    state,
    state_since: since,
    applied_config_gen: gen,
  }) as const

describe('the patience with workers in ERROR', () => {
  it('lists a worker after 10 s in ERROR, and until it was a minute without', () => {
    const patience = new ErrorPatience()
    const at = (now: number, state: 'ERROR' | 'RUNNING', since: number) => {
      patience.update([of(state, since)], now)
      return patience.listedSince(of(state, since))
    }
    expect(at(1_000, 'ERROR', 1_000)).toBeNull()
    expect(at(1_009, 'ERROR', 1_000)).toBeNull()
    expect(at(1_010, 'ERROR', 1_000)).toBe(1_000)
    expect(at(1_011, 'RUNNING', 1_011)).toBe(1_000)
    expect(at(1_070, 'RUNNING', 1_011)).toBe(1_000)
    expect(at(1_072, 'RUNNING', 1_011)).toBeNull()
    expect(at(1_083, 'ERROR', 1_083)).toBeNull()
  })

  it('lists a worker immediately that is in ERROR for long when the page is opened', () => {
    const patience = new ErrorPatience()
    patience.update([of('ERROR', 700)], 1_000)
    expect(patience.listedSince(of('ERROR', 700))).toBe(700)
  })

  it('lists no worker that is rarely in ERROR, and forgets one that was forgotten', () => {
    const patience = new ErrorPatience()
    for (let now = 1_000; now < 1_600; now += 10) {
      patience.update([of('ERROR', now)], now + 1)
      patience.update([of('RUNNING', now + 1)], now + 10)
      expect(patience.listedSince(of('RUNNING', now))).toBeNull()
    }
    patience.update([of('ERROR', 1_600)], 1_700)
    patience.update([], 1_701)
    expect(patience.listedSince(of('ERROR', 1_600))).toBeNull()
  })

  it('lists a worker no longer that runs without ERROR under another config', () => {
    const patience = new ErrorPatience()
    patience.update([of('ERROR', 900)], 1_000)
    patience.update([of('ERROR', 900, true, 2)], 1_002)
    expect(patience.listedSince(of('ERROR', 900, true, 2))).toBe(900)
    patience.update([of('RUNNING', 1_003, true, 2)], 1_004)
    expect(patience.listedSince(of('RUNNING', 1_003, true, 2))).toBeNull()
  })

  it('counts a lost connection as time without ERROR', () => {
    const patience = new ErrorPatience()
    patience.update([of('ERROR', 900)], 1_000)
    patience.update([of('ERROR', 1_000, false)], 1_059)
    expect(patience.listedSince(of('ERROR', 1_000, false))).toBe(900)
    patience.update([of('ERROR', 1_000, false)], 1_061)
    expect(patience.listedSince(of('ERROR', 1_000, false))).toBeNull()
  })
})
