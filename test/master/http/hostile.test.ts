/**
 * Hostile input against a listening master, as raw bytes where a client library would refuse to send it. After every
 * bad input the next valid request must succeed.
 */
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals'
import { buildCatalog, defineBatch, Type } from '../../../src/automation/index.ts'
import { head, sendRaw, startTestMaster, TOKENS, type TestMaster } from '../../kit/running-master.ts'

const SUBMIT = '/api/v1/automations/mailer/tasks'
const GOOD = { payload: { to: 'x' } }
const JSON_TYPE = 'Content-Type: application/json'
const MAX_BODY_BYTES = 131_072
const paths = (json: unknown): readonly string[] =>
  (json as { detail: { path: string }[] }).detail.map(({ path }) => path)

/** Shared by all tests, so that damage by one test shows in the next one. */
let master: TestMaster
beforeAll(async () => {
  master = await startTestMaster()
})
afterAll(() => master.stop())

afterEach(async () => {
  const reply = await master.call('POST', SUBMIT, { body: GOOD })
  expect(reply.status).toBe(200)
  expect(Object.keys(Object.prototype)).toEqual([])
})

const withBody = (
  body: string | Buffer,
  headers: readonly string[] = [JSON_TYPE],
  path = SUBMIT,
  method = 'POST',
): Buffer =>
  Buffer.concat([
    Buffer.from(head(method, path, [...headers, `Content-Length: ${Buffer.byteLength(body)}`])),
    Buffer.from(body),
  ])
const sendBody = (...args: Parameters<typeof withBody>): ReturnType<typeof sendRaw> =>
  sendRaw(master.port, withBody(...args))

describe('tokens (S1)', () => {
  const ME = '/api/v1/me'
  it.each([
    ['no header', []],
    ['Basic', ['Authorization: Basic YWRtaW46YWRtaW4=']],
    ['an empty header', ['Authorization:']],
    ['no token', ['Authorization: Bearer']],
    ['two headers', [`Authorization: Bearer ${TOKENS.admin}`, `authorization: Bearer ${TOKENS.admin}`]],
    ['two tokens', [`Authorization: Bearer ${TOKENS.admin} x`]],
    ['the token alone', [`Authorization: ${TOKENS.admin}`]],
    ['a token in the query', [], `${ME}?token=${TOKENS.admin}`],
  ])('returns 401 with WWW-Authenticate: %s', async (_, headers, path = ME) => {
    const { status, text } = await sendRaw(master.port, head('GET', path, headers, null))
    expect(status).toBe(401)
    expect(text).toMatch(/^www-authenticate: Bearer\r$/im)
  })

  it.each([
    ['unknown', 'unknown-token-of-the-test'],
    ['other case', TOKENS.admin.toUpperCase()],
    ['a prefix', TOKENS.admin.slice(0, -1)],
    ['longer', `${TOKENS.admin}x`],
    ['8 KiB', 'x'.repeat(8_192)],
  ])('returns 403 with the same body in every case: %s', async (_, token) => {
    const { status, text } = await sendRaw(master.port, head('GET', ME, [], token))
    expect(status).toBe(403)
    expect(text).toContain('{"detail":"unknown token"}')
  })

  it('accepts a token with trailing spaces, which HTTP strips, and rejects NUL as invalid HTTP', async () => {
    expect(
      (await sendRaw(master.port, head('GET', ME, [`Authorization: Bearer ${TOKENS.admin}   `], null))).status,
    ).toBe(200)
    expect((await sendRaw(master.port, head('GET', ME, ['Authorization: Bearer a\u0000b'], null))).status).toBe(400)
  })

  it('requires a token before it shows whether a path exists', async () => {
    expect((await sendRaw(master.port, head('GET', '/api/v1/no/such/path', [], null))).status).toBe(401)
    expect((await sendRaw(master.port, head('GET', '/api/v1/no/such/path'))).status).toBe(404)
  })

  it('never logs a query', async () => {
    await sendRaw(master.port, head('GET', `${ME}?token=canary-in-the-query`))
    await sendRaw(master.port, head('GET', '/api/v1/nope?token=canary-in-the-query', [], null))
    expect(JSON.stringify(master.lines)).not.toContain('canary')
  })
})

