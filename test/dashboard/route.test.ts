import { describe, expect, it } from '@jest/globals'
import fc from 'fast-check'
import { RANGES } from '../../src/dashboard/history/ranges.ts'
import { formatRoute, parseRoute, titleOf, type Route } from '../../src/dashboard/route.ts'

const text = fc.string({ minLength: 1, unit: 'grapheme' })
const field = fc.string({ unit: 'grapheme' })
const range = fc.constantFrom(...RANGES)
const anyRoute: fc.Arbitrary<Route> = fc.oneof(
  fc.record({ page: fc.constant('overview' as const), type: field, range }),
  fc.constant<Route>({ page: 'settings' }),
  fc.record({
    page: fc.constant('workers' as const),
    q: field,
    sort: field,
    group: fc.constantFrom('' as const, 'error' as const, 'host' as const, 'generation' as const, 'type' as const),
  }),
  fc.record({
    page: fc.constant('worker' as const),
    type: text,
    id: text,
    diff: field,
    act: fc.constantFrom('' as const, 'drain' as const, 'forget' as const),
    tab: fc.constantFrom('summary' as const, 'slots' as const, 'logs' as const, 'config' as const, 'history' as const),
    level: fc.constantFrom('' as const, 'info' as const, 'warn' as const, 'error' as const),
    q: field,
    view: fc.constantFrom('form' as const, 'json' as const, 'changes' as const),
  }),
  fc.record({
    page: fc.constant('tasks' as const),
    type: fc.option(text),
    tab: fc.constantFrom('queue' as const, 'all' as const, 'submit' as const, 'dead' as const),
    group: field,
    range,
    place: fc.constantFrom('' as const, 'pending' as const, 'in_flight' as const, 'dead' as const),
    label: field,
    q: field,
  }),
  fc.record({ page: fc.constant('task' as const), type: text, id: text }),
  fc.constant<Route>({ page: 'operations' }),
  fc.record({ page: fc.constant('operation' as const), type: text, id: text }),
  fc.record({
    page: fc.constant('output' as const),
    type: fc.option(text),
    mode: fc.constantFrom('tail' as const, 'peek' as const),
    q: field,
  }),
  fc.record({ page: fc.constant('pools' as const), name: fc.option(text) }),
  fc.record({ page: fc.constant('automations' as const), type: fc.option(text) }),
)

describe('routes of the page', () => {
  it('are parsed back as they were formatted, for any name', () => {
    fc.assert(fc.property(anyRoute, (route) => expect(parseRoute(formatRoute(route))).toEqual(route)))
  })

  it('format every valid address back to itself', () => {
    for (const hash of [
      '#/',
      '#/workers',
      '#/workers?q=state%3Aoffline&sort=-cpu',
      '#/workers?q=zone&group=error',
      '#/workers/mailer/m-7',
      '#/workers/mailer/m-7?tab=config&view=json',
      '#/workers/mailer/m-7?act=drain',
      '#/tasks',
      '#/tasks/mailer?tab=dead',
      '#/tasks/mailer?range=7d',
      '#/?type=mailer&range=30d',
      '#/tasks/mailer?tab=all&place=in_flight&label=tenant%3Aacme&q=ada',
      '#/tasks/mailer/order%207',
      '#/operations',
      '#/operations/mailer/3f2a91bc',
      '#/output/a%2Fb?mode=peek',
      '#/pools/proxies',
      '#/automations',
      '#/automations/mailer',
      '#/settings',
    ])
      expect(formatRoute(parseRoute(hash))).toBe(hash)
  })

  it('start at the overview', () => {
    for (const hash of ['', '#', '#/']) expect(parseRoute(hash)).toMatchObject({ page: 'overview' })
  })

  it('leave fields with default values out of the address', () => {
    expect(formatRoute({ page: 'worker', type: 'mailer', id: 'm-7', tab: 'summary' })).toBe('#/workers/mailer/m-7')
    expect(parseRoute('#/tasks/mailer?tab=nonsense')).toMatchObject({ tab: 'queue' })
  })

  it('treat an address without a page, or with broken encoding, as unknown', () => {
    for (const hash of [
      '#/nope',
      '#/workers/a',
      '#/workers/a/',
      '#/workers//b',
      '#/workers/a/b/c',
      '#/tasks/',
      '#/tasks/a/b/c',
      '#/tasks//b',
      '#/tasks/%',
      '#/automations/x/y',
      '#/settings/x',
    ]) {
      expect(parseRoute(hash)).toEqual({ page: 'unknown', hash })
    }
  })

  it('have a title that names the open page', () => {
    expect(titleOf(parseRoute('#/workers/mailer/m-7'))).toBe('mailer/m-7')
    expect(titleOf(parseRoute('#/tasks/mailer'))).toBe('Tasks of mailer')
    expect(titleOf(parseRoute('#/tasks/mailer/t-1'))).toBe('Task t-1 of mailer')
    expect(titleOf(parseRoute('#/pools'))).toBe('Pools')
    expect(titleOf(parseRoute('#/'))).toBe('Overview')
  })
})
