/**
 * Every route with every kind of token. The rows come from the route table of a running master. A route that is missing
 * in EXPECTED fails here, and so does an entry of EXPECTED without a route.
 */
import { beforeAll, describe, expect, it } from '@jest/globals'
import { ROLE_PERMISSIONS, SCOPED_PERMISSIONS, type Permission } from '../../src/protocol/index.ts'
import { startTestMaster, tokenWith, TOKENS, type TestMaster } from '../kit/running-master.ts'

const KINDS = ['none', 'malformed', 'wrong', 'worker', 'scaler', 'covering', 'other', 'every type', 'admin'] as const
type Kind = (typeof KINDS)[number]
const AUTHORIZATION: Record<Kind, string | null> = {
  none: null,
  malformed: 'Basic YWRtaW4=',
  wrong: 'Bearer unknown-token-of-the-test',
  worker: `Bearer ${TOKENS.worker}`,
  scaler: `Bearer ${TOKENS.scaler}`,
  covering: `Bearer ${TOKENS.mailer}`,
  other: `Bearer ${TOKENS.probe}`,
  'every type': `Bearer ${TOKENS.everyType}`,
  admin: `Bearer ${TOKENS.admin}`,
}

/** The expected result for a kind of token: access, or the status of the error. */
type Access = 'in' | 401 | 403
const open: Record<Kind, Access> = {
  none: 'in',
  malformed: 'in',
  wrong: 'in',
  worker: 'in',
  scaler: 'in',
  covering: 'in',
  other: 'in',
  'every type': 'in',
  admin: 'in',
}
const closed = { none: 401, malformed: 401, wrong: 403 } as const
const any: Record<Kind, Access> = { ...open, ...closed }
const admin: Record<Kind, Access> = {
  ...closed,
  worker: 403,
  scaler: 403,
  covering: 403,
  other: 403,
  'every type': 403,
  admin: 'in',
}
const scoped: Record<Kind, Access> = {
  ...closed,
  worker: 403,
  scaler: 403,
  covering: 'in',
  other: 403,
  'every type': 'in',
  admin: 'in',
}
const load: Record<Kind, Access> = { ...scoped, scaler: 'in' }
/** For paths without a type: a scoped token sees only its own types. */
const ownTypes: Record<Kind, Access> = { ...scoped, other: 'in' }
const worker: Record<Kind, Access> = {
  ...closed,
  worker: 'in',
  scaler: 403,
  covering: 403,
  other: 403,
  'every type': 403,
  admin: 403,
}

