import { describe, expect, it } from '@jest/globals'
import { truncateError } from '../../src/runtime/index.ts'

describe('truncateError', () => {
  it('returns a short text unchanged', () => {
    expect(truncateError('disk full', 9)).toBe('disk full')
    expect(truncateError('', 0)).toBe('')
  })

  it('truncates a long text to the maximum length', () => {
    expect(truncateError('disk full', 4)).toBe('disk')
  })

  it('drops a surrogate pair that would be split', () => {
    expect(truncateError('ab😀', 3)).toBe('ab')
    expect(truncateError('ab😀', 4)).toBe('ab😀')
    expect(truncateError('ab😀c', 4)).toBe('ab😀')
  })

  it('replaces unpaired surrogates', () => {
    expect(truncateError('a\ud83db', 10)).toBe('a\ufffdb')
  })
})
