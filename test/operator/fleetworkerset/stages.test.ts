/** Tests the limits of stages, and in which order workers get a new config. */
import { describe, expect, it } from '@jest/globals'
import { inOrder, rankOf, stageAfter, type Stage } from '../../../src/operator/fleetworkerset/index.ts'

const stages = (...workers: readonly (number | string)[]): readonly Stage[] =>
  workers.map((each) => ({ workers: each }))
const DEFAULTS = stages(1, '10%', '50%')

/** The limits of all stages, from the first one. `all`: the last one. */
function limits(of: readonly Stage[], online: number): readonly (number | 'all')[] {
  const found: (number | 'all')[] = []
  for (let [stage, limit] = [0, 0]; stage <= of.length;) {
    const next = stageAfter(of, stage, limit, online)
    found.push(next.limit ?? 'all')
    stage = next.stage
    limit = next.limit ?? limit
  }
  return found
}

describe('the stages of a rollout', () => {
  it.each([
    [DEFAULTS, 240, [1, 24, 120, 'all']],
    [DEFAULTS, 10, [1, 5, 'all']],
    [DEFAULTS, 3, [1, 2, 'all']],
    [DEFAULTS, 2, [1, 'all']],
    // One worker always keeps the current config before the last stage.
    [DEFAULTS, 1, ['all']],
    [DEFAULTS, 0, ['all']],
    [stages('100%'), 8, [7, 'all']],
    [stages(500), 8, [7, 'all']],
    [stages('1%'), 8, [1, 'all']],
    [stages('11%'), 10, [2, 'all']],
    [stages(5, 3, 6), 10, [5, 6, 'all']],
    [stages(), 10, ['all']],
  ])('of %j with %d online workers are %j', (of, online, expected) => {
    expect(limits(of, online)).toEqual(expected)
  })

  it('never goes back to a smaller limit when workers are lost', () => {
    expect(stageAfter(DEFAULTS, 1, 1, 4)).toEqual({ stage: 3, limit: 2 })
    expect(stageAfter(DEFAULTS, 2, 24, 30)).toEqual({ stage: 4, limit: undefined })
  })
})

describe('the order of a rollout', () => {
  const of = (id: string, more: object = {}) => ({ id, isHealthy: true, spread: '', ...more })
  const rank = (id: string): string => rankOf('uid', 'rev', id)
  const ids = (all: readonly { readonly id: string }[]): readonly string[] => all.map(({ id }) => id)

  it('is another one for each revision, and does not depend on the order of the list', () => {
    const all = Array.from({ length: 50 }, (_, n) => of(`c-${n}`))
    const first = ids(inOrder(all, rank))
    expect(ids(inOrder(all.toReversed(), rank))).toEqual(first)
    expect(ids(inOrder(all, (id) => rankOf('uid', 'other', id)))).not.toEqual(first)
    expect(new Set(first)).toEqual(new Set(ids(all)))
  })

  it('takes workers in ERROR last', () => {
    const all = [of('c-1', { isHealthy: false }), of('c-2'), of('c-3', { isHealthy: false }), of('c-4')]
    expect(new Set(ids(inOrder(all, rank)).slice(0, 2))).toEqual(new Set(['c-2', 'c-4']))
  })

  it('takes workers of each value of the label in turn', () => {
    const all = ['a', 'a', 'a', 'a', 'b', 'b', 'c'].map((spread, n) => of(`c-${n}`, { spread }))
    const spreads = inOrder(all, rank).map(({ spread }) => spread)
    expect(new Set(spreads.slice(0, 3))).toEqual(new Set(['a', 'b', 'c']))
    expect(new Set(spreads.slice(3, 5))).toEqual(new Set(['a', 'b']))
    expect(spreads.slice(5)).toEqual(['a', 'a'])
  })
})
