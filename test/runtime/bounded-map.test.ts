import { describe, expect, it } from '@jest/globals'
import { BoundedMap } from '../../src/runtime/index.ts'

function mapOf(...keys: readonly string[]): BoundedMap<string, number> {
  const map = new BoundedMap<string, number>(3)
  for (const [at, key] of keys.entries()) map.set(key, at)
  return map
}
const keysOf = (map: BoundedMap<string, number>): readonly string[] => [...map].map(([key]) => key)

describe('BoundedMap', () => {
  it('removes the oldest entry beyond its limit', () => {
    const map = mapOf('a', 'b', 'c', 'd')
    expect([...map]).toEqual([
      ['b', 1],
      ['c', 2],
      ['d', 3],
    ])
    expect(map.size).toBe(3)
    expect(map.get('a')).toBeUndefined()
  })

  it('makes an entry the newest one when it is set again or used', () => {
    const map = mapOf('a', 'b', 'c')
    map.set('a', 7)
    expect(map.use('b')).toBe(1)
    expect(map.use('unknown')).toBeUndefined()
    expect(keysOf(map)).toEqual(['c', 'a', 'b'])
    map.set('d', 0)
    expect(keysOf(map)).toEqual(['a', 'b', 'd'])
  })

  it('does not change the age of an entry that is only read', () => {
    const map = mapOf('a', 'b', 'c')
    expect(map.get('a')).toBe(0)
    map.set('d', 0)
    expect(keysOf(map)).toEqual(['b', 'c', 'd'])
  })

  it('does not remove another entry when a known one is set again', () => {
    const map = mapOf('a', 'b', 'c', 'c')
    expect(keysOf(map)).toEqual(['a', 'b', 'c'])
  })

  it('returns whether an entry was deleted', () => {
    const map = mapOf('a')
    expect([map.delete('a'), map.delete('a'), map.size]).toEqual([true, false, 0])
  })
})