const TYPE = '/api/v1/automations/{type}'
const WORKER = `${TYPE}/workers/{id}`
/** The endpoint matrix of the specification and later additions. */
const EXPECTED: Record<string, Record<Kind, Access>> = {
  'GET /': open,
  'GET /assets/{file}': open,
  'GET /healthz': open,
  'GET /readyz': open,
  'GET /metrics': open,
  'GET /api/v1/openapi.json': open,
  'GET /api/v1/me': any,
  'GET /api/v1/sign-in': open,
  'POST /api/v1/sign-in/token': open,
  'GET /api/v1/overview': ownTypes,
  'GET /api/v1/history': ownTypes,
  'GET /api/v1/worker-changes': ownTypes,
  'GET /api/v1/worker-groups': ownTypes,
  'GET /api/v1/events': ownTypes,
  'GET /api/v1/tasks/{task_id}': ownTypes,
  'GET /api/v1/automations': admin,
  'GET /api/v1/catalog': admin,
  'GET /api/v1/pools': admin,
  'GET /api/v1/audit': admin,
  'GET /api/v1/pools/{pool_name}': admin,
  'GET /api/v1/pools/{pool_name}/claims': admin,
  'POST /api/v1/pools/{pool_name}/claims/release': admin,
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
  [`POST ${TYPE}/configs`]: scoped,
  [`GET ${TYPE}/revisions`]: scoped,
  [`PUT ${TYPE}/revisions/{revision}`]: scoped,
  [`GET ${TYPE}/enrolments`]: scoped,
  [`PUT ${TYPE}/enrolments/{enrolment}`]: scoped,
  [`DELETE ${TYPE}/enrolments/{enrolment}`]: scoped,
  'GET /api/v1/acknowledgements': ownTypes,
  'GET /api/v1/alerts': ownTypes,
  [`PUT ${TYPE}/acknowledgements/{item}`]: scoped,
  [`DELETE ${TYPE}/acknowledgements/{item}`]: scoped,
  'GET /api/v1/operations': ownTypes,
  [`POST ${TYPE}/operations`]: scoped,
  [`POST ${TYPE}/operations/preview`]: scoped,
  [`GET ${TYPE}/operations/{operation}`]: scoped,
  [`GET ${TYPE}/operations/{operation}/results`]: scoped,
  [`POST ${TYPE}/operations/{operation}/cancel`]: scoped,
  [`POST ${TYPE}/operations/{operation}/undo`]: scoped,
  [`GET ${TYPE}/rollouts`]: scoped,
  [`PUT ${TYPE}/rollouts/{rollout}`]: scoped,
  [`DELETE ${TYPE}/rollouts/{rollout}`]: scoped,
  [`GET ${TYPE}/output/length`]: scoped,
  [`GET ${TYPE}/output/peek`]: scoped,
  [`POST ${TYPE}/output/pop`]: scoped,
  [`GET ${TYPE}/output/tail`]: scoped,
  [`GET ${TYPE}/tasks`]: scoped,
  [`POST ${TYPE}/tasks`]: scoped,
  [`POST ${TYPE}/tasks/batch`]: scoped,
  [`POST ${TYPE}/tasks/validate`]: scoped,
  [`GET ${TYPE}/tasks/{task_id}`]: scoped,
  [`DELETE ${TYPE}/tasks/{task_id}`]: scoped,
  [`POST ${TYPE}/tasks/select`]: scoped,
  [`POST ${TYPE}/tasks/await`]: scoped,
  [`GET ${TYPE}/queue`]: scoped,
  [`GET ${TYPE}/queue/stats`]: scoped,
  [`GET ${TYPE}/history`]: scoped,
  [`GET ${TYPE}/load`]: load,
  [`GET ${TYPE}/runs`]: scoped,
  [`GET ${TYPE}/workers/{id}/logs`]: scoped,
  [`GET ${TYPE}/worker-columns`]: scoped,
  [`PUT ${TYPE}/queue/pause`]: scoped,
  [`DELETE ${TYPE}/queue/pause`]: scoped,
  [`POST ${TYPE}/dead/select`]: scoped,
  [`GET ${TYPE}/dead/groups`]: scoped,
  [`GET ${TYPE}/dead/newest`]: scoped,
  [`GET ${TYPE}/dead/replays`]: scoped,
  [`POST ${TYPE}/dead/groups/{group}/replay`]: scoped,
  [`POST ${TYPE}/dead/groups/{group}/remove`]: scoped,
  [`POST ${TYPE}/dead/tasks/{task_id}/replay`]: scoped,
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
  revision: 'r-1',
  enrolment: 'e-1',
  rollout: 's-1',
  item: 'error',
  operation: '3f2a91bc',
  pool_name: 'accounts',
  group: '0123456789abcdef',
  file: 'main.js',
}
const filled = (path: string, params: Record<string, string> = PARAMS): string =>
  path.replaceAll(/\{(\w+)\}/g, (_, name: string) => params[name] ?? '')

/**
 * The permissions that open a route; any one of them is enough. Other routes accept no token of SVC_TOKENS or need no
 * permission.
 */
