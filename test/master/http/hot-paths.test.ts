/**
 * Tests that a request to a hot path gets the response that the router would give. An encoded character in the path of
 * the same request sends it through the router.
 */
import { describe, expect, it } from '@jest/globals'
import { createHotPaths } from '../../../src/master/http/hot-paths.ts'
import type { Route } from '../../../src/master/http/index.ts'
import type { Row } from '../../../src/master/http/serve.ts'
import { runMaster, TOKENS } from '../../kit/running-master.ts'

const TYPE = '/api/v1/automations/{type}'
const HOT = [
  ['POST', `${TYPE}/tasks`],
  ['POST', `${TYPE}/tasks/batch`],
  ['GET', `${TYPE}/tasks/{task_id}`],
  ['POST', `${TYPE}/workers/{id}/rpc`],
  ['POST', `${TYPE}/output/pop`],
] as const

const rowOf = (method: string, path: string, isHot = false): Row =>
  ({ route: { method, path, isHot } }) as unknown as Row

describe('hot paths', () => {
  const find = createHotPaths([
    rowOf('POST', '/a/{type}/tasks/batch', true),
    rowOf('POST', '/a/{type}/tasks/{task_id}', true),
    rowOf('DELETE', '/a/{type}/tasks/{task_id}'),
    rowOf('POST', '/a/{type}/tasks', true),
  ])
  const found = (method: string, path: string) => {
    const match = find(method, path)
    return match && [match.row.route.path, match.params]
  }

  it('are found with their parameters, literal ones first', () => {
    expect(found('POST', '/a/mailer/tasks')).toEqual(['/a/{type}/tasks', { type: 'mailer' }])
    expect(found('POST', '/a/m/tasks/batch')).toEqual(['/a/{type}/tasks/batch', { type: 'm' }])
    expect(found('POST', '/a/m/tasks/t:1@x')).toEqual(['/a/{type}/tasks/{task_id}', { type: 'm', task_id: 't:1@x' }])
  })

  it.each([
    ['DELETE', '/a/m/tasks/t'],
    ['HEAD', '/a/m/tasks'],
    ['POST', '/a/m/tasks/'],
    ['POST', '/a//tasks'],
    ['POST', '//a/m/tasks'],
    ['POST', '/A/m/tasks'],
    ['POST', '/a/m/tasks/t/x'],
    ['POST', '/a/%6D/tasks'],
    ['POST', '/a/m#x/tasks'],
    ['POST', '/a/m;x/tasks'],
    ['POST', 'a/m/tasks'],
    ['', ''],
  ])('are left to the router otherwise: %s %s', (method, path) => {
    expect(found(method, path)).toBeUndefined()
  })

  it('must not hide a row that the router would find first', () => {
    const rows = [rowOf('GET', '/a/list'), rowOf('GET', '/a/{id}', true)]
    expect(() => createHotPaths(rows)).toThrow(new TypeError('GET /a/{id} cannot be hot, because /a/list comes first'))
    expect(createHotPaths(rows.toReversed())('GET', '/a/list')?.row.route.path).toBe('/a/{id}')
  })

  it('are those of submits, task states, worker calls and pops', async () => {
    const { routes } = await runMaster()
    const hot = routes.filter(({ isHot }: Route) => isHot === true).map(({ method, path }) => [method, path])
    expect(hot.map(String).toSorted((a, b) => (a < b ? -1 : 1))).toEqual(
      HOT.map(String).toSorted((a, b) => (a < b ? -1 : 1)),
    )
  })

  const rpc = (method: string): object => ({ jsonrpc: '2.0', id: 1, method, params: { limit: 1, wait_ms: 0 } })
  const task = { task_id: 'same', payload: { to: 'a' } }
  const BODIES: readonly unknown[] = [
    undefined,
    task,
    { tasks: [task, { payload: {} }] },
    rpc('tasks.reserve'),
    [rpc('tasks.reserve'), rpc('unknown')],
    { n: 1 },
    { n: 0 },
    { colour: 'red' },
    '{"payload":',
    `{"payload":{"to":"${'x'.repeat(140_000)}"}}`,
  ]
  const SENDERS = ['', 'wrong-token-of-the-test', TOKENS.admin, TOKENS.worker, TOKENS.mailer, TOKENS.probe]
  const TYPES = ['mailer', 'probe', 'unknown', 'Mailer']
  const QUERIES = ['', '?wait_seconds=0', '?wait_seconds=x', '?']

  it.each(HOT)('%s %s has the same response with and without the router', async (method, path) => {
    const master = await runMaster()
    await master.call('POST', `${TYPE.replace('{type}', 'mailer')}/tasks`, { body: task })
    const ask = async (target: string, token: string, body: unknown, headers: Record<string, string> = {}) => {
      const { status, headers: sent, text } = await master.call(method, target, { token, body, headers })
      const shown = Object.fromEntries([...sent].filter(([name]) => name !== 'muster-request-id' && name !== 'date'))
      return { status, headers: shown, text: text.replaceAll(/[\da-f]{10}-\w+/g, 'ID') }
    }
    const cells = TYPES.flatMap((type) =>
      SENDERS.flatMap((token) =>
        method === 'GET'
          ? QUERIES.map((query) => ({ type, token, body: undefined, query }))
          : BODIES.map((body) => ({ type, token, body, query: '' })),
      ),
    )
    const differences: unknown[] = []
    for (const { type, token, body, query } of cells) {
      const target = (typeText: string): string =>
        path.replace('{type}', typeText).replace('{task_id}', 'same').replace('{id}', 'w-1') + query
      const direct = await ask(target(type), token, body)
      const routed = await ask(target(`%${type.charCodeAt(0).toString(16)}${type.slice(1)}`), token, body)
      if (JSON.stringify(direct) !== JSON.stringify(routed))
        differences.push({ type, token, body, query, direct, routed })
    }
    expect(differences).toEqual([])
    expect(cells.length).toBeGreaterThan(90)
  })
})
