import { advanceUntil, runTurns } from '../../kit/index.ts'
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals'
import { identityFromText, KubeError, type KubeRequest, type WatchLine } from '../../../src/operator/kube/index.ts'
import { LineReader, MAX_LINE_BYTES } from '../../../src/operator/kube/line-reader.ts'
import { PROBES } from '../fake-apiserver.ts'
import { created, edited, transportTo, kubeFixture, type KubeFixture } from './fixture.ts'

const PATH = '/apis/conformance.muster.dev/v1/namespaces/ns/probes'
const list: KubeRequest = { method: 'GET', path: PATH }
const never = new AbortController().signal
let w: KubeFixture

beforeEach(async () => {
  w = await kubeFixture()
})
afterEach(() => w.close())

const failure = async (call: Promise<unknown>): Promise<KubeError> => {
  const error = await call.then(
    () => undefined,
    (thrown: unknown) => thrown,
  )
  if (!(error instanceof KubeError)) throw new Error(`expected a KubeError, got ${String(error)}`)
  return error
}

/** Reads a watch in the background. */
function watching(query: KubeRequest['query'] = {}): {
  readonly lines: WatchLine[]
  readonly ended: Promise<unknown>
  isOver: boolean
} {
  const state = { lines: [] as WatchLine[], isOver: false, ended: Promise.resolve<unknown>(undefined) }
  state.ended = (async () => {
    for await (const line of w.transport.lines({ ...list, query: { watch: true, ...query } }, w.abort.signal))
      state.lines.push(line)
  })()
    .catch((error: unknown) => error)
    .finally(() => {
      state.isOver = true
    })
  return state
}

