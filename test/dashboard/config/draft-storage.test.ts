import { describe, expect, it } from '@jest/globals'
import { draftOn, formOf, mineOf } from '../../../src/dashboard/config/draft.ts'
import { draftFrom, draftText } from '../../../src/dashboard/config/draft-storage.ts'
import { draftOf } from '../../../src/dashboard/config/value-draft.ts'

const CANARY = 'a-new-secret'
const secret = { type: 'string', writeOnly: true }
const form = formOf({
  type: 'object',
  properties: {
    host: { type: 'string' },
    port: { type: 'integer' },
    password: secret,
    proxy: { type: 'object', properties: { url: { type: 'string' }, password: secret } },
    keys: { type: 'array', items: secret },
    either: { anyOf: [{ type: 'object', properties: { token: secret } }, { type: 'null' }] },
    odd: { not: {} },
  },
})
const base = { gen: 3, epoch: 'e', config: { host: 'old', port: 25, password: '********' } }
const draft = (config: object) => ({ ...draftOn(base), mine: draftOf({ ...base.config, ...config }) })

describe('a stored draft', () => {
  it('has the changes of its fields after a reload', () => {
    const mine = { ...base.config, host: 'new' } as Record<string, unknown>
    delete mine['port']
    const text = draftText(form, { ...draftOn(base, 'override'), mine: draftOf(mine as never) })
    const restored = draftFrom(text)
    expect(restored).toMatchObject({ base, mode: 'override' })
    expect(restored && mineOf(restored)).toEqual({ host: 'new', password: '********' })
  })

  it('has no part that may contain a secret', () => {
    const text = draftText(
      form,
      draft({
        host: 'new',
        password: CANARY,
        proxy: { url: 'u', password: CANARY },
        keys: [CANARY],
        either: { token: CANARY },
        odd: CANARY,
        unknown: CANARY,
      }),
    )
    expect(text).toContain('new')
    expect(text).not.toContain(CANARY)
    expect(draftText(form, draft({ password: CANARY }))).toBeNull()
  })

  it('is ignored if it cannot be read', () => {
    expect([draftFrom(null), draftFrom('{'), draftFrom('{"base":{},"mode":"open","changes":[]}')]).toEqual([
      null,
      null,
      null,
    ])
  })
})
