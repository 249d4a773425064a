import { describe, expect, it } from '@jest/globals'
import { runMaster, TOKENS } from '../../kit/running-master.ts'

interface Document {
  openapi: string
  paths: Record<
    string,
    Record<string, { operationId: string; security: object[]; parameters: { name: string; in: string }[] }>
  >
}

describe('openapi.json', () => {
  it('describes every route of the table, needs no token and names no installed automation (D32, D56)', async () => {
    const master = await runMaster()
    const { status, json, text } = await master.call('GET', '/api/v1/openapi.json', { token: '' })
    const { paths, openapi } = json as Document
    expect([status, openapi]).toEqual([200, '3.1.0'])
    const described = Object.entries(paths).flatMap(([path, methods]) =>
      Object.keys(methods).map((method) => `${method.toUpperCase()} ${path}`),
    )
    expect(described.toSorted()).toEqual(master.routes.map(({ method, path }) => `${method} ${path}`).toSorted())
    const ids = Object.values(paths).flatMap((methods) => Object.values(methods).map(({ operationId }) => operationId))
    expect(new Set(ids).size).toBe(ids.length)
    for (const secret of ['mailer', 'probe', 'accounts', ...Object.values(TOKENS)]) expect(text).not.toContain(secret)
  })

  it('describes path and query parameters, and which routes need a token', async () => {
    const master = await runMaster()
    const { json } = await master.call('GET', '/api/v1/openapi.json')
    const { paths } = json as Document
    const queue = paths['/api/v1/automations/{type}/queue']?.['get']
    expect(queue?.parameters.map((each) => `${each.in} ${each.name}`)).toEqual([
      'path type',
      'query n',
      'header if-none-match',
    ])
    expect(queue?.security).toEqual([{ bearer: [] }])
    expect(paths['/healthz']?.['get']?.security).toEqual([])
  })
})
