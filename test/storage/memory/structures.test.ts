/** Compares the data structures of the memory backend with the simplest equivalent. */
import { describe, expect, it } from '@jest/globals'
import fc from 'fast-check'
import { AckedTokens, TokenSequence, TokenSequences, SEGMENT } from '../../../src/storage/memory/token-sequence.ts'
import { TimerQueue } from '../../../src/storage/memory/timer-queue.ts'
import { Ring } from '../../../src/storage/memory/ring.ts'
import type { Timer } from '../../../src/storage/memory/timer-queue.ts'

describe('Ring', () => {
  it('behaves like an array for push, unshift, shift and at', () => {
    const step = fc.oneof(
      { weight: 3, arbitrary: fc.constant('push' as const) },
      { weight: 3, arbitrary: fc.constant('unshift' as const) },
      { weight: 4, arbitrary: fc.constant('shift' as const) },
    )
    fc.assert(
      fc.property(fc.array(step, { maxLength: 300 }), (steps) => {
        const ring = new Ring<number>()
        const array: number[] = []
        for (const [i, name] of steps.entries()) {
          if (name === 'shift') expect(ring.shift()).toBe(array.shift())
          else {
            ring[name](i)
            array[name](i)
          }
          expect(ring.length).toBe(array.length)
        }
        expect(Array.from({ length: ring.length + 1 }, (_, i) => ring.at(i))).toEqual([...array, undefined])
      }),
    )
  })

  it('keeps the order of the rest around gaps, and closes them', () => {
    const ring = new Ring<number>()
    for (let i = 0; i < 100; i += 1) ring[i % 2 === 0 ? 'push' : 'unshift'](i)
    const array: (number | undefined)[] = Array.from({ length: 100 }, (_, i) => ring.at(i))
    for (let i = 0; i < 100; i += 3) {
      ring.clear(i)
      array[i] = undefined
    }
    expect(Array.from({ length: 100 }, (_, i) => ring.at(i))).toEqual(array)
    ring.compact()
    const rest = array.filter((item) => item !== undefined)
    expect(Array.from({ length: ring.length }, (_, i) => ring.at(i))).toEqual(rest)
  })

  it('grows and shrinks over several rounds', () => {
    const ring = new Ring<number>()
    for (let turn = 0; turn < 3; turn += 1) {
      for (let i = 0; i < 10_000; i += 1) ring.push(i)
      for (let i = 0; i < 10_000; i += 1) expect(ring.shift()).toBe(i)
      expect(ring.shift()).toBe(undefined)
    }
  })
})

describe('TimerQueue', () => {
  it('returns due timers by time, then by insertion, without cancelled ones', () => {
    const step = fc.oneof(
      { weight: 5, arbitrary: fc.record({ add: fc.integer({ min: 0, max: 30 }) }) },
      { weight: 4, arbitrary: fc.record({ cancel: fc.nat() }) },
      { weight: 1, arbitrary: fc.record({ due: fc.integer({ min: 0, max: 30 }) }) },
    )
    fc.assert(
      fc.property(fc.array(step, { maxLength: 400 }), (steps) => {
        const timers = new TimerQueue<number>()
        let model: { readonly at: number; readonly item: number }[] = []
        const entries: Timer<number>[] = []
        for (const [i, each] of steps.entries()) {
          if ('add' in each) {
            entries.push(timers.add(each.add, i))
            model = [...model, { at: each.add, item: i }].toSorted((a, b) => a.at - b.at || a.item - b.item)
          } else if ('cancel' in each) {
            const entry = entries[each.cancel % Math.max(1, entries.length)]
            if (entry !== undefined) {
              model = model.filter(({ item }) => item !== entry.value)
              timers.cancel(entry)
            }
          } else {
            const due = model[0] !== undefined && model[0].at <= each.due ? model.shift() : undefined
            expect(timers.takeDue(each.due)).toBe(due?.item ?? null)
          }
          expect(timers.size).toBe(model.length)
          expect(timers.next()).toBe(model[0]?.at ?? null)
        }
      }),
    )
  })

  it('stays in order when most of many timers are cancelled', () => {
    const timers = new TimerQueue<number>()
    const entries = Array.from({ length: 10_000 }, (_, i) => timers.add((i * 7_919) % 10_007, i))
    for (const [i, entry] of entries.entries()) if (i % 10 !== 0) timers.cancel(entry)
    const times: number[] = []
    for (let at = timers.next(); at !== null; at = timers.next()) {
      times.push(at)
      timers.takeDue(Infinity)
    }
    expect(times).toHaveLength(1_000)
    expect(times).toEqual(times.toSorted((a, b) => a - b))
  })
})

describe('TokenSequence', () => {
  it('start at a multiple of 2^20 at or above now times 1,024', () => {
    const now = 1_700_000_000_001
    const token = new TokenSequences().make(now).next()
    expect((token - 1) % SEGMENT).toBe(0)
    expect(token).toBeGreaterThan(now * 1024)
    expect(token).toBeLessThanOrEqual(now * 1024 + SEGMENT + 1)
  })

  it('never issue a token at or below one issued before a restart, even if the clock did not advance', () => {
    const fences = new TokenSequences()
    const fence = fences.make(1_000)
    const last = Array.from({ length: 3 }, () => fence.next()).at(-1) ?? 0
    fences.restart()
    expect(fences.make(1_000).next()).toBeGreaterThan(last)
  })

  it('remember acknowledged tokens for the three newest segments (D24)', () => {
    const fence = new TokenSequence(7 * SEGMENT)
    const acked = new AckedTokens(fence)
    const first = fence.next()
    acked.record(first, 'a')
    const skip = (n: number): void => {
      for (let i = 0; i < n; i += 1) fence.next()
    }
    skip(3 * SEGMENT - 2)
    acked.record(fence.last, 'a')
    expect(acked.has(first, 'a')).toBe(true)
    expect(acked.has(first, 'b')).toBe(false)
    expect(acked.has(first + 1, 'a')).toBe(false)
    expect(acked.has(fence.last, 'a')).toBe(true)
    skip(1)
    expect(acked.has(first, 'a')).toBe(false)
    expect(acked.has(fence.last - 1, 'a')).toBe(true)
    acked.record(fence.last, 'a')
    expect(acked.has(fence.last, 'a')).toBe(true)
    expect(acked.has(Number.MAX_SAFE_INTEGER, 'a')).toBe(false)
  })
})
