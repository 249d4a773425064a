import { describe, expect, it } from '@jest/globals'
import { sharing } from '../../../src/operator/kube/index.ts'

describe('sharing', () => {
  const known = { conditions: [{ type: 'Ready' }], slots: 2, config: { generation: 1 } }

  it('reuses equal parts of the known value, and the result equals the new value', () => {
    const value = { conditions: [{ type: 'Ready' }], slots: 3, config: { generation: 1 } }
    const shared = sharing(value, known)
    expect(shared).toEqual(value)
    expect([shared.conditions === known.conditions, shared.config === known.config, known.slots]).toEqual([
      true,
      true,
      2,
    ])
  })

  it('returns the known value if nothing differs, but not if a part is missing on either side', () => {
    expect(sharing(JSON.parse(JSON.stringify(known)), known)).toBe(known)
    expect(sharing({ slots: 2 }, known)).toEqual({ slots: 2 })
    expect(sharing<object>({ ...known, extra: undefined }, { ...known, other: undefined })).toHaveProperty('extra')
    expect([sharing(undefined, known), sharing(known, undefined)]).toEqual([undefined, known])
  })
})
