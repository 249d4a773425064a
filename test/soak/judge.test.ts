import { describe, expect, it } from '@jest/globals'
import { judgeSamples, type Row, type SoakSample } from './judge.ts'
import type { Probe } from './probe.ts'

const MINUTE_MS = 60_000
const BOUNDS = { warmUpMs: 10 * MINUTE_MS, leastMs: 30 * MINUTE_MS }
const PROBE: Probe = {
  id: 1,
  rssMib: 100,
  heapMib: 20,
  externalMib: 5,
  openFiles: 40,
  listeners: 200,
  delayP99Ms: 20,
  cpuWaitMs: 0,
  timers: 30,
  promises: 300,
}

function lifeOf(change: (minute: number) => Partial<Probe>, minutes = 60): readonly SoakSample[] {
  return Array.from({ length: minutes }, (_, minute) => ({
    kind: 'process',
    atMs: minute * MINUTE_MS,
    name: 'master-0',
    life: 1,
    probe: { ...PROBE, ...change(minute) },
  }))
}

const storeOf = (size: (minute: number) => Readonly<Record<string, number>>): readonly SoakSample[] =>
  Array.from({ length: 60 }, (_, minute) => ({ kind: 'store', atMs: minute * MINUTE_MS, size: size(minute) }))

const verdicts = (samples: readonly SoakSample[], verdict: Row['verdict'] = 'broken'): readonly string[] =>
  judgeSamples(samples, BOUNDS).flatMap((row) => (row.verdict === verdict ? row.what : []))

describe('the judge of a soak', () => {
  it('accepts a process that stays as it is, and growth during its warm-up', () => {
    expect(verdicts(lifeOf(() => ({})))).toEqual([])
    expect(verdicts(lifeOf((minute) => ({ rssMib: 90 + Math.min(minute, 10) })))).toEqual([])
  })

  it('finds memory that grows by more than 0.5 MiB/h', () => {
    expect(verdicts(lifeOf((minute) => ({ rssMib: 100 + (0.4 * minute) / 60 })))).toEqual([])
    expect(verdicts(lifeOf((minute) => ({ rssMib: 100 + (0.6 * minute) / 60 })))).toEqual([
      'master-0, life 1: resident memory',
    ])
  })

  it('judges an operator anew when it takes over', () => {
    const grown = lifeOf((minute) => ({ promises: minute < 30 ? 165 : 242 }), 80)
    const asOperator = grown.map((sample) => (sample.kind === 'process' ? { ...sample, name: 'operator-1' } : sample))
    const failover = { kind: 'fault', atMs: 30 * MINUTE_MS, what: 'SIGKILL of operator-0, which leads' } as const
    expect(verdicts(asOperator)).toEqual(['operator-1, life 1: promises'])
    expect(verdicts(asOperator.toSpliced(30, 0, failover))).toEqual([])
  })

  it('judges the longest life of a store', () => {
    const samples = storeOf((minute) => ({ keys: 80, otherMemoryMib: minute < 50 ? 2.3 : 1.9 }))
    const restart = { kind: 'fault', atMs: 50 * MINUTE_MS, what: 'SIGKILL of the store' } as const
    expect(verdicts(samples)).toEqual(['store: otherMemoryMib'])
    expect(verdicts(samples.toSpliced(50, 0, restart))).toEqual([])
    const grows = storeOf((minute) => ({ keys: 80, otherMemoryMib: 2 + minute / 100 }))
    expect(verdicts(grows.toSpliced(50, 0, restart))).toEqual(['store: otherMemoryMib'])
  })

  it('judges the whole growth of a life of less than 30 min', () => {
    const bounds = { warmUpMs: 0, leastMs: 10 * MINUTE_MS }
    const grown = (mib: number): readonly Row[] =>
      judgeSamples(
        lifeOf((minute) => ({ rssMib: 100 + (mib * minute) / 15 }), 20),
        bounds,
      )
    expect(grown(3).filter(({ verdict }) => verdict === 'broken')).toEqual([])
    expect(grown(9).filter(({ verdict }) => verdict === 'broken')).toMatchObject([
      { what: 'master-0, life 1: resident memory' },
    ])
  })

  it.each(['openFiles', 'listeners', 'timers', 'promises'] as const)(
    'finds %s that grow by more than 2 %%',
    (count) => {
      expect(verdicts(lifeOf((minute) => ({ [count]: 5_000 + minute / 4 })))).toEqual([])
      expect(verdicts(lifeOf((minute) => ({ [count]: 5_000 + 5 * minute })))).toEqual([`master-0, life 1: ${count}`])
    },
  )

  it('ignores connections that come and go, also after a fault', () => {
    expect(verdicts(lifeOf((minute) => ({ openFiles: 40 + 30 * (minute % 2) })))).toEqual([])
    const moved = lifeOf((minute) => ({ listeners: minute >= 12 && minute < 15 ? 100 : 900 }))
    expect(verdicts(moved)).toEqual([])
    const unsettled = lifeOf((minute) => ({ listeners: minute >= 10 && minute < 13 ? 100 : 900 }), 28)
    expect(judgeSamples(unsettled, { warmUpMs: BOUNDS.warmUpMs, leastMs: 0 })[2]?.verdict).toBe('broken')
    const fault = { kind: 'fault', atMs: 9.9 * MINUTE_MS, what: 'host-0' } as const
    expect(judgeSamples([...unsettled, fault], { warmUpMs: BOUNDS.warmUpMs, leastMs: 0 })[2]?.verdict).toBe('held')
  })

  it('finds a late event loop, unless the process waited for a CPU', () => {
    const delay = 'master-0, life 1: event loop delay p99'
    expect(verdicts(lifeOf(() => ({ delayP99Ms: 130 })))).toEqual([delay])
    const starved = lifeOf((minute) => ({ delayP99Ms: 130, cpuWaitMs: minute * 0.2 * MINUTE_MS }))
    expect(verdicts(starved)).toEqual([])
    expect(verdicts(starved, 'not judged')).toEqual([delay])
  })

  it('does not judge a life that is too short', () => {
    expect(
      verdicts(
        lifeOf((minute) => ({ rssMib: minute }), 30),
        'not judged',
      ),
    ).toEqual(['master-0, life 1'])
  })

  it('finds a store that grows, and a log above 64 MiB', () => {
    expect(verdicts(storeOf(() => ({ keys: 500, usedMemoryMib: 9, fileMib: 3, logMib: 60 })))).toEqual([])
    expect(verdicts(storeOf((minute) => ({ usedMemoryMib: minute, otherMemoryMib: 9 })))).toEqual([])
    expect(verdicts(storeOf((minute) => ({ otherMemoryMib: 9 + minute / 60 })))).toEqual(['store: otherMemoryMib'])
    expect(verdicts(storeOf((minute) => ({ keys: 500 + minute, logMib: minute + 10 })))).toEqual([
      'store: keys',
      'store: logMib',
    ])
  })
})
