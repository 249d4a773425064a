/** Bearer tokens: which token may use which route. */
import { expect, it } from '@jest/globals'
import {
  ADMIN,
  API,
  EVERY,
  onEachStore,
  OTHER,
  SCOPED,
  SECOND,
  WORKER,
  WORKER_PEER,
  type ConformanceFixture,
} from './fixture.ts'

const TYPE = `${API}/automations/mailer`
const W = `${TYPE}/workers/w-1`
const ADMIN_ONLY = [`GET ${API}/automations`, `GET ${API}/catalog`, `GET ${API}/pools/accounts`]
const READS = [`GET ${TYPE}/workers`, `GET ${W}`, `GET ${W}/stats`]
const CONFIG_AND_OUTPUT = [
  `PATCH ${W}/config`,
  `GET ${TYPE}/output/length`,
  `GET ${TYPE}/output/peek`,
  `POST ${TYPE}/output/pop`,
]
const TASKS_AND_ACTS = [
  `POST ${TYPE}/tasks`,
  `GET ${TYPE}/queue`,
  `GET ${TYPE}/dead`,
  `POST ${TYPE}/dead/replay`,
  `DELETE ${TYPE}/dead`,
  `POST ${W}/drain`,
  `DELETE ${W}`,
]
const OPEN = ['GET /healthz', 'GET /metrics', 'GET /']

function bodyFor(method: string, path: string): object | undefined {
  if (method === 'GET' || method === 'DELETE') return undefined
  return path.endsWith('/tasks') ? { payload: { to: 'x' } } : {}
}

onEachStore('auth', (open) => {
  const ask = async (
    fixture: ConformanceFixture,
    route: string,
    token: string | null,
    headers: Record<string, string> = {},
  ): Promise<number> => {
    const [method = '', path = ''] = route.split(' ')
    const body = bodyFor(method, path)
    return (await fixture.call(method, path, { token, headers, ...(body !== undefined && { body }) })).status
  }
  /** The statuses of each route for each token. Worker `w-1` is registered for each route. */
  const statuses = async (routes: readonly string[], tokens: readonly string[]): Promise<number[][]> => {
    const fixture = await open()
    const seen: number[][] = []
    for (const route of routes) {
      await fixture.worker('w-1')
      const row: number[] = []
      for (const token of tokens) row.push(await ask(fixture, route, token))
      seen.push(row)
    }
    return seen
  }

  it(
    'auth/row-healthz, auth/row-metrics, auth/row-page, route/metrics, D20: ' +
      'requires no token for health, metrics and the page',
    async () => {
      const fixture = await open()
      expect(await ask(fixture, OPEN[0] ?? '', null)).toBe(200)
      expect(await ask(fixture, OPEN[1] ?? '', null)).toBe(200)
      expect([401, 403]).not.toContain(await ask(fixture, OPEN[2] ?? '', null))
    },
  )

  it('auth/row-admin, D61i: lets only admin read automations, catalog and pools', async () => {
    expect(await statuses(ADMIN_ONLY, [WORKER, SCOPED, EVERY, ADMIN])).toEqual(
      ADMIN_ONLY.map(() => [403, 403, 403, 200]),
    )
  })

  it('auth/row-workers, auth/admin-token: lets admin and covering tokens read workers', async () => {
    expect(await statuses(READS, [WORKER, OTHER, SCOPED, EVERY, ADMIN])).toEqual(
      READS.map(() => [403, 403, 200, 200, 200]),
    )
  })

  it('auth/row-config-output, D19a, D19b: lets covering tokens PATCH, peek and pop', async () => {
    expect(await statuses(CONFIG_AND_OUTPUT, [WORKER, OTHER, SCOPED, EVERY, ADMIN])).toEqual(
      CONFIG_AND_OUTPUT.map(() => [403, 403, 200, 200, 200]),
    )
  })

  it(
    'auth/row-tasks, auth/scoped-token, auth/worker-token: ' +
      'lets covering tokens submit, inspect, drain and forget, but not workers',
    async () => {
      const rows = await statuses(TASKS_AND_ACTS.slice(0, -1), [WORKER, OTHER, SCOPED, EVERY, ADMIN])
      expect(rows).toEqual(TASKS_AND_ACTS.slice(0, -1).map(() => [403, 403, 200, 200, 200]))
      expect(await statuses([`DELETE ${W}`], [WORKER, OTHER, SCOPED])).toEqual([[403, 403, 200]])
    },
  )

  it('auth/row-poll, auth/crossed, auth/peer-set, D19c: lets only worker tokens poll, peers included', async () => {
    expect(await statuses([`GET ${W}/config`], [ADMIN, SCOPED, EVERY, WORKER, WORKER_PEER])).toEqual([
      [403, 403, 403, 200, 200],
    ])
  })

  it('auth/401, error/401, auth/403, error/403: is 401 without a valid header, 403 with a wrong token', async () => {
    const fixture = await open()
    for (const route of [...ADMIN_ONLY, ...READS, `GET ${W}/config`]) {
      expect([route, await ask(fixture, route, null), await ask(fixture, route, 'an-unknown-token')]).toEqual([
        route,
        401,
        403,
      ])
      for (const authorization of ['Basic YWRtaW4=', 'Bearer', ADMIN])
        expect([route, authorization, await ask(fixture, route, null, { authorization })]).toEqual([
          route,
          authorization,
          401,
        ])
    }
  })

  it('auth/shared: accepts one worker token for every worker id', async () => {
    const fixture = await open()
    for (const id of ['w-1', 'w-2']) await fixture.worker(id)
    for (const id of ['w-1', 'w-2'])
      expect(await fixture.status('GET', `/mailer/workers/${id}/config`, undefined, { token: WORKER })).toBe(200)
  })

  it(
    'auth/rate-limit, submit/rate-limit, error/429, limits/submit-rate, D21a, D21b: ' +
      'limits the submits per second of each token separately',
    async () => {
      const fixture = await open({ submitRpsPerToken: 2 })
      const submit = (token: string) => fixture.call('POST', `${TYPE}/tasks`, { token, body: { payload: { to: 'x' } } })
      for (const token of [ADMIN, SCOPED]) {
        const responses = [await submit(token), await submit(token), await submit(token)]
        expect(responses.map(({ status }) => status)).toEqual([200, 200, 429])
        expect([Number(responses[2]?.headers.get('retry-after')) > 0, typeof responses[2]?.body.detail]).toEqual([
          true,
          'string',
        ])
      }
      await fixture.time.advance(SECOND)
      expect([(await submit(ADMIN)).status, await ask(fixture, `GET ${TYPE}/queue`, ADMIN)]).toEqual([200, 200])
    },
  )

  it('auth/rate-unlimited: does not limit submits by default', async () => {
    const fixture = await open()
    const responses = await Promise.all(Array.from({ length: 100 }, () => ask(fixture, `POST ${TYPE}/tasks`, SCOPED)))
    expect(new Set(responses)).toEqual(new Set([200]))
  })

  it('D38b: counts every task of a batch', async () => {
    const fixture = await open({ submitRpsPerToken: 10 })
    const batch = (length: number): Promise<number> =>
      fixture.status('POST', '/mailer/tasks/batch', { tasks: Array.from({ length }, () => ({ payload: { to: 'x' } })) })
    expect([await batch(9), await batch(2), await batch(1)]).toEqual([200, 429, 200])
  })
})