describe('a call to the API server', () => {
  it('reads its credentials once a second, because they may come from files', async () => {
    await w.transport.json(list, never)
    w.credentials.current = { authorization: 'Bearer rotated', tls: {} }
    await w.transport.json(list, never)
    await w.time.advance(1_000)
    await w.transport.json(list, never)
    expect(w.fake.requests.map(({ headers }) => headers.authorization)).toEqual([
      'Bearer first',
      'Bearer first',
      'Bearer rotated',
    ])
  })

  it('reads its credentials again after a 401', async () => {
    w.fake.token = 'rotated'
    await failure(w.transport.json(list, never))
    w.credentials.current = { authorization: 'Bearer rotated', tls: {} }
    expect(await w.transport.json(list, never)).toMatchObject({ status: 200 })
  })

  it('times out after 15 s if its body does not end', async () => {
    w.fake.script({}, { kind: 'answer', status: 200, body: '{', headers: { 'content-length': '100' } })
    const call = failure(w.transport.json(list, never))
    await advanceUntil(w.time, 'the call is sent', () => w.fake.requests.length === 1)
    let isOver = false
    void call.finally(() => (isOver = true))
    await w.time.advance(14_000)
    expect(isOver).toBe(false)
    await w.time.advance(1_000)
    expect(await call).toMatchObject({ status: 0, reason: 'NoResponse' })
  })

  it('keeps its connections, and opens a new pool for another TLS identity', async () => {
    for (let call = 0; call < 20; call += 1) await w.transport.json(list, never)
    expect(w.fake.socketCount).toBeLessThanOrEqual(2) // One may still be busy when the next call starts.
    w.credentials.current = { authorization: undefined, tls: { servername: 'other' } }
    await w.time.advance(1_000)
    await w.transport.json(list, never)
    await advanceUntil(w.time, 'the old pool is drained', () => w.fake.socketCount === 1)
    expect(w.fake.requests).toHaveLength(21)
  })

  it('opens at most 160 connections', async () => {
    let release = (): void => {}
    w.fake.script(
      {},
      {
        kind: 'delay',
        until: new Promise<void>((resolve) => {
          release = resolve
        }),
      },
      200,
    )
    const calls = Array.from({ length: 200 }, () => w.transport.json(list, never))
    await advanceUntil(w.time, 'the first calls are sent', () => w.fake.requests.length >= 160)
    await runTurns()
    expect(w.fake.socketCount).toBe(160)
    release()
    expect(await Promise.all(calls)).toHaveLength(200)
  })

  it("throws the API server's error, with its Retry-After", async () => {
    w.fake.script({}, { kind: 'refuse', status: 429, reason: 'TooManyRequests', retryAfter: 7 })
    expect(await failure(w.transport.json(list, never))).toMatchObject({
      status: 429,
      reason: 'TooManyRequests',
      retryAfterMs: 7_000,
    })
    w.fake.script({}, { kind: 'answer', status: 502, body: '<html>a proxy</html>' })
    expect(await failure(w.transport.json(list, never))).toMatchObject({
      status: 502,
      reason: 'Status502',
      retryAfterMs: 0,
      requestedWaitMs: undefined,
    })
  })

  it('follows no redirect', async () => {
    w.fake.script({}, { kind: 'answer', status: 307, headers: { location: w.fake.url }, body: '' })
    expect(await failure(w.transport.json(list, never))).toMatchObject({ status: 307 })
    expect(w.fake.requests).toHaveLength(1)
  })

  it('repeats a GET once when its connection broke, and nothing else', async () => {
    w.fake.script({}, { kind: 'break' })
    expect((await w.transport.json(list, never)).status).toBe(200)
    w.fake.script({}, { kind: 'break' }, 2)
    expect(await failure(w.transport.json(list, never))).toMatchObject({ status: 0, reason: 'NoResponse' })
    w.fake.script({ method: 'POST' }, { kind: 'lose' })
    const post: KubeRequest = { method: 'POST', path: PATH, body: { metadata: { name: 'a' }, spec: { type: 'a' } } }
    expect(await failure(w.transport.json(post, never))).toMatchObject({ status: 0, reason: 'NoResponse' })
    expect(w.fake.seen('POST')).toHaveLength(1)
    expect(w.fake.store.list(PROBES, 'ns')).toHaveLength(1) // It took effect: the result is unknown, not failed.
  })

  it('times out after 10 s without headers', async () => {
    w.fake.script({}, { kind: 'hang' })
    const call = failure(w.transport.json(list, never))
    await advanceUntil(w.time, 'the call is sent', () => w.fake.requests.length === 1)
    await w.time.advance(10_000)
    expect(await call).toMatchObject({ status: 0, reason: 'NoResponse' })
  })

  it('is aborted with its signal', async () => {
    w.fake.script({}, { kind: 'hang' })
    const abort = new AbortController()
    const call = w.transport.json(list, abort.signal)
    await advanceUntil(w.time, 'the call is sent', () => w.fake.requests.length === 1)
    abort.abort(new Error('the term is over'))
    await expect(call).rejects.toThrow('the term is over')
  })

  it('provides the clock of the API server, and counts responses', async () => {
    const requests: string[][] = []
    const transport = transportTo(w.fake, w.time, w.credentials, (...each) => requests.push(each))
    const { dateMs } = await transport.json(list, never)
    expect(dateMs).toBe(w.time.wallMs())
    w.fake.script({ method: 'PUT' }, { kind: 'break' })
    await failure(transport.json({ method: 'PUT', path: `${PATH}/a`, body: {} }, never))
    expect(requests).toEqual([
      ['GET', '200', new URL(w.fake.url).host],
      ['PUT', '<error>', new URL(w.fake.url).host],
    ])
    await transport.close()
  })

  it('never includes the token in an error', async () => {
    w.credentials.current = { authorization: 'Bearer canary-4711', tls: {} }
    w.fake.token = 'another'
    const error = await failure(w.transport.json(list, never))
    expect(error.status).toBe(401)
    w.fake.script({}, { kind: 'break' }, 2)
    const broken = await failure(w.transport.json(list, never))
    for (const each of [error, broken])
      expect(`${JSON.stringify(each)} ${each.stack} ${String(each.cause)}`).not.toContain('canary')
  })
})

