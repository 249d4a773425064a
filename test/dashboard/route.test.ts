import { describe, expect, it } from '@jest/globals'
import fc from 'fast-check'
import { formatRoute, parseRoute, titleOf, type Route } from '../../src/dashboard/route.ts'

const text = fc.string({ minLength: 1, unit: 'grapheme' })
const anyRoute: fc.Arbitrary<Route> = fc.oneof(
  fc.constant<Route>({ place: 'workers' }),
  fc.constant<Route>({ place: 'automations' }),
  fc.record({ place: fc.constant('worker' as const), type: text, id: text }),
  fc.record({ place: fc.constantFrom('tasks' as const, 'output' as const, 'pools' as const), name: fc.option(text) }),
)

describe('routes of the page', () => {
  it('are read back as they were written, whatever a name holds', () => {
    fc.assert(fc.property(anyRoute, (route) => expect(parseRoute(formatRoute(route))).toEqual(route)))
  })

  it('write back every address that leads to a place', () => {
    for (const hash of ['#/', '#/workers/mailer/m-7', '#/tasks', '#/tasks/mailer', '#/output/a%2Fb', '#/pools/proxies', '#/automations']) {
      expect(formatRoute(parseRoute(hash))).toBe(hash)
    }
  })

  it('begin at the workers', () => {
    for (const hash of ['', '#', '#/']) expect(parseRoute(hash)).toEqual({ place: 'workers' })
  })

  it('call an address that leads nowhere unknown, also when its encoding is broken', () => {
    for (const hash of ['#/nope', '#/workers', '#/workers/a', '#/workers/a/', '#/workers//b', '#/workers/a/b/c', '#/tasks/', '#/tasks/a/b', '#/tasks/%', '#/automations/x']) {
      expect(parseRoute(hash)).toEqual({ place: 'unknown', hash })
    }
  })

  it('have a title that names what is open', () => {
    expect(titleOf(parseRoute('#/workers/mailer/m-7'))).toBe('mailer/m-7')
    expect(titleOf(parseRoute('#/tasks/mailer'))).toBe('Tasks of mailer')
    expect(titleOf(parseRoute('#/pools'))).toBe('Pools')
  })
})
