/** Invalid HTTP, and valid HTTP that clients seldom send, as raw bytes against a listening master. */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { head, sendRaw, startTestMaster, TOKENS, type TestMaster } from '../../kit/running-master.ts'

const SUBMIT = '/api/v1/automations/mailer/tasks'
const BODY = '{"payload":{"to":"x"}}'
const CONTROL = '/api/v1/automations/mailer/workers/w1/control'
const AUTHORIZATION = `Authorization: Bearer ${TOKENS.worker}`
const CHUNKED = 'Transfer-Encoding: chunked'

let master: TestMaster
beforeAll(async () => {
  master = await startTestMaster()
})
afterAll(() => master.stop())

const upgrade = (target: string, headers: readonly string[], version = '1.1'): string =>
  [
    `GET ${target} HTTP/${version}`,
    'Connection: Upgrade',
    'Upgrade: websocket',
    'Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==',
    'Sec-WebSocket-Version: 13',
    ...headers,
    '',
    '',
  ].join('\r\n')
const submit = (...headers: readonly string[]): string =>
  head('POST', SUBMIT, [...headers, `Content-Length: ${BODY.length}`]) + BODY

/** The status codes of all responses on a connection. A response may begin on the line where the last body ends. */
const statusesIn = (text: string): number[] =>
  [...text.matchAll(/HTTP\/1\.1 (?<status>\d{3})/g)].map((match) => Number(match.groups?.['status']))

/** Ends the connection after the first response, because the tested request may leave it open. */
const firstOf = (bytes: string) =>
  sendRaw(master.port, bytes, { after: (socket) => void socket.once('data', () => socket.end()) })

