import { describe, expect, it } from '@jest/globals'
import { AutomationError, defineBatch, defineContinuous, Type } from '../../src/automation/index.ts'
import { isAutomation } from '../../src/automation/define.ts'

const run = (): void => {}
const batch = (more: object) => defineBatch({ type: 'mailer', payload: Type.Object({}), run, ...more })

describe('defineBatch', () => {
  it('derives the class name from the type, in PascalCase (D36)', () => {
    expect(defineBatch({ type: 'mail-sender-2', payload: {}, run }).name).toBe('MailSender2')
    expect(batch({ name: 'Postman' }).name).toBe('Postman')
  })

  it('defaults to 60 s of visibility and 1 s × 2 up to 300 s of backoff (D25)', () => {
    expect(batch({})).toMatchObject({ visibilityMs: 60_000, retry: { baseMs: 1_000, factor: 2, capMs: 300_000 } })
    expect(batch({ visibilityTimeoutSeconds: 1.5, retry: { factor: 3 } })).toMatchObject({
      visibilityMs: 1_500,
      retry: { baseMs: 1_000, factor: 3, capMs: 300_000 },
    })
    expect([batch({}), batch({ retainSeconds: 0.5 })]).toMatchObject([{ retainMs: 0 }, { retainMs: 500 }])
    expect(batch({}).groups).toBeNull()
    expect(batch({ groups: {} }).groups).toEqual({ maxInFlight: null, rate: null })
    expect(batch({ groups: { maxInFlight: 3, rate: { tasks: 5, perSeconds: 2 } } }).groups).toEqual({
      maxInFlight: 3,
      rate: { tasks: 5, perSeconds: 2, burst: 5 },
    })
    expect(batch({ retry: { baseSeconds: 600 } })).toMatchObject({ retry: { baseMs: 600_000, capMs: 600_000 } })
  })

  it.each([
    [{ type: 'Mailer' }, '/type must match pattern'],
    [{ type: 'a'.repeat(64) }, '/type must match pattern'],
    [{ type: '' }, '/type must match pattern'],
    [{ name: '' }, '/name must NOT have fewer than 1 characters'],
    [{ visibilityTimeoutSeconds: 0.5 }, '/visibilityTimeoutSeconds must be >= 1'],
    [{ visibilityTimeoutSeconds: 43_201 }, '/visibilityTimeoutSeconds must be <= 43200'],
    [{ retainSeconds: -1 }, '/retainSeconds must be >= 0'],
    [{ retainSeconds: 604_801 }, '/retainSeconds must be <= 604800'],
    [{ retry: { baseSeconds: 0 } }, '/retry/baseSeconds must be > 0'],
    [{ retry: { factor: 0.5 } }, '/retry/factor must be >= 1'],
    [{ retry: { baseSeconds: 20, capSeconds: 10 } }, '/retry/capSeconds must be >= baseSeconds (20)'],
    [{ retry: { delay: 1 } }, '/retry/delay is not a known field'],
    [{ groups: { maxInFlight: 0 } }, '/groups/maxInFlight must be >= 1'],
    [{ groups: { max_in_flight: 1 } }, '/groups/max_in_flight is not a known field'],
    [{ groups: { rate: { tasks: 1 } } }, '/groups/rate/perSeconds is required'],
    [{ groups: { rate: { tasks: 1, perSeconds: 0 } } }, '/groups/rate/perSeconds must be > 0'],
    [{ groups: { rate: { tasks: 1, perSeconds: 86_401 } } }, '/groups/rate/perSeconds must be <= 86400'],
    [{ groups: { rate: { tasks: 1, perSeconds: 1, burst: 10_001 } } }, '/groups/rate/burst must be <= 10000'],
    [{ groups: 3 }, '/groups must be object'],
    [{ visibilityTimeout: 5 }, '/visibilityTimeout is not a known field'],
    [{ pools: { a: { tags: {} } } }, '/pools/a/payload is required'],
    [{ run: 'later' }, '/run must be a function'],
    [{ payload: 7 }, '/payload must be object'],
  ])('rejects %j, naming the field (D36)', (more, message) => {
    expect(() => batch(more)).toThrow(AutomationError)
    expect(() => batch(more)).toThrow(message)
  })

  it('reports all faults together', () => {
    expect(() => batch({ type: 'A', visibilityTimeoutSeconds: 0, run: null })).toThrow(
      /\/type[^]*\/visibilityTimeoutSeconds[^]*\/run/,
    )
  })

  it('rejects values that are not a definition', () => {
    expect(() => defineBatch(null as never)).toThrow('takes an object')
  })
})

describe('isAutomation', () => {
  it('recognises automations by a brand that all copies of the package share', () => {
    const made = defineContinuous({ type: 'watcher', run })
    expect(isAutomation(made)).toBe(true)
    expect(isAutomation({ [Symbol.for('muster.automation')]: 1 })).toBe(true)
    expect([{ ...made, [Symbol.for('muster.automation')]: 2 }, {}, null, run, [made]].map(isAutomation)).toEqual([
      false,
      false,
      false,
      false,
      false,
    ])
  })

  it('returns frozen automations', () => {
    expect(Object.isFrozen(defineContinuous({ type: 'watcher', run }))).toBe(true)
  })
})