describe('a watch', () => {
  it('delivers lines, also if a character or a line is split over two chunks', async () => {
    const watch = watching()
    await advanceUntil(w.time, 'the watch is open', () => w.fake.watchCount === 1)
    const bytes = Buffer.from(`${JSON.stringify({ type: 'ADDED', object: { metadata: { name: 'grün-😀' } } })}\n`)
    for (let at = 0; at < bytes.length; at += 1) {
      w.fake.sendRaw(bytes.subarray(at, at + 1))
      await runTurns(2)
    }
    await advanceUntil(w.time, 'the line arrives', () => watch.lines.length === 1)
    expect(watch.lines).toEqual([{ type: 'ADDED', object: { metadata: { name: 'grün-😀' } } }])
  })

  it('ends when the server closes it', async () => {
    const watch = watching()
    await advanceUntil(w.time, 'the watch is open', () => w.fake.watchCount === 1)
    created(w, 'a')
    edited(w, 'a', { slots: 2 })
    w.fake.endWatches()
    expect(await watch.ended).toBeUndefined()
    expect(watch.lines.map(({ type }) => type)).toEqual(['ADDED', 'MODIFIED'])
  })

  it('is closed after 90 s of silence, and not before: half-open', async () => {
    const watch = watching({ allowWatchBookmarks: true })
    await advanceUntil(w.time, 'the watch is open', () => w.fake.watchCount === 1)
    for (let minute = 0; minute < 3; minute += 1) {
      await w.time.advance(60_000)
      w.fake.bookmark()
      await advanceUntil(w.time, 'a bookmark arrives', () => watch.lines.length === minute + 1)
    }
    w.fake.silenceWatches()
    await w.time.advance(89_000)
    expect(watch.isOver).toBe(false)
    await w.time.advance(2_000)
    expect(await watch.ended).toMatchObject({ reason: 'Idle' })
  })

  it.each([
    ['not JSON', '{"type":\n'],
    ['not an event', '{"type":"ADDED"}\n'],
    ['longer than 4 MiB', `{"x":"${'x'.repeat(MAX_LINE_BYTES)}`],
  ])('rejects a line that is %s', async (_, bytes) => {
    const watch = watching()
    await advanceUntil(w.time, 'the watch is open', () => w.fake.watchCount === 1)
    w.fake.sendRaw(bytes)
    expect(await watch.ended).toMatchObject({ name: 'KubeError', reason: 'UnreadableLine' })
  })

  it('fails when the connection is cut in the middle of a line', async () => {
    const watch = watching()
    await advanceUntil(w.time, 'the watch is open', () => w.fake.watchCount === 1)
    w.fake.sendRaw('{"type":"ADD', true)
    expect(await watch.ended).toMatchObject({ reason: 'NoResponse' })
    expect(watch.lines).toEqual([])
  })

  it('leaves capacity for calls, however many watches are open', async () => {
    for (let index = 0; index < 20; index += 1) watching()
    await advanceUntil(w.time, 'the watches are open', () => w.fake.watchCount === 20)
    expect((await w.transport.json(list, never)).status).toBe(200)
  })
})

describe('the line reader', () => {
  it('finds the same lines for any chunking of the bytes', () => {
    const text = '{"a":"ä😀"}\n\n{"b":1}\r\n{"c":2}\nrest'
    const bytes = Buffer.from(text)
    for (let size = 1; size <= bytes.length; size += 1) {
      const reader = new LineReader()
      const lines: string[] = []
      for (let at = 0; at < bytes.length; at += size) lines.push(...reader.push(bytes.subarray(at, at + size)))
      expect(lines.map((line) => line.trim())).toEqual(['{"a":"ä😀"}', '{"b":1}', '{"c":2}'])
    }
  })
})

describe('the identity of the operator', () => {
  const text = (cluster: string, user: string): string => `apiVersion: v1
kind: Config
current-context: c
clusters: [{name: k, cluster: {server: "https://kube.example:6443/prefix", ${cluster}}}]
users: [{name: u, user: {${user}}}]
contexts: [{name: c, context: {cluster: k, user: u, namespace: fleet}}]`

  it('is read from a kubeconfig', async () => {
    const identity = identityFromText(
      text(
        `certificate-authority-data: ${Buffer.from('the CA').toString('base64')}, tls-server-name: inner`,
        'token: t0',
      ),
    )
    expect([identity.server.href, identity.namespace]).toEqual(['https://kube.example:6443/prefix', 'fleet'])
    expect(await identity.credentials()).toEqual({
      authorization: 'Bearer t0',
      tls: { ca: 'the CA', servername: 'inner' },
    })
  })

  it('rejects a proxy setting, which it would bypass', () => {
    expect(() => identityFromText(text('proxy-url: "http://proxy.example"', 'token: t0'))).toThrow('proxy-url')
  })
})
