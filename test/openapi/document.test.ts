/** Checks the document of a complete master with a validator of OpenAPI and with strict clients. */
import { beforeAll, describe, expect, it } from '@jest/globals'
import { buildCatalog, defineContinuous } from '../../src/automation/index.ts'
import { createOpenApi, route } from '../../src/master/http/index.ts'
import { startTestMaster, type TestMaster } from '../kit/running-master.ts'
import { Contract, type OpenApi, type Operation } from './contract.ts'
import { python, withPython } from './python.ts'

let text = ''
let document: OpenApi
const documentOf = async (master: TestMaster): Promise<string> =>
  (await master.call('GET', '/api/v1/openapi.json', { token: '' })).text
beforeAll(async () => {
  const master = await startTestMaster()
  text = await documentOf(master)
  await master.stop()
  document = JSON.parse(text) as OpenApi
})

const operations = (): [string, Operation][] =>
  Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]): [string, Operation] => [`${method} ${path}`, operation]),
  )
const statuses = (path: string, method: string): string[] =>
  Object.keys(document.paths[path]?.[method]?.responses ?? {})

describe('the document', () => {
  withPython(
    'is valid OpenAPI 3.1 according to openapi-spec-validator',
    async () => {
      expect(await python(['-m', 'openapi_spec_validator', '--schema', '3.1', '-'], {}, text)).toEqual({
        code: 0,
        output: expect.stringMatching(/OK\s*$/),
      })
    },
    60_000,
  )

  withPython(
    'is accepted by a validator that rejects a faulty one',
    async () => {
      const broken = text.replace('#/components/schemas/WorkerRecord', '#/components/schemas/Nowhere')
      expect((await python(['-m', 'openapi_spec_validator', '--schema', '3.1', '-'], {}, broken)).code).not.toBe(0)
    },
    60_000,
  )

  it('is the same for every installation', async () => {
    const catalog = buildCatalog([defineContinuous({ type: 'another', output: {}, run: async () => {} })])
    const other = await startTestMaster({ catalog })
    const its = await documentOf(other)
    await other.stop()
    expect(its).toBe(text)
  })

  it('has a valid example for every body', () => {
    const contract = new Contract(document)
    const faults = operations().flatMap(([name, { requestBody }]) => {
      if (requestBody === undefined) return []
      const { schema, example } = requestBody.content['application/json'] ?? { schema: {} }
      return example === undefined
        ? [`${name} has none: give its row an \`example\``]
        : [contract.faultOf(example, schema)].filter((fault) => fault !== null).map((fault) => `${name}: ${fault}`)
    })
    expect(faults).toEqual([])
  })

  it('describes every RPC method by its name', () => {
    const call = (document as unknown as { components: { schemas: { RpcCall: { oneOf: { $ref: string }[] } } } })
      .components.schemas.RpcCall
    expect(call.oneOf).toContainEqual({ $ref: '#/components/schemas/tasks.reserve' })
    const contract = new Contract(document)
    const { schema } = document.paths['/api/v1/automations/{type}/workers/{id}/rpc']?.['post']?.requestBody?.content[
      'application/json'
    ] ?? { schema: {} }
    expect(contract.faultOf([{ jsonrpc: '2.0', id: 1, method: 'kv.get', params: { key: 'k' } }], schema)).toBeNull()
    expect(contract.faultOf({ jsonrpc: '2.0', id: 1, method: 'kv.get', params: { name: 'k' } }, schema)).not.toBeNull()
    expect(contract.faultOf({ jsonrpc: '2.0', id: 1, method: 'kv.list', params: {} }, schema)).not.toBeNull()
  })
})

describe('the error responses of an operation', () => {
  it.each([
    ['/healthz', 'get', ['200', '400', '408', '414', '417', '431', '503', '505']],
    ['/api/v1/me', 'get', ['200', '400', '401', '403', '408', '414', '417', '431', '503', '505']],
    [
      '/api/v1/catalog/{type}',
      'get',
      ['200', '304', '400', '401', '403', '404', '408', '414', '417', '431', '503', '505'],
    ],
    [
      '/api/v1/automations/{type}/queue',
      'get',
      ['200', '304', '400', '401', '403', '404', '408', '414', '417', '422', '431', '503', '505'],
    ],
    [
      '/api/v1/automations/{type}/tasks',
      'post',
      ['200', '400', '401', '403', '404', '408', '412', '413', '414', '415', '417', '422', '429', '431', '503', '505'],
    ],
    [
      '/api/v1/automations/{type}/workers/{id}/config',
      'get',
      ['200', '304', '400', '401', '403', '404', '408', '414', '417', '422', '431', '503', '505'],
    ],
  ])('follow from its row: %s %s', (path, method, expected) => expect(statuses(path, method)).toEqual(expected))

  it('describe their headers', () => {
    const { responses } = (document as unknown as { components: { responses: Record<string, { headers: object }> } })
      .components
    expect(Object.keys(responses['Unauthenticated']?.headers ?? {})).toContain('WWW-Authenticate')
    expect(Object.keys(responses['MethodNotAllowed']?.headers ?? {})).toContain('Allow')
    expect(Object.keys(responses['Unavailable']?.headers ?? {})).toContain('Retry-After')
  })
})

describe('a row', () => {
  it('without responses is rejected', () => {
    const row = route({
      method: 'GET',
      path: '/api/v1/thing',
      access: 'admin',
      needs: 'fleet',
      summary: 'A thing.',
      handle: () => ({ body: {} }),
    })
    const [own] = createOpenApi([row], '0').routes
    expect(() => own?.handle(undefined as never)).toThrow(/^GET \/api\/v1\/thing [^:]*: give the row a `response`/)
  })
})