describe('an error before routing', () => {
  it.each([
    ['no Host', 400, 'GET /healthz HTTP/1.1\r\n\r\n'],
    ['two Host headers', 400, 'GET /healthz HTTP/1.1\r\nHost: one\r\nHost: two\r\n\r\n'],
    [
      'an unknown Expect',
      417,
      head('POST', SUBMIT, ['Content-Type: application/json', 'Content-Length: 22', 'Expect: the-unexpected']),
    ],
    ['HTTP/2.0 in the request line', 505, 'GET /healthz HTTP/2.0\r\nHost: test\r\n\r\n'],
    ['HTTP/0.9 in the request line', 505, 'GET /healthz HTTP/0.9\r\nHost: test\r\n\r\n'],
    ['CONNECT', 405, 'CONNECT example.com:443 HTTP/1.1\r\nHost: example.com:443\r\n\r\n'],
    ['an upgrade without Host', 400, upgrade(CONTROL, [AUTHORIZATION])],
    ['an upgrade with two Host headers', 400, upgrade(CONTROL, [AUTHORIZATION, 'Host: one', 'Host: two'])],
    ['an upgrade in HTTP/2.0', 505, upgrade(CONTROL, [AUTHORIZATION, 'Host: test'], '2.0')],
  ])('has a detail and a request id, and closes the connection: %s (D14, D59, D73)', async (_, status, bytes) => {
    const { statuses, text } = await sendRaw(master.port, bytes)
    expect(statuses).toEqual([status])
    expect(text).toMatch(/^muster-request-id: \S+\r$/im)
    expect(text).toMatch(/^connection: close\r$/im)
    expect(text).toMatch(/\r\n\r\n\{"detail":"[^"]+"\}$/)
  })

  it('is counted by its status', async () => {
    await sendRaw(master.port, 'GET /healthz HTTP/2.0\r\nHost: test\r\n\r\n')
    expect((await master.call('GET', '/metrics', { token: '' })).text).toMatch(
      /^svc_http_refusals_total\{status="505"\} [1-9]/m,
    )
  })
})

describe('HTTP/1.0', () => {
  it('needs no Host, and gets no 100 Continue and no upgrade (D73)', async () => {
    expect((await sendRaw(master.port, 'GET /healthz HTTP/1.0\r\n\r\n')).statuses).toEqual([200])
    expect(
      (
        await sendRaw(
          master.port,
          submit('Content-Type: application/json', 'Expect: 100-continue').replace('HTTP/1.1', 'HTTP/1.0'),
        )
      ).statuses,
    ).toEqual([200])
    expect((await sendRaw(master.port, upgrade(CONTROL, [AUTHORIZATION], '1.0'))).statuses).toEqual([404])
  })
})

describe('an upgrade after another request on the same connection', () => {
  it('is rejected with 400 when it does not wait for that response, and closes the connection (D73)', async () => {
    const { text } = await sendRaw(
      master.port,
      'GET /api/v1/me HTTP/1.1\r\n' +
        'Host: test\r\n' +
        `Authorization: Bearer ${TOKENS.admin}\r\n` +
        '\r\n' +
        upgrade(CONTROL, [AUTHORIZATION, 'Host: test']),
    )
    expect(statusesIn(text)).toEqual([200, 400])
    expect(text).toMatch(
      /\{"detail":"read the responses to earlier requests on this connection before sending an upgrade"\}$/,
    )
  })

  it('is accepted after that response', async () => {
    const { text } = await sendRaw(master.port, 'GET /healthz HTTP/1.1\r\nHost: test\r\n\r\n', {
      after: (socket) =>
        socket.once('data', () => {
          socket.write(upgrade(CONTROL, [AUTHORIZATION, 'Host: test']))
          socket.once('data', () => socket.end())
        }),
    })
    expect(statusesIn(text)).toEqual([200, 101])
  })
})

describe('the control handshake', () => {
  it('accepts a target in absolute form, also with the token in its query (D73)', async () => {
    expect((await firstOf(upgrade(`http://test${CONTROL}`, [AUTHORIZATION, 'Host: test']))).statuses).toEqual([101])
    expect((await firstOf(upgrade(`http://test${CONTROL}?token=${TOKENS.worker}`, ['Host: test']))).text).not.toContain(
      '\u0011\u0031',
    )
  })

  it('with two Authorization headers is closed with 4401, like 401 on other routes (D73)', async () => {
    const { text } = await firstOf(upgrade(CONTROL, [AUTHORIZATION, AUTHORIZATION, 'Host: test']))
    // The code 4401 of a close frame.
    expect(Buffer.from(text, 'latin1').includes(Buffer.from([0x11, 0x31]))).toBe(true)
  })
})

describe('alternative forms of headers', () => {
  it.each([
    'application/json; charset=utf8',
    'application/json;charset=UTF-8',
    'application/json; charset="utf-8"',
    'application/json; profile="a;b"',
    'application/json; ; v=1; charset=utf-8',
    'Application/JSON;',
  ])('Content-Type: %s is accepted as JSON (D73)', async (type) => {
    expect((await sendRaw(master.port, submit(`Content-Type: ${type}`))).statuses).toEqual([200])
  })

  it.each([
    'application/json; charset=latin1',
    'application/json; charset=utf-16',
    'application/jsonp',
    'text/json',
    'application/json/x',
    'json',
  ])('Content-Type: %s returns 415', async (type) => {
    expect((await sendRaw(master.port, submit(`Content-Type: ${type}`))).statuses).toEqual([415])
  })

  it('Authorization may have several spaces after Bearer (D73)', async () => {
    expect(
      (await sendRaw(master.port, head('GET', '/api/v1/me', [`Authorization: Bearer   ${TOKENS.admin}`], null)))
        .statuses,
    ).toEqual([200])
  })
})

describe('an empty chunked body', () => {
  it('counts as no body only where the body is optional (D73)', async () => {
    const POP = '/api/v1/automations/mailer/output/pop'
    expect((await sendRaw(master.port, `${head('POST', POP, [CHUNKED])}0\r\n\r\n`)).statuses).toEqual([200])
    expect((await sendRaw(master.port, `${head('POST', POP, [CHUNKED])}2\r\n{}\r\n0\r\n\r\n`)).statuses).toEqual([415])
    expect(
      (
        await sendRaw(
          master.port,
          `${head('POST', POP, [CHUNKED, 'Content-Type: application/json'])}7\r\n{"n":1}\r\n0\r\n\r\n`,
        )
      ).statuses,
    ).toEqual([200])
    expect(
      (await sendRaw(master.port, `${head('POST', SUBMIT, [CHUNKED, 'Content-Type: application/json'])}0\r\n\r\n`))
        .statuses,
    ).toEqual([400])
  })
})