describe('scopes in the path (S2)', () => {
  it.each([
    'mailer-b',
    'maile',
    'Mailer',
    '%2a',
    '*',
    '..',
    'probe',
    'probe%2f..%2fmailer',
    'mailer%2fx',
    'mailer%00',
    '%6d%61iler%20',
    'constructor',
    '__proto__',
  ])('returns 403 for a type outside of the list: %s', async (type) => {
    expect(
      (await sendRaw(master.port, head('GET', `/api/v1/automations/${type}/queue`, [], TOKENS.mailer))).status,
    ).toBe(403)
  })

  it.each([
    '/api/v1/automations//queue',
    '/api/v1/automations/mailer/queue/',
    '/api/v1//automations/mailer/queue',
    '/API/v1/automations/mailer/queue',
    '/api/v1/automations/x/../mailer/queue',
  ])('returns 404 for the path %s', async (path) => {
    expect((await sendRaw(master.port, head('GET', path, [], TOKENS.mailer))).status).toBe(404)
  })

  it('decodes a type once', async () => {
    expect(
      (await sendRaw(master.port, head('GET', '/api/v1/automations/%6dailer/queue', [], TOKENS.mailer))).status,
    ).toBe(200)
    expect(
      (await sendRaw(master.port, head('GET', '/api/v1/automations/%256dailer/queue', [], TOKENS.mailer))).status,
    ).toBe(403)
    expect((await sendRaw(master.port, head('GET', '/api/v1/automations/%zz/queue', [], TOKENS.mailer))).status).toBe(
      400,
    )
  })
})

describe('methods and content types (S4)', () => {
  it.each(['PUT', 'PATCH', 'OPTIONS', 'TRACE', 'DELETE', 'PROPFIND'])(
    'rejects %s with 405, Allow and no CORS header',
    async (method) => {
      const { status, text } = await sendRaw(
        master.port,
        head(method, SUBMIT, ['Origin: https://evil.example', 'Access-Control-Request-Method: POST']),
      )
      expect(status).toBe(405)
      expect(text).toMatch(/^allow: POST, GET, HEAD\r$/im)
      expect(text).not.toMatch(/access-control-/i)
    },
  )

  it('performs every check for OPTIONS and HEAD, and ignores headers that override the method', async () => {
    expect((await sendRaw(master.port, head('OPTIONS', SUBMIT, [], null))).status).toBe(401)
    expect((await sendRaw(master.port, head('HEAD', '/api/v1/automations', [], TOKENS.worker))).status).toBe(403)
    const read = await sendRaw(master.port, head('GET', SUBMIT, ['X-HTTP-Method-Override: POST']))
    expect([read.status, read.text]).toEqual([200, expect.stringContaining('"examined":')])
  })

  it('returns the response of GET without a body for HEAD', async () => {
    const { status, text } = await sendRaw(master.port, head('HEAD', '/healthz', [], null))
    expect([status, text.split('\r\n\r\n')[1]]).toEqual([200, ''])
  })

  it.each([
    [[]],
    [['Content-Type: text/plain']],
    [['Content-Type: application/x-www-form-urlencoded']],
    [['Content-Type: multipart/form-data; boundary=x']],
    [['Content-Type: application/x+json']],
    [['Content-Type: application/json; charset=utf-16']],
    [['Content-Type: application/json, text/plain']],
    [[JSON_TYPE, 'Content-Encoding: gzip']],
    [[JSON_TYPE, 'Content-Encoding: br, identity']],
  ])('returns 415 for the headers %j', async (headers) =>
    expect((await sendBody(JSON.stringify(GOOD), headers)).status).toBe(415),
  )

  it.each([
    [[JSON_TYPE]],
    [['content-type: APPLICATION/JSON; charset="UTF-8"']],
    [[JSON_TYPE, 'Content-Encoding: identity']],
  ])('accepts the headers %j', async (headers) => {
    expect((await sendBody(JSON.stringify(GOOD), headers)).status).toBe(200)
  })

  it('accepts a missing body as {} only where every field has a default', async () => {
    expect((await sendRaw(master.port, head('POST', '/api/v1/automations/mailer/output/pop'))).status).toBe(200)
    expect(
      (await sendRaw(master.port, head('POST', '/api/v1/automations/mailer/dead/replay', ['Content-Length: 0'])))
        .status,
    ).toBe(200)
    expect((await sendRaw(master.port, head('POST', SUBMIT))).status).toBe(415)
    expect((await sendRaw(master.port, head('PATCH', '/api/v1/automations/mailer/workers/w/config'))).status).toBe(415)
  })

  it('never parses a body on a route without one', async () => {
    expect((await sendBody('{not json', ['Content-Type: text/plain'], '/api/v1/me', 'GET')).status).toBe(200)
    expect(
      (await sendBody('{not json', ['Content-Type: text/plain'], '/api/v1/automations/mailer/dead', 'DELETE')).status,
    ).toBe(200)
  })

  it.each(['h2c', 'TLS/1.0', 'h2c, websocket'])('ignores an offer of another protocol: %s', async (protocol) => {
    const offer = (bytes: string): string =>
      bytes.replace(
        'Connection: close',
        `Connection: Upgrade, HTTP2-Settings, close\r\nUpgrade: ${protocol}\r\nHTTP2-Settings: AAMAAABkAAQAAP__`,
      )
    expect((await sendRaw(master.port, offer(head('GET', '/healthz', [], null)))).status).toBe(200)
    const body = JSON.stringify(GOOD)
    expect(
      (await sendRaw(master.port, offer(head('POST', SUBMIT, [JSON_TYPE, `Content-Length: ${body.length}`])) + body))
        .status,
    ).toBe(200)
    expect((await sendRaw(master.port, offer(head('GET', '/api/v1/me', [], null)))).status).toBe(401)
  })

  it('returns 404 for an upgrade of any other path', async () => {
    const { status } = await sendRaw(
      master.port,
      head('GET', '/api/v1/me', [
        'Upgrade: websocket',
        'Sec-WebSocket-Version: 13',
        'Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==',
      ]).replace('Connection: close', 'Connection: Upgrade'),
    )
    expect(status).toBe(404)
  })
})

