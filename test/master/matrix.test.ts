/**
 * Every route with every kind of token. The rows come from the route table of a running master, so that a route
 * without a place in EXPECTED fails here, and so does a place without a route.
 */
import { beforeAll, describe, expect, it } from '@jest/globals'
import { startTestMaster, TOKENS, type TestMaster } from './running-master.ts'

const KINDS = ['none', 'malformed', 'wrong', 'worker', 'covering', 'other', 'every type', 'admin'] as const
type Kind = (typeof KINDS)[number]
const AUTHORIZATION: Record<Kind, string | null> = {
  none: null,
  malformed: 'Basic YWRtaW4=',
  wrong: 'Bearer nobody-has-this-token',
  worker: `Bearer ${TOKENS.worker}`,
  covering: `Bearer ${TOKENS.mailer}`,
  other: `Bearer ${TOKENS.probe}`,
  'every type': `Bearer ${TOKENS.everyType}`,
  admin: `Bearer ${TOKENS.admin}`,
}

/** What a kind of token may expect of a row: let in, or refused. */
type Verdict = 'in' | 401 | 403
const open: Record<Kind, Verdict> = {
  none: 'in',
  malformed: 'in',
  wrong: 'in',
  worker: 'in',
  covering: 'in',
  other: 'in',
  'every type': 'in',
  admin: 'in',
}
const closed = { none: 401, malformed: 401, wrong: 403 } as const
const any: Record<Kind, Verdict> = { ...open, ...closed }
const admin: Record<Kind, Verdict> = {
  ...closed,
  worker: 403,
  covering: 403,
  other: 403,
  'every type': 403,
  admin: 'in',
}
const scoped: Record<Kind, Verdict> = {
  ...closed,
  worker: 403,
  covering: 'in',
  other: 403,
  'every type': 'in',
  admin: 'in',
}
/** Without a type in its path: a scoped token sees its own types there. */
const ownTypes: Record<Kind, Verdict> = { ...scoped, other: 'in' }
const worker: Record<Kind, Verdict> = {
  ...closed,
  worker: 'in',
  covering: 403,
  other: 403,
  'every type': 403,
  admin: 403,
}

const TYPE = '/api/v1/automations/{type}'
const WORKER = `${TYPE}/workers/{id}`
/** The specification's endpoint matrix and what was added to it. */
const EXPECTED: Record<string, Record<Kind, Verdict>> = {
  'GET /': open,
  'GET /assets/{file}': open,
  'GET /healthz': open,
  'GET /readyz': open,
  'GET /metrics': open,
  'GET /api/v1/openapi.json': open,
  'GET /api/v1/me': any,
  'GET /api/v1/overview': ownTypes,
  'GET /api/v1/events': ownTypes,
  'GET /api/v1/automations': admin,
  'GET /api/v1/catalog': admin,
  'GET /api/v1/pools/{pool_name}': admin,
  'GET /api/v1/catalog/{type}': scoped,
  [`GET ${TYPE}/workers`]: scoped,
  [`GET ${WORKER}`]: scoped,
  [`DELETE ${WORKER}`]: scoped,
  [`GET ${WORKER}/stats`]: scoped,
  [`POST ${WORKER}/drain`]: scoped,
  [`PUT ${WORKER}/claim`]: scoped,
  [`DELETE ${WORKER}/claim`]: scoped,
  [`PATCH ${WORKER}/config`]: scoped,
  [`POST ${WORKER}/config/validate`]: scoped,
  [`GET ${WORKER}/config/history`]: scoped,
  [`GET ${TYPE}/output/length`]: scoped,
  [`GET ${TYPE}/output/peek`]: scoped,
  [`POST ${TYPE}/output/pop`]: scoped,
  [`GET ${TYPE}/output/tail`]: scoped,
  [`POST ${TYPE}/tasks`]: scoped,
  [`POST ${TYPE}/tasks/batch`]: scoped,
  [`POST ${TYPE}/tasks/validate`]: scoped,
  [`GET ${TYPE}/tasks/{task_id}`]: scoped,
  [`GET ${TYPE}/queue`]: scoped,
  [`GET ${TYPE}/queue/stats`]: scoped,
  [`POST ${TYPE}/dead/select`]: scoped,
  [`GET ${TYPE}/dead`]: scoped,
  [`DELETE ${TYPE}/dead`]: scoped,
  [`POST ${TYPE}/dead/replay`]: scoped,
  [`GET ${WORKER}/config`]: worker,
  [`POST ${WORKER}/rpc`]: worker,
  [`GET ${WORKER}/bus`]: worker,
}

const PARAMS: Record<string, string> = {
  type: 'mailer',
  id: 'w-1',
  task_id: 't-1',
  pool_name: 'accounts',
  file: 'main.js',
}
const filled = (path: string, params: Record<string, string> = PARAMS): string =>
  path.replaceAll(/\{(\w+)\}/g, (_, name: string) => params[name] ?? '')

describe('the matrix of routes and tokens', () => {
  const results = new Map<string, number>()
  const otherTypes = new Map<string, number>()
  let rows: readonly string[] = []

  // One master serves every cell, so that a cell that harms the process shows in those after it.
  beforeAll(async () => {
    const master = await startTestMaster()
    rows = master.routes.map(({ method, path }) => `${method} ${path}`)
    for (const row of rows) {
      const [method = '', path = ''] = row.split(' ')
      for (const kind of KINDS) {
        results.set(`${row} ${kind}`, await statusOf(master, method, filled(path), AUTHORIZATION[kind]))
        if (path.includes('{type}'))
          otherTypes.set(
            `${row} ${kind}`,
            await statusOf(master, method, filled(path, { ...PARAMS, type: 'nowhere' }), AUTHORIZATION[kind]),
          )
      }
    }
    await master.stop()
  }, 30_000)

  it('has a place for every route, and a route for every place', () => {
    expect(rows.filter((row) => EXPECTED[row] === undefined)).toEqual([])
    expect(Object.keys(EXPECTED).filter((row) => !rows.includes(row))).toEqual([])
  })

  it('lets in whom it should and nobody else, in every cell (D19, D32, S2)', () => {
    for (const row of rows) {
      for (const kind of KINDS) {
        const status = results.get(`${row} ${kind}`) ?? 0
        const expected = EXPECTED[row]?.[kind]
        expect([row, kind, status === 401 || status === 403 ? status : 'in']).toEqual([row, kind, expected])
      }
    }
  })

  it('answers no cell with a fault of the master', () => {
    expect([...results].filter(([, status]) => status >= 500)).toEqual([])
  })

  it('answers 404 for a type that is not installed, and 403 to whom the type is none of their business (D7, D56)', () => {
    for (const [cell, status] of otherTypes) {
      const { row = '', kind = '' } = /^(?<row>\S+ \S+) (?<kind>.+)$/.exec(cell)?.groups ?? {}
      const known = EXPECTED[row]?.[kind as Kind]
      const expected = known !== 'in' ? known : kind === 'covering' ? 403 : 404
      expect([cell, status]).toEqual([cell, expected])
    }
  })
})

async function statusOf(
  master: TestMaster,
  method: string,
  path: string,
  authorization: string | null,
): Promise<number> {
  const abort = new AbortController()
  const response = await fetch(master.url + path, {
    method,
    signal: abort.signal,
    headers: { ...(authorization === null ? {} : { authorization }), 'content-type': 'application/json' },
    ...(method === 'GET' ? {} : { body: '{}' }),
  })
  abort.abort() // Streams never end by themselves.
  return response.status
}
