/** Reads are compressed for clients that accept it, and not sent again to clients that have them (D154). */
import { brotliDecompressSync, gunzipSync } from 'node:zlib'
import { describe, expect, it } from '@jest/globals'
import { chooseCoding } from '../../../src/master/http/content-coding.ts'
import { matchesTag, tagOf } from '../../../src/master/http/entity-tag.ts'
import { buildCatalog, defineBatch, Type } from '../../../src/automation/index.ts'
import { head, runMaster, sendRaw, TOKENS } from '../../kit/running-master.ts'

describe('the coding of a response', () => {
  it.each([
    [undefined, null],
    ['', null],
    ['identity', null],
    ['gzip', 'gzip'],
    ['x-gzip', 'gzip'],
    ['GZIP', 'gzip'],
    ['br', 'br'],
    ['gzip, deflate, br, zstd', 'br'],
    ['gzip;q=1, br;q=0.5', 'gzip'],
    ['gzip ; q=0.2,br\t;\tq=0.9', 'br'],
    ['gzip;q=0', null],
    ['gzip;q=0.000, br;q=0.0', null],
    ['*', 'br'],
    ['*;q=0', null],
    ['br;q=0, *', 'gzip'],
    ['identity;q=0', null],
    ['identity;q=0, gzip', 'gzip'],
    ['identity;q=1, gzip;q=0.5', null],
    ['identity;q=0.5, gzip;q=0.5', 'gzip'],
    ['deflate, compress, zstd', null],
  ] as const)('for %p is %p (D154)', (header, coding) => {
    expect(chooseCoding(header)).toBe(coding)
  })

  it.each([
    'gzip;q=2',
    'gzip;q=-1',
    'gzip;q=0.1234',
    'gzip;q=NaN',
    'gzip;q=',
    'gzip;level=9',
    'gzip br',
    'gz\u0000ip',
    ';q=1',
    ',,,',
    'q=1',
    '"gzip"',
  ])('ignores the malformed item %p', (header) => {
    expect(chooseCoding(header)).toBeNull()
    expect(chooseCoding(`${header}, br`)).toBe('br')
  })

  it('is never one with the weight 0 (D154)', () => {
    expect(['gzip;q=0', 'br;q=0.000, gzip;q=0', '*;q=0'].map(chooseCoding)).toEqual([null, null, null])
  })

  it('is none if the client prefers a plain response (D154)', () => {
    expect(['identity;q=1, gzip;q=0.5', 'identity, br;q=0.9'].map(chooseCoding)).toEqual([null, null])
  })

  it('is found in a header of hostile length without delay', () => {
    const started = performance.now()
    chooseCoding(`${'gzip;q=0.'.repeat(2_000)}, ${' \t;'.repeat(4_000)}`)
    matchesTag('W/"'.repeat(5_000), tagOf([Buffer.from('x')]))
    expect(performance.now() - started).toBeLessThan(100)
  })
})

describe('the tag of a response', () => {
  const tag = tagOf([Buffer.from('{"a":'), Buffer.from('1}')])
  const strong = tag.slice(2)

  it('depends on the body only, and is weak', () => {
    expect(tag).toMatch(/^W\/"[\w-]{22}"$/)
    expect(tagOf([Buffer.from('{"a":1}')])).toBe(tag)
    expect(tagOf([Buffer.from('{"a":2}')])).not.toBe(tag)
  })

  it.each([
    [tag, true],
    [strong, true],
    [`"other", ${tag}`, true],
    [`W/"other",${strong},"more"`, true],
    ['*', true],
    [' * ', true],
    [undefined, false],
    ['', false],
    ['"other"', false],
    ['""', false],
    ['"*"', false],
    [strong.slice(1, -1), false],
    [strong.slice(0, -1), false],
    [`w/${strong.replaceAll('"', '')}`, false],
    [`"x${strong.slice(1)}`, false],
    ['W/W/"', false],
  ])('is compared weakly with %p: %p (D154)', (header, isSame) => {
    expect(matchesTag(header, tag)).toBe(isSame)
  })
})

const FIELDS = Array.from({ length: 40 }, (_, n) => `feature_${n}`)
/** An automation with a long description. */
const large = buildCatalog([
  defineBatch({
    type: 'mailer',
    payload: Type.Object({ to: Type.String(), text: Type.String() }),
    config: Type.Object(Object.fromEntries(FIELDS.map((name) => [name, Type.Boolean({ default: false })]))),
    pools: { accounts: { payload: Type.Object({ user: Type.String() }), tags: Type.Object({}) } },
    run: async () => {},
  }),
])
const TASKS = '/api/v1/automations/mailer/tasks'
const CATALOG = '/api/v1/catalog'