describe('sizes (S5)', () => {
  it('returns 401 before it checks the length, and reads no body', async () => {
    expect(
      (await sendRaw(master.port, head('POST', SUBMIT, [JSON_TYPE, `Content-Length: ${2 ** 30}`], null))).status,
    ).toBe(401)
  })

  it('returns 413 for a declared length without reading, and when the limit is exceeded while reading', async () => {
    expect((await sendRaw(master.port, head('POST', SUBMIT, [JSON_TYPE, `Content-Length: ${2 ** 30}`]))).status).toBe(
      413,
    )
    const chunk = `4000\r\n${'x'.repeat(0x4000)}\r\n`
    expect(
      (await sendRaw(master.port, head('POST', SUBMIT, [JSON_TYPE, 'Transfer-Encoding: chunked']) + chunk.repeat(9)))
        .status,
    ).toBe(413)
  })

  it('returns 413 so that an ordinary client can read it, whatever the size of the body', async () => {
    for (const size of [MAX_BODY_BYTES + 1, 8 * MAX_BODY_BYTES]) {
      expect((await master.call('POST', SUBMIT, { body: { payload: { to: 'x'.repeat(size) } } })).status).toBe(413)
    }
  })

  it('accepts a body of exactly the limit', async () => {
    const around = JSON.stringify({ payload: { to: '' } }).length
    expect((await sendBody(JSON.stringify({ payload: { to: 'x'.repeat(MAX_BODY_BYTES - around) } }))).status).toBe(200)
    expect((await sendBody(JSON.stringify({ payload: { to: 'x'.repeat(MAX_BODY_BYTES - around + 1) } }))).status).toBe(
      413,
    )
  })

  it('stops reading an endless chunked body', async () => {
    let sent = 0
    const endless = (socket: {
      write: (text: string) => boolean
      writable: boolean
      once: (event: 'drain', next: () => void) => unknown
    }): void => {
      const more = (): void => {
        while (socket.writable && sent < 2 ** 28) {
          sent += 0x4000
          if (!socket.write(`4000\r\n${'x'.repeat(0x4000)}\r\n`)) return void socket.once('drain', more)
        }
      }
      more()
    }
    await sendRaw(master.port, head('POST', SUBMIT, [JSON_TYPE, 'Transfer-Encoding: chunked']), { after: endless })
    expect(sent).toBeLessThan(2 ** 26) // At most what the kernel buffers accept.
  })

  it('closes a connection whose body ends before its length, and queues nothing', async () => {
    await sendRaw(
      master.port,
      head('POST', SUBMIT, [JSON_TYPE, 'Content-Length: 50']) + JSON.stringify({ payload: { to: 'cut off' } }),
      { after: (socket) => socket.end() },
    )
    expect((await master.call('GET', '/api/v1/automations/mailer/queue?n=10000')).text).not.toContain('cut off')
  })

  it('sends 100 Continue only when it will read the body', async () => {
    const expecting = (token: string | null): string =>
      head('POST', SUBMIT, [JSON_TYPE, 'Content-Length: 24', 'Expect: 100-continue'], token)
    expect((await sendRaw(master.port, expecting(null))).statuses).toEqual([401])
    const body = JSON.stringify(GOOD).padEnd(24)
    expect(
      (
        await sendRaw(master.port, expecting(TOKENS.admin), {
          after: (socket) => void socket.once('data', () => socket.write(body)),
        })
      ).statuses,
    ).toEqual([100, 200])
  })

  it('returns 414 for a URL above 8 KiB, also when it exceeds the limit of the parser', async () => {
    expect((await sendRaw(master.port, head('GET', `/api/v1/me?x=${'x'.repeat(9_000)}`))).status).toBe(414)
    expect((await sendRaw(master.port, head('GET', `/api/v1/me?x=${'x'.repeat(65_536)}`))).status).toBe(414)
    expect((await sendRaw(master.port, head('GET', `/api/v1/me?x=${'x'.repeat(8_000)}`))).status).toBe(200)
  })

  it('returns 431 for more than 100 headers or 16 KiB of headers', async () => {
    const headers = (count: number): string[] => Array.from({ length: count }, (_, index) => `X-${index}: 1`)
    expect((await sendRaw(master.port, head('GET', '/api/v1/me', headers(97)))).status).toBe(200)
    expect((await sendRaw(master.port, head('GET', '/api/v1/me', headers(98)))).status).toBe(431)
    expect((await sendRaw(master.port, head('GET', '/api/v1/me', headers(2_001)))).status).toBe(431)
    expect((await sendRaw(master.port, head('GET', '/api/v1/me', [`X-Long: ${'x'.repeat(17_000)}`]))).status).toBe(431)
  })
})

