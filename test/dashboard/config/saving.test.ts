import { describe, expect, it } from '@jest/globals'
import { appliedText, baseOf, ifMatchOf, newestOf, sameBase } from '../../../src/dashboard/config/saving.ts'

const base = (gen: number, epoch: string | null = 'e') => ({ config: {}, gen, epoch })

describe('the base of a draft', () => {
  it('is sent in If-Match as epoch and generation (D15)', () => {
    expect(ifMatchOf(base(14))).toBe('"e.14"')
    expect(ifMatchOf(base(14, null))).toBeNull()
  })

  it('is the saved config until the worker record includes it', () => {
    const saved = baseOf({ config: { slots: 2 }, config_gen: 15 }, 'e')
    expect(newestOf(base(14), saved)).toBe(saved)
    expect(newestOf(base(15), saved)).toEqual(base(15))
    expect(newestOf(base(14), null)).toEqual(base(14))
  })

  it('is never a config saved in another epoch of the store (D15)', () => {
    expect(newestOf(base(1, 'new'), base(15, 'old'))).toEqual(base(1, 'new'))
    expect(sameBase(base(1, 'new'), base(1, 'old'))).toBe(false)
  })
})

describe('a saved generation', () => {
  it('is reported as pending until the worker applies it', () => {
    expect(appliedText(15, { applied_config_gen: 15, connected: true })).toBe('The worker applied it.')
    expect(appliedText(15, { applied_config_gen: 14, connected: true })).toBe('The worker has not applied it yet.')
    expect(appliedText(15, { applied_config_gen: null, connected: false })).toMatch(/offline/)
  })
})