async function serve() {
  const master = await runMaster({ catalog: large })
  const get = async (path: string, lines: readonly string[] = [], method = 'GET') => {
    const { status, text } = await sendRaw(master.port, head(method, path, lines, TOKENS.admin))
    const bytes = Buffer.from(text, 'latin1')
    const end = bytes.indexOf('\r\n\r\n')
    const fields = bytes
      .subarray(0, end)
      .toString()
      .split('\r\n')
      .slice(1)
      .map((line): [string, string] => [
        line.slice(0, line.indexOf(':')).toLowerCase(),
        line.slice(line.indexOf(':') + 2),
      ])
    const headers = new Map(fields)
    const raw = bytes.subarray(end + 4)
    return { status, headers, body: headers.get('transfer-encoding') === 'chunked' ? unchunked(raw) : raw }
  }
  return { master, get }
}

/** Joins the chunks of a body with `Transfer-Encoding: chunked`. */
function unchunked(raw: Buffer): Buffer {
  const parts: Buffer[] = []
  for (let at = 0; ;) {
    const end = raw.indexOf('\r\n', at)
    const size = Number.parseInt(raw.subarray(at, end).toString(), 16)
    if (!(size > 0)) return Buffer.concat(parts)
    parts.push(raw.subarray(end + 2, end + 2 + size))
    at = end + 2 + size + 2
  }
}

const unpacked = ({ headers, body }: { headers: ReadonlyMap<string, string>; body: Buffer }): string => {
  const coding = headers.get('content-encoding')
  if (coding === 'br') return brotliDecompressSync(body).toString()
  return (coding === 'gzip' ? gunzipSync(body) : body).toString()
}

/** Submits tasks, whose list is then a large response. */
async function withTasks(count: number, chars: number) {
  const { master, get } = await serve()
  for (let first = 0; first < count; first += 100) {
    const tasks = Array.from({ length: 100 }, (_, n) => ({
      task_id: `t-${first + n}`,
      payload: { to: `user-${first + n}@example.net`, text: 'x'.repeat(chars) },
    }))
    expect((await master.call('POST', `${TASKS}/batch`, { body: { tasks } })).status).toBe(200)
  }
  return { master, get }
}

const LIST = `${TASKS}?limit=200`

