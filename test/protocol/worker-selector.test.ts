/** Tests which workers a selector matches, and that no pattern makes the match slow. */
import { describe, expect, it } from '@jest/globals'
import { matchesPattern, selectsWorker } from '../../src/protocol/index.ts'

describe('a pattern', () => {
  it.each([
    ['crawler-*', 'crawler-17', true],
    ['crawler-*', 'crawler-', true],
    ['crawler-*', 'crawler', false],
    ['*', '', true],
    ['*', 'anything', true],
    ['?', '', false],
    ['crawler-?', 'crawler-1', true],
    ['crawler-?', 'crawler-17', false],
    ['*-eu-*', 'probe-eu-1-eu-2', true],
    ['*-eu-1', 'probe-eu-1-eu-1', true],
    ['a*b*c', 'a-b-b-c', true],
    ['a*b*c', 'a-c-b', false],
    ['**', 'x', true],
    ['', '', true],
    ['', 'x', false],
    ['a.c', 'abc', false],
    ['[ab]', 'a', false],
    ['A', 'a', false],
  ])('%j on %j: %p', (pattern, text, expected) => {
    expect(matchesPattern(pattern, text)).toBe(expected)
  })

  it('is matched by at most one step back for each character, whatever the pattern', () => {
    const steps = { count: 0 }
    const counted = new Proxy(Object(`${'a'.repeat(2_000)}b`) as object, {
      get: (target, name) => {
        steps.count += 1
        return Reflect.get(target, name, target) as unknown
      },
    }) as unknown as string
    expect(matchesPattern(`${'*a'.repeat(100)}*c`, counted)).toBe(false)
    expect(steps.count).toBeLessThan(3 * 2_001 * 202)
  })
})

describe('a selector', () => {
  it('needs one of the patterns and every label', () => {
    const selector = { idPatterns: ['a-*', 'b-*'], matchLabels: { zone: 'eu-1', tier: 'spot' } }
    const labels = { zone: 'eu-1', tier: 'spot', extra: 'x' }
    expect(selectsWorker(selector, { id: 'b-1', labels })).toBe(true)
    expect(selectsWorker(selector, { id: 'c-1', labels })).toBe(false)
    expect(selectsWorker(selector, { id: 'b-1', labels: { zone: 'eu-1' } })).toBe(false)
    expect(selectsWorker(selector, { id: 'b-1', labels: { zone: 'eu-2', tier: 'spot' } })).toBe(false)
    expect(selectsWorker(selector, { id: 'b-1' })).toBe(false)
  })

  it('matches every worker without parts, and no label by the names of object members', () => {
    expect(selectsWorker({}, { id: 'x' })).toBe(true)
    expect(selectsWorker({ matchLabels: { constructor: 'x' } }, { id: 'x', labels: {} })).toBe(false)
  })
})