const OPENED_BY: Record<string, readonly Permission[]> = {
  'GET /api/v1/overview': ['read'],
  'GET /api/v1/history': ['read'],
  'GET /api/v1/events': ['read'],
  'GET /api/v1/tasks/{task_id}': ['read'],
  'GET /api/v1/catalog/{type}': ['read', 'submit'],
  [`GET ${TYPE}/workers`]: ['read'],
  [`GET ${WORKER}`]: ['read'],
  [`GET ${WORKER}/stats`]: ['read'],
  [`GET ${WORKER}/config/history`]: ['read'],
  [`POST ${WORKER}/config/validate`]: ['read'],
  [`PATCH ${WORKER}/config`]: ['operate', 'configure'],
  [`POST ${TYPE}/configs`]: ['configure'],
  [`GET ${TYPE}/revisions`]: ['read'],
  [`PUT ${TYPE}/revisions/{revision}`]: ['configure'],
  [`GET ${TYPE}/enrolments`]: ['read'],
  [`PUT ${TYPE}/enrolments/{enrolment}`]: ['configure'],
  [`DELETE ${TYPE}/enrolments/{enrolment}`]: ['configure'],
  'GET /api/v1/acknowledgements': ['read'],
  'GET /api/v1/alerts': ['read'],
  [`PUT ${TYPE}/acknowledgements/{item}`]: ['operate'],
  [`DELETE ${TYPE}/acknowledgements/{item}`]: ['operate'],
  'GET /api/v1/operations': ['read'],
  [`POST ${TYPE}/operations`]: ['operate', 'configure'],
  [`POST ${TYPE}/operations/preview`]: ['read'],
  [`GET ${TYPE}/operations/{operation}`]: ['read'],
  [`GET ${TYPE}/operations/{operation}/results`]: ['read'],
  [`POST ${TYPE}/operations/{operation}/cancel`]: ['operate', 'configure'],
  [`POST ${TYPE}/operations/{operation}/undo`]: ['operate', 'configure'],
  [`GET ${TYPE}/rollouts`]: ['read'],
  [`PUT ${TYPE}/rollouts/{rollout}`]: ['configure'],
  [`DELETE ${TYPE}/rollouts/{rollout}`]: ['configure'],
  [`PUT ${WORKER}/claim`]: ['configure'],
  [`DELETE ${WORKER}/claim`]: ['configure'],
  [`POST ${WORKER}/drain`]: ['operate'],
  [`DELETE ${WORKER}`]: ['operate'],
  [`GET ${TYPE}/output/length`]: ['read'],
  [`GET ${TYPE}/output/peek`]: ['read'],
  [`GET ${TYPE}/output/tail`]: ['read'],
  [`POST ${TYPE}/output/pop`]: ['consume'],
  [`GET ${TYPE}/tasks`]: ['read'],
  [`POST ${TYPE}/tasks`]: ['submit'],
  [`POST ${TYPE}/tasks/batch`]: ['submit'],
  [`POST ${TYPE}/tasks/validate`]: ['read', 'submit'],
  [`GET ${TYPE}/tasks/{task_id}`]: ['read', 'submit'],
  [`DELETE ${TYPE}/tasks/{task_id}`]: ['operate'],
  [`POST ${TYPE}/tasks/select`]: ['operate'],
  [`POST ${TYPE}/tasks/await`]: ['read', 'submit'],
  [`GET ${TYPE}/queue`]: ['read'],
  [`GET ${TYPE}/queue/stats`]: ['read'],
  [`GET ${TYPE}/history`]: ['read'],
  [`GET ${TYPE}/load`]: ['read', 'scale'],
  [`GET ${TYPE}/runs`]: ['read'],
  [`GET ${TYPE}/workers/{id}/logs`]: ['read'],
  [`GET ${TYPE}/worker-columns`]: ['read'],
  'GET /api/v1/worker-changes': ['read'],
  'GET /api/v1/worker-groups': ['read'],
  [`PUT ${TYPE}/queue/pause`]: ['operate'],
  [`DELETE ${TYPE}/queue/pause`]: ['operate'],
  [`GET ${TYPE}/dead`]: ['read'],
  [`POST ${TYPE}/dead/replay`]: ['operate'],
  [`GET ${TYPE}/dead/groups`]: ['read'],
  [`GET ${TYPE}/dead/newest`]: ['read'],
  [`GET ${TYPE}/dead/replays`]: ['read'],
  [`POST ${TYPE}/dead/groups/{group}/replay`]: ['operate'],
  [`POST ${TYPE}/dead/groups/{group}/remove`]: ['purge'],
  [`POST ${TYPE}/dead/tasks/{task_id}/replay`]: ['operate'],
  [`POST ${TYPE}/dead/select`]: ['operate', 'purge'],
  [`DELETE ${TYPE}/dead`]: ['purge'],
}

const GRANTS: readonly { who: string; token: string; permissions: readonly Permission[] }[] = [
  ...SCOPED_PERMISSIONS.map((permission) => ({
    who: `may-${permission}`,
    token: tokenWith(permission),
    permissions: [permission],
  })),
  ...(['viewer', 'responder', 'producer', 'editor'] as const).map((role) => ({
    who: role,
    token: TOKENS[role],
    permissions: ROLE_PERMISSIONS[role],
  })),
]