describe('a read', () => {
  it('is sent byte for byte as before to a client that accepts no coding, and without a tag', async () => {
    const { get } = await withTasks(100, 10)
    const plain = await get(CATALOG)
    const identity = await get(CATALOG, ['Accept-Encoding: identity'])
    for (const { status, headers, body } of [plain, identity]) {
      expect([status, headers.get('content-encoding'), headers.get('etag')]).toEqual([200, undefined, undefined])
      expect(Number(headers.get('content-length'))).toBe(body.length)
      expect(headers.get('vary')).toBe('Accept-Encoding')
      expect(JSON.parse(body.toString())).toHaveProperty('mailer')
    }
  })

  it.each(['br', 'gzip'])('is compressed with %s, and is the same after decompression (D154)', async (coding) => {
    const { get } = await serve()
    const plain = await get(CATALOG)
    const compressed = await get(CATALOG, [`Accept-Encoding: ${coding}`])
    expect(compressed.headers.get('content-encoding')).toBe(coding)
    expect(compressed.headers.get('vary')).toBe('Accept-Encoding')
    expect(Number(compressed.headers.get('content-length'))).toBe(compressed.body.length)
    expect(compressed.body.length).toBeLessThan(plain.body.length / 2)
    expect(unpacked(compressed)).toBe(plain.body.toString())
  })

  it('that is small is not compressed, and has neither a tag nor Vary (D154)', async () => {
    const { get } = await serve()
    const { headers, body } = await get('/api/v1/me', ['Accept-Encoding: gzip, br'])
    expect(body.length).toBeLessThan(1_024)
    for (const name of ['content-encoding', 'etag', 'vary'])
      expect([name, headers.get(name)]).toEqual([name, undefined])
  })

  it('that the client has is 304 without a body, with the same tag for every coding (D154)', async () => {
    const { get } = await serve()
    const [br, gzip] = [await get(CATALOG, ['Accept-Encoding: br']), await get(CATALOG, ['Accept-Encoding: gzip'])]
    const tag = br.headers.get('etag') ?? ''
    expect(tag).toMatch(/^W\//)
    expect(gzip.headers.get('etag')).toBe(tag)
    for (const known of [tag, `"other", ${tag}`, '*', tag.slice(2)]) {
      const { status, headers, body } = await get(CATALOG, ['Accept-Encoding: gzip', `If-None-Match: ${known}`])
      expect([status, body.length, headers.get('etag'), headers.get('vary')]).toEqual([304, 0, tag, 'Accept-Encoding'])
      expect([headers.has('content-encoding'), headers.get('cache-control')]).toEqual([false, 'no-store'])
      expect(headers.get('muster-epoch')).toBe(br.headers.get('muster-epoch'))
    }
    expect((await get(CATALOG, [`If-None-Match: ${tag}`])).status).toBe(304)
    const other = await get(CATALOG, ['Accept-Encoding: gzip', 'If-None-Match: W/"other", bad, "'])
    expect([other.status, unpacked(other)]).toEqual([200, unpacked(br)])
  })

  it('has another tag as soon as its body differs (D154)', async () => {
    const { master, get } = await withTasks(100, 20)
    const tagNow = async () => (await get(LIST, ['Accept-Encoding: gzip'])).headers.get('etag')
    const before = await tagNow()
    expect(before).toBeDefined()
    expect(await tagNow()).toBe(before)
    await master.call('POST', TASKS, {
      body: { task_id: 'one-more', payload: { to: 'a', text: '' } },
    })
    expect(await tagNow()).not.toBe(before)
  })

  it('of HEAD has the head of the plain body', async () => {
    const { get } = await serve()
    const plain = await get(CATALOG)
    const { status, headers, body } = await get(CATALOG, ['Accept-Encoding: br'], 'HEAD')
    expect([status, body.length, headers.get('content-encoding')]).toEqual([200, 0, undefined])
    expect(Number(headers.get('content-length'))).toBe(plain.body.length)
  })

  it('in several chunks is compressed while it is sent, and 304 if the client has it (D154)', async () => {
    const { get } = await withTasks(200, 1_000)
    const plain = await get(LIST)
    expect(plain.body.length).toBeGreaterThan(100_000)
    for (const coding of ['br', 'gzip']) {
      const compressed = await get(LIST, [`Accept-Encoding: ${coding}`])
      expect(compressed.headers.get('content-encoding')).toBe(coding)
      expect(compressed.body.length).toBeLessThan(plain.body.length / 10)
      expect(JSON.parse(unpacked(compressed))).toEqual(JSON.parse(plain.body.toString()))
      const again = await get(LIST, [`Accept-Encoding: ${coding}`, `If-None-Match: ${compressed.headers.get('etag')}`])
      expect([again.status, again.body.length]).toEqual([304, 0])
    }
  })
})

describe('what is never compressed', () => {
  const ACCEPT = ['Accept-Encoding: br, gzip']

  it('is a pool, whose items are credentials (D154)', async () => {
    const { master, get } = await serve()
    const items = Array.from({ length: 100 }, (_, n) => ({
      id: `i-${n}`,
      payload: JSON.stringify({ user: `u-${n}` }),
      tags: '{}',
      expiresAtMs: null,
    }))
    await master.backend.pools.put('accounts', items)
    const { status, headers, body } = await get('/api/v1/pools/accounts', ACCEPT)
    expect([status, body.length > 1_024, headers.get('content-encoding')]).toEqual([200, true, undefined])
    expect((await get('/api/v1/pools/accounts', [...ACCEPT, 'If-None-Match: *'])).status).toBe(304)
  })

  it('is the response to a change, to a worker, and to a request without a token (D154)', async () => {
    const { master } = await serve()
    const tasks = Array.from({ length: 100 }, (_, n) => ({ task_id: `t-${n}`, payload: { to: 'a', text: '' } }))
    const batch = JSON.stringify({ tasks })
    const lines = [...ACCEPT, 'Content-Type: application/json', `Content-Length: ${batch.length}`]
    const submitted = await sendRaw(master.port, head('POST', `${TASKS}/batch`, lines, TOKENS.admin) + batch)
    const cancel = JSON.stringify({ action: 'cancel', task_ids: tasks.map(({ task_id: id }) => id) })
    const sized = [...lines.slice(0, -1), `Content-Length: ${cancel.length}`]
    const cancelled = await sendRaw(master.port, head('POST', `${TASKS}/select`, sized, TOKENS.admin) + cancel)
    const document = await sendRaw(master.port, head('GET', '/api/v1/openapi.json', ACCEPT, null))
    for (const { status, text } of [submitted, cancelled, document]) {
      expect([status, text.length > 1_024]).toEqual([200, true])
      expect(text.split('\r\n\r\n')[0]).not.toMatch(/content-encoding|etag/i)
    }
  })

  it('is the event stream (D154)', async () => {
    const { master } = await serve()
    const stop = new AbortController()
    const response = await fetch(`${master.url}/api/v1/events`, {
      headers: { authorization: `Bearer ${TOKENS.admin}`, 'accept-encoding': 'br, gzip', 'if-none-match': '*' },
      signal: stop.signal,
    })
    expect([response.status, response.headers.get('content-encoding')]).toEqual([200, null])
    stop.abort()
  })
})
