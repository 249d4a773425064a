/** What guards all other tests: each answer that strays from the document is a fault, named by operation, status and fault. */
import { beforeAll, describe, expect, it } from '@jest/globals'
import { startTestMaster } from '../master/running-master.ts'
import { Contract, type OpenApi } from './contract.ts'

const QUEUE = '/api/v1/automations/mailer/queue'
const HEADERS = { 'muster-request-id': 'r-1', 'muster-epoch': 'e', 'content-type': 'application/json; charset=utf-8' }
let contract: Contract
beforeAll(async () => {
  const master = await startTestMaster()
  contract = new Contract((await master.call('GET', '/api/v1/openapi.json')).json as OpenApi)
  await master.stop()
})

/** The faults of an answer that is right but for what is named. */
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

describe('an answer that the document told of', () => {
  it.each([
    [{}],
    [{ status: 404, body: { detail: 'gone' } }],
    [{ status: 422, body: { detail: [{ path: '/n', message: 'm', keyword: 'k', params: {} }] } }],
    [{ status: 503, headers: { 'retry-after': '1' }, body: { detail: 'away' } }],
    [{ path: '/api/v1/nowhere', status: 404, body: { detail: 'no' } }],
    [{ method: 'HEAD', body: '' }],
    [{ method: 'POST', status: 405, headers: { allow: 'GET, HEAD' }, body: { detail: 'no' } }],
    [{ path: '/metrics', headers: { 'content-type': 'text/plain; version=0.0.4', 'muster-epoch': '' }, body: 'a 1\n' }],
    [{ path: '/healthz', status: 400, headers: { 'muster-epoch': '' }, body: { detail: 'no' } }],
    [{ path: '/api/v1/automations/mailer/workers/a%2Fb/config', status: 304, headers: { etag: '"e.1"' }, body: '' }],
  ])('is none: %j', (told) => expect(faultsOf(told)).toEqual([]))
})

describe('a fault', () => {
  it.each([
    [
      'a status',
      { status: 418 },
      /^GET \/api\/v1\/automations\/\{type\}\/queue answered 418: the document does not tell of this status$/,
    ],
    [
      'an operation',
      { path: '/api/v1/nowhere' },
      /^GET \/api\/v1\/nowhere answered 200: the document does not tell of this operation$/,
    ],
    [
      'a field that is missing',
      { body: { items: [] } },
      /answered 200: body must have required property 'length' in \{"items":\[\]\}/,
    ],
    ['an item of another shape', { body: { length: 1, items: [{ id: 7 }] } }, /answered 200: body\/items\/0/],
    [
      'a refusal of another shape',
      { status: 404, body: { error: 'gone' } },
      /answered 404: body must have required property 'detail'/,
    ],
    ['a 422 with a sentence', { status: 422, body: { detail: 'bad' } }, /answered 422: body\/detail must be array/],
    [
      'a media type',
      { headers: { 'content-type': 'text/plain' } },
      /its media type is "text\/plain", the document tells of application\/json/,
    ],
    ['no request id', { headers: { 'muster-request-id': '' } }, /the header Muster-Request-Id is missing/],
    [
      'no epoch',
      { status: 403, headers: { 'muster-epoch': '' }, body: { detail: 'no' } },
      /the header Muster-Epoch is missing/,
    ],
    ['an epoch outside the API', { path: '/healthz', body: { status: 'ok' } }, /the header Muster-Epoch is there/],
    ['no Retry-After', { status: 503, body: { detail: 'away' } }, /the header Retry-After is missing/],
    [
      'a Retry-After that is no number',
      { status: 503, headers: { 'retry-after': 'soon' }, body: { detail: 'away' } },
      /no integer: soon/,
    ],
    [
      'verbs in Allow that differ',
      { method: 'POST', status: 405, headers: { allow: 'GET' }, body: { detail: 'no' } },
      /Allow names GET, the document GET,HEAD/,
    ],
    [
      'a body where there is none',
      { path: '/api/v1/automations/mailer/workers/w/config', status: 304, headers: { etag: '"e.1"' }, body: 'x' },
      /it has a body/,
    ],
  ])('is found: %s', (_, told, expected) => expect(faultsOf(told)).toEqual([expect.stringMatching(expected)]))
})
