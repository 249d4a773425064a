/**
 * Tests the check that guards all other tests: each response that differs from the document is a fault, with operation,
 * status and difference.
 */
import { beforeAll, describe, expect, it } from '@jest/globals'
import { startTestMaster } from '../kit/running-master.ts'
import { Contract, type OpenApi } from './contract.ts'

const QUEUE = '/api/v1/automations/mailer/queue'
const HEADERS = { 'muster-request-id': 'r-1', 'muster-epoch': 'e', 'content-type': 'application/json; charset=utf-8' }
let contract: Contract
beforeAll(async () => {
  const master = await startTestMaster()
  contract = new Contract((await master.call('GET', '/api/v1/openapi.json')).json as OpenApi)
  await master.stop()
})

/** Checks a valid response with the given changes. */
function faultsOf({
  method = 'GET',
  path = QUEUE,
  status = 200,
  headers = {},
  body = { length: 0, items: [] },
}: {
  method?: string
  path?: string
  status?: number
  headers?: Record<string, string>
  body?: unknown
}): readonly string[] {
  const all = new Headers({ ...HEADERS, ...headers })
  for (const [name, value] of Object.entries(headers)) if (value === '') all.delete(name)
  return contract.faultsOf({
    method,
    path,
    status,
    headers: all,
    text: typeof body === 'string' ? body : JSON.stringify(body),
  })
}

describe('a response that matches the document', () => {
  it.each([
    [{}],
    [{ status: 404, body: { detail: 'gone' } }],
    [{ status: 422, body: { detail: [{ path: '/n', message: 'm', keyword: 'k', params: {} }] } }],
    [{ status: 503, headers: { 'retry-after': '1' }, body: { detail: 'down' } }],
    [{ path: '/api/v1/nowhere', status: 404, body: { detail: 'no' } }],
    [{ method: 'HEAD', body: '' }],
    [{ method: 'POST', status: 405, headers: { allow: 'GET, HEAD' }, body: { detail: 'no' } }],
    [{ path: '/metrics', headers: { 'content-type': 'text/plain; version=0.0.4', 'muster-epoch': '' }, body: 'a 1\n' }],
    [{ path: '/healthz', status: 400, headers: { 'muster-epoch': '' }, body: { detail: 'no' } }],
    [
      {
        path: '/api/v1/automations/mailer/workers/a%2Fb/config',
        status: 304,
        headers: { etag: '"e.1"', 'muster-config-digest': 'd' },
        body: '',
      },
    ],
  ])('is accepted: %j', (received) => expect(faultsOf(received)).toEqual([]))
})

describe('a fault', () => {
  it.each([
    [
      'a status',
      { status: 418 },
      /^GET \/api\/v1\/automations\/\{type\}\/queue returned 418: the document does not list this status$/,
    ],
    [
      'an operation',
      { path: '/api/v1/nowhere' },
      /^GET \/api\/v1\/nowhere returned 200: the document does not list this operation$/,
    ],
    [
      'a field that is missing',
      { body: { items: [] } },
      /returned 200: body must have required property 'length' in \{"items":\[\]\}/,
    ],
    ['an item of another shape', { body: { length: 1, items: [{ id: 7 }] } }, /returned 200: body\/items\/0/],
    [
      'an error response of another shape',
      { status: 404, body: { error: 'gone' } },
      /returned 404: body must have required property 'detail'/,
    ],
    ['a 422 with a sentence', { status: 422, body: { detail: 'bad' } }, /returned 422: body\/detail must be array/],
    [
      'a media type',
      { headers: { 'content-type': 'text/plain' } },
      /its media type is "text\/plain", the document lists application\/json/,
    ],
    ['no request id', { headers: { 'muster-request-id': '' } }, /the header Muster-Request-Id is missing/],
    [
      'no epoch',
      { status: 403, headers: { 'muster-epoch': '' }, body: { detail: 'no' } },
      /the header Muster-Epoch is missing/,
    ],
    ['an epoch outside the API', { path: '/healthz', body: { status: 'ok' } }, /the header Muster-Epoch is there/],
    ['no Retry-After', { status: 503, body: { detail: 'down' } }, /the header Retry-After is missing/],
    [
      'an invalid Retry-After',
      { status: 503, headers: { 'retry-after': 'soon' }, body: { detail: 'down' } },
      /no integer: soon/,
    ],
    [
      'other methods in Allow',
      { method: 'POST', status: 405, headers: { allow: 'GET' }, body: { detail: 'no' } },
      /Allow names GET, the document GET,HEAD/,
    ],
    [
      'an unexpected body',
      {
        path: '/api/v1/automations/mailer/workers/w/config',
        status: 304,
        headers: { etag: '"e.1"', 'muster-config-digest': 'd' },
        body: 'x',
      },
      /it has a body/,
    ],
  ])('is found: %s', (_, received, expected) => expect(faultsOf(received)).toEqual([expect.stringMatching(expected)]))
})