describe('JSON (S6)', () => {
  it.each([
    '',
    'null',
    '5',
    '"x"',
    '[]',
    '[{"payload":{}}]',
    '{',
    '{"payload":{"to":"x"}}}',
    "{'payload':{}}",
    '\ufeff{"payload":{"to":"x"}}',
    '{"payload":{"to":"\u0001"}}',
  ])('returns 400 for a body that is not a JSON object: %j', async (body) => {
    const { status, text } = await sendBody(body)
    expect(status).toBe(400)
    expect(text).toMatch(/\{"detail":"[^"]+"\}$/)
  })

  it('returns 400 for bytes that are not UTF-8', async () => {
    for (const bytes of [[0xff], [0xc0, 0xaf], [0xed, 0xa0, 0x80]]) {
      const body = Buffer.concat([Buffer.from('{"payload":{"to":"'), Buffer.from(bytes), Buffer.from('"}}')])
      expect((await sendBody(body)).status).toBe(400)
    }
  })

  it.each([
    ['depth', `{"payload":{"to":"x","a":${'['.repeat(1_000)}${']'.repeat(1_000)}}}`, `/payload/a${'/0'.repeat(62)}`],
    ['keys', `{"payload":{${Array.from({ length: 10_001 }, (_, index) => `"${index}":1`).join()}}}`, '/payload'],
    ['numbers', '{"payload":{"to":"x","n":1e400}}', '/payload/n'],
  ])('returns 422 with a pointer: %s', async (_, body, pointer) => {
    const reply = await master.call('POST', SUBMIT, { body })
    expect(reply.status).toBe(422)
    expect(paths(reply.json)).toEqual([pointer])
  })

  it('uses the last of duplicate keys, and accepts 2^53+1 as a number', async () => {
    expect((await master.call('POST', SUBMIT, { body: '{"payload":{"to":5},"payload":{"to":"x"}}' })).status).toBe(200)
    expect((await master.call('POST', SUBMIT, { body: '{"payload":{"to":"x","n":9007199254740993}}' })).status).toBe(
      200,
    )
  })
})

describe('forbidden keys (S7)', () => {
  it('are kept unchanged in a payload', async () => {
    const text = '{"payload":{"to":"x","__proto__":{"polluted":true},"constructor":{"prototype":{"polluted":true}}}}'
    expect((await master.call('POST', SUBMIT, { body: text })).status).toBe(200)
    expect((await master.call('GET', '/api/v1/automations/mailer/queue?n=10000')).text).toContain(
      '"__proto__":{"polluted":true},"constructor":{"prototype":{"polluted":true}}',
    )
  })

  it('are rejected by name as fields of a body', async () => {
    const reply = await master.call('POST', SUBMIT, { body: '{"payload":{"to":"x"},"__proto__":{"priority":5}}' })
    expect([reply.status, paths(reply.json)]).toEqual([422, ['/__proto__']])
  })
})

describe('framing (S8)', () => {
  const body = JSON.stringify(GOOD)
  it.each([
    ['length and chunked', head('POST', SUBMIT, [JSON_TYPE, 'Content-Length: 5', 'Transfer-Encoding: chunked'])],
    ['two lengths', head('POST', SUBMIT, [JSON_TYPE, 'Content-Length: 5', 'Content-Length: 6'])],
    ['a signed length', head('POST', SUBMIT, [JSON_TYPE, 'Content-Length: +24']) + body],
    ['bare LF', 'GET /healthz HTTP/1.1\nHost: test\n\n'],
    ['a space before the colon', 'GET /healthz HTTP/1.1\r\nHost : test\r\n\r\n'],
    ['a folded header', 'GET /healthz HTTP/1.1\r\nHost: test\r\nX-A: 1\r\n 2\r\n\r\n'],
    ['no host', 'GET /healthz HTTP/1.1\r\n\r\n'],
    ['unknown coding', head('POST', SUBMIT, [JSON_TYPE, 'Transfer-Encoding: chunked, x'])],
    ['a bad chunk', `${head('POST', SUBMIT, [JSON_TYPE, 'Transfer-Encoding: chunked'])}zz\r\n`],
    ['garbage', '\u0016\u0003\u0001\u0002\u0000\u0001\u0000\r\n\r\n'],
  ])('returns 400 and closes the connection: %s', async (_, bytes) => {
    expect((await sendRaw(master.port, bytes)).status).toBe(400)
  })

  it('accepts a target in absolute form, as a proxy sends it (RFC 9112)', async () => {
    expect((await sendRaw(master.port, head('GET', 'http://evil.example/healthz', [], null))).status).toBe(200)
    expect((await sendRaw(master.port, head('GET', 'http://evil.example/api/v1/me', [], null))).status).toBe(401)
    const { status, text } = await sendRaw(
      master.port,
      head('GET', 'http://evil.example/api/v1/automations/mailer/queue?n=0'),
    )
    expect(status).toBe(422)
    expect(text).toMatch(/^muster-epoch: /im)
  })

  it('does not trust forwarded headers, Host or Origin', async () => {
    const forged = [
      'X-Forwarded-For: 127.0.0.1',
      'X-Forwarded-Host: evil.example',
      'Forwarded: for=127.0.0.1',
      'X-Original-URL: /healthz',
      'X-Rewrite-URL: /healthz',
      'Origin: https://evil.example',
    ]
    expect(
      (await sendRaw(master.port, head('GET', '/api/v1/me', forged, null).replace('Host: test', 'Host: evil.example')))
        .status,
    ).toBe(401)
    const { status, text } = await sendRaw(master.port, head('GET', '/api/v1/me', forged))
    expect([status, text.includes('evil')]).toEqual([200, false])
  })
})

describe('numbers and names (S9)', () => {
  it.each(['-1', '0', '1.5', 'NaN', '1e18', '"5"', 'null', '10001', '5;DROP'])(
    'returns 422 and names the query parameter: n=%s',
    async (n) => {
      const reply = await master.call('GET', `/api/v1/automations/mailer/queue?n=${encodeURIComponent(n)}`)
      expect([reply.status, paths(reply.json)]).toEqual([422, ['/n']])
    },
  )

  it.each(['-1', '0', '1.5', '1e18', '"5"', '10001', 'true', '[1]'])(
    'returns 422 and names the body field: n=%s',
    async (n) => {
      const reply = await master.call('POST', '/api/v1/automations/mailer/output/pop', { body: `{"n":${n}}` })
      expect([reply.status, paths(reply.json)[0]]).toEqual([422, '/n'])
    },
  )

  it.each([
    ['priority', '1.5'],
    ['priority', '2147483648'],
    ['priority', '"5"'],
    ['ttl_seconds', '0'],
    ['ttl_seconds', '1e18'],
    ['max_attempts', '0'],
    ['max_attempts', '1001'],
    ['task_id', '""'],
    ['task_id', '"a\\u0000b"'],
    ['task_id', '"a\\r\\nb"'],
    ['task_id', '5'],
    ['task_id', '"\\ud800"'],
    ['idempotency_key', '"\\u0007"'],
    ['task_id', `"${'x'.repeat(257)}"`],
  ])('returns 422 and names the task field: %s=%s', async (field, value) => {
    const reply = await master.call('POST', SUBMIT, { body: `{"payload":{"to":"x"},"${field}":${value}}` })
    expect([reply.status, new Set(paths(reply.json))]).toEqual([422, new Set([`/${field}`])])
  })

  it('accepts names that have a meaning in other syntaxes as plain data', async () => {
    for (const name of [
      '{}',
      '*',
      'a:b',
      "o'brien",
      '"',
      '%s',
      '../..',
      '$(id)',
      'task {tag}',
      '日本',
      'x'.repeat(256),
    ]) {
      expect((await master.call('POST', SUBMIT, { body: { ...GOOD, task_id: name } })).status).toBe(200)
      expect((await master.call('GET', `${SUBMIT}/${encodeURIComponent(name)}`)).json).toMatchObject({ task_id: name })
    }
  })

  it.each(['%00', 'a%0d%0ab', 'x'.repeat(257), 'a%2fb', '%2e%2e'])(
    'returns 422 for an invalid worker id: %s',
    async (id) => {
      const { status } = await sendRaw(master.port, head('GET', `/api/v1/automations/mailer/workers/${id}`))
      expect(status).toBe(422)
    },
  )
})

describe('errors', () => {
  it('contain only the field detail, identify the request, and are neither cached nor sniffed (D14, D59)', async () => {
    const reply = await master.call('GET', '/api/v1/automations/nowhere/queue')
    expect(Object.keys(reply.json as object)).toEqual(['detail'])
    expect(reply.headers.get('muster-request-id')).toMatch(/^\w+-\w+$/)
    expect(reply.headers.get('cache-control')).toBe('no-store')
    expect(reply.headers.get('x-content-type-options')).toBe('nosniff')
    expect(reply.headers.get('muster-epoch')).not.toBeNull()
    expect(reply.headers.get('x-powered-by')).toBeNull()
  })
})

describe('a pattern in the schema of an automation (S10)', () => {
  it('that backtracks exponentially in other engines returns 422 and blocks no other request', async () => {
    const explosive = (pattern: string) => Type.Optional(Type.String({ pattern }))
    const mailer = defineBatch({
      type: 'mailer',
      payload: Type.Object({ to: explosive('^(a|aa|a?a)+$') }),
      config: Type.Object({ host: explosive('^(a+)+$') }),
      run: async () => {},
    })
    const victim = await startTestMaster({ catalog: buildCatalog([mailer]) })
    try {
      await victim.backend.workers.register([
        { type: 'mailer', id: 'w', conn: 'm/1', instance: '', hardware: '{}', defaults: '{}' },
      ])
      const hostile = `${'a'.repeat(50_000)}!`
      const startedMs = performance.now()
      const statuses = await Promise.all([
        victim.call('POST', SUBMIT, { body: { payload: { to: hostile } } }),
        victim.call('POST', `${SUBMIT}/validate`, { body: { payload: { to: hostile } } }),
        victim.call('PATCH', '/api/v1/automations/mailer/workers/w/config', { body: { host: hostile } }),
        victim.call('GET', '/healthz'),
      ])
      expect(statuses.map(({ status }) => status)).toEqual([422, 200, 422, 200])
      expect(performance.now() - startedMs).toBeLessThan(5_000) // A backtracking engine would not finish.
    } finally {
      await victim.stop()
    }
  })
})