describe('the matrix of routes and permissions (D86)', () => {
  const results = new Map<string, { own: number; other: number }>()
  let routes: TestMaster['routes'] = []

  beforeAll(async () => {
    const master = await startTestMaster()
    routes = master.routes
    for (const { method, path } of routes) {
      for (const { who, token } of GRANTS) {
        const ask = (type: string) => statusOf(master, method, filled(path, { ...PARAMS, type }), `Bearer ${token}`)
        results.set(`${method} ${path} ${who}`, { own: await ask('mailer'), other: await ask('probe') })
      }
    }
    await master.stop()
  }, 30_000)

  it('opens each route to the listed roles and permissions, and to no others', () => {
    for (const { method, path, access } of routes) {
      const row = `${method} ${path}`
      const isOpen = access === 'none' || access === 'any'
      for (const { who, permissions } of GRANTS) {
        const opened = isOpen || (OPENED_BY[row]?.some((each) => permissions.includes(each)) ?? false)
        const { own, other } = results.get(`${row} ${who}`) ?? { own: 0, other: 0 }
        expect([row, who, own === 403 ? 403 : 'in']).toEqual([row, who, opened ? 'in' : 403])
        const reachesOther = opened && (isOpen || !path.includes('{type}'))
        expect([row, who, 'another type', other === 403 ? 403 : 'in']).toEqual([
          row,
          who,
          'another type',
          reachesOther ? 'in' : 403,
        ])
      }
    }
  })

  it('has a permission for every route that accepts scoped tokens, and `fleet` or `work` for the others', () => {
    for (const { method, path, access, needs } of routes) {
      const expected = {
        none: null,
        any: null,
        admin: 'fleet',
        worker: 'work',
        scoped: OPENED_BY[`${method} ${path}`],
      }[access]
      expect([method, path, typeof needs === 'string' && Array.isArray(expected) ? [needs] : needs]).toEqual([
        method,
        path,
        expected,
      ])
    }
    expect(
      Object.keys(OPENED_BY).filter((row) => !routes.some(({ method, path }) => `${method} ${path}` === row)),
    ).toEqual([])
  })
})

describe('a body that needs more permissions than its route', () => {
  it('is rejected for an operate token: fields beside enabled and slots, removal of dead tasks (D86)', async () => {
    const master = await startTestMaster()
    try {
      const ask = async (method: string, path: string, token: string, body: object) =>
        (await master.call(method, path, { token, body })).status
      const config = '/api/v1/automations/mailer/workers/w-1/config'
      for (const body of [{ enabled: true }, { slots: 2 }, {}])
        expect([body, await ask('PATCH', config, TOKENS.responder, body)]).toEqual([body, 404])
      for (const body of [{ host: 'h' }, { slots: 2, host: 'h' }, { max_attempts: 2 }])
        expect([body, await ask('PATCH', config, TOKENS.responder, body)]).toEqual([body, 403])
      expect(await ask('PATCH', config, tokenWith('configure'), { slots: 2, host: 'h' })).toBe(404)
      const select = '/api/v1/automations/mailer/dead/select'
      expect(await ask('POST', select, TOKENS.responder, { action: 'remove', task_ids: ['t-1'] })).toBe(403)
      expect(await ask('POST', select, tokenWith('purge'), { action: 'replay', task_ids: ['t-1'] })).toBe(403)
      expect(await ask('POST', select, tokenWith('purge'), { action: 'remove', task_ids: ['t-1'] })).toBe(200)
    } finally {
      await master.stop()
    }
  })
})

describe('the matrix of routes and tokens', () => {
  const results = new Map<string, number>()
  const otherTypes = new Map<string, number>()
  let rows: readonly string[] = []

  // One master serves all cells, so that damage by one cell shows in the next ones.
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

  it('has an entry for every route, and a route for every entry', () => {
    expect(rows.filter((row) => EXPECTED[row] === undefined)).toEqual([])
    expect(Object.keys(EXPECTED).filter((row) => !rows.includes(row))).toEqual([])
  })

  it('has no path that is also that of a worker, which may be called `config`', () => {
    expect(rows.filter((row) => /\/workers\/[^{/]+$/.test(row))).toEqual([])
  })

  it('allows the expected kinds of token and no others, in every cell (D19, D32, S2)', () => {
    for (const row of rows) {
      for (const kind of KINDS) {
        const status = results.get(`${row} ${kind}`) ?? 0
        const expected = EXPECTED[row]?.[kind]
        expect([row, kind, status === 401 || status === 403 ? status : 'in']).toEqual([row, kind, expected])
      }
    }
  })

  it('has no cell with an error of the master', () => {
    expect([...results].filter(([, status]) => status >= 500)).toEqual([])
  })

  it('returns 404 for a type that is not installed, and 403 to tokens that do not cover it (D7, D56)', () => {
    for (const [cell, status] of otherTypes) {
      const { row = '', kind = '' } = /^(?<row>\S+ \S+) (?<kind>.+)$/.exec(cell)?.groups ?? {}
      const known = EXPECTED[row]?.[kind as Kind]
      const whenAllowed = kind === 'covering' ? 403 : 404
      const expected = known === 'in' ? whenAllowed : known
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
  abort.abort() // Streams do not end by themselves.
  return response.status
}
