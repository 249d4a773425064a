import { advanceUntil, runTurns } from '../../kit/index.ts'
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals'
import { getEventListeners } from 'node:events'
import {
  ApplyStatusWriter,
  KubeError,
  refOf,
  WritableCache,
  type KubeRequest,
  type KubeTransport,
} from '../../../src/operator/kube/index.ts'
import { PROBES } from '../fake-apiserver.ts'
import {
  created,
  edited,
  PROBE,
  probe,
  random,
  scripted,
  kubeFixture,
  type Probe,
  type KubeFixture,
} from './fixture.ts'

interface Status {
  readonly observedGeneration: number
  readonly state?: string
  readonly conditions?: readonly object[]
  readonly seen?: number
}

let w: KubeFixture
let cache: WritableCache<Probe>
let term: AbortController
let mayWrite: boolean
let kinds: string[]

beforeEach(async () => {
  w = await kubeFixture()
  cache = new WritableCache<Probe>()
  term = new AbortController()
  mayWrite = true
  kinds = []
})
afterEach(async () => {
  term.abort(new Error('over'))
  await w.close()
})

const writerOver = (transport: KubeTransport): ApplyStatusWriter<Probe, Status> =>
  new ApplyStatusWriter<Probe, Status>({
    transport,
    clock: w.time,
    timers: w.time,
    random: random(),
    log: w.log,
    resource: PROBE,
    fieldManager: 'muster-operator',
    signal: term.signal,
    cache,
    mayWrite: () => mayWrite,
    meaningOf: (status) => ({ ...status, seen: 0 }),
    onWrite: (kind) => kinds.push(kind),
  })

/** Creates a probe in the API server and in the cache. */
function known(name: string): Probe {
  cache.offer(created(w, name))
  return cache.get(`ns/${name}`) ?? probe(name)
}

const writes = () => w.fake.seen('PATCH', /status$/)
const statusOf = (name: string) => w.fake.store.get({ kind: PROBES, namespace: 'ns', name }).status
const inForce: Status = { observedGeneration: 1, state: 'IDLE' }

/** As {@link known}, with a status that was written for its last edit more than 10 s ago. */
async function settled(writer: ApplyStatusWriter<Probe, Status>, name: string): Promise<Probe> {
  writer.put(refOf(known(name)), { observedGeneration: 1 }, 'transition')
  await advanceUntil(w.time, 'the first status is written', () => kinds.length === 1)
  await w.time.advance(10_000)
  kinds = []
  return cache.get(`ns/${name}`) ?? probe(name)
}

describe('the status writer', () => {
  it('sends the first status after an edit immediately, and others of the next 10 s', async () => {
    const writer = writerOver(w.transport)
    const object = known('a')
    const sent: number[] = []
    const put = async (status: Status): Promise<void> => {
      writer.put(refOf(object), status, 'transition')
      const startedMs = w.time.monotonicMs()
      await advanceUntil(w.time, 'the status is written', () => kinds.length === sent.length + 1)
      sent.push(w.time.monotonicMs() - startedMs)
    }
    await put(inForce)
    await w.time.advance(9_000)
    await put({ ...inForce, state: 'RUNNING' })
    await w.time.advance(10_000)
    await put({ ...inForce, state: 'ERROR' })
    expect(sent.map((ms) => ms < 10)).toEqual([true, true, false])
  })

  it('waits 500 ms to batch changes without an edit, then applies the latest as a whole with the version', async () => {
    const writer = writerOver(w.transport)
    const object = await settled(writer, 'a')
    const before = writes().length
    writer.put(
      refOf(object),
      { observedGeneration: 1, state: 'ERROR', conditions: [{ type: 'Stalled' }] },
      'transition',
    )
    await w.time.advance(400)
    writer.put(refOf(object), inForce, 'transition')
    expect(writes()).toHaveLength(before)
    await w.time.advance(100)
    await advanceUntil(w.time, 'the status is written', () => kinds.length === 1)
    expect(
      writes()
        .slice(before)
        .map(({ query, headers, body }) => [
          query.get('fieldManager'),
          query.get('force'),
          headers['content-type'],
          body,
        ]),
    ).toEqual([
      [
        'muster-operator',
        'true',
        'application/apply-patch+yaml',
        {
          apiVersion: 'conformance.muster.dev/v1',
          kind: 'Probe',
          metadata: { name: 'a', namespace: 'ns', resourceVersion: object.metadata.resourceVersion },
          status: inForce,
        },
      ],
    ])
    expect(cache.get('ns/a')?.status).toEqual(inForce)
  })

  it('waits at most 30 s for Retry-After, and logs the requested time', async () => {
    const writer = writerOver(w.transport)
    const ref = refOf(known('a'))
    w.fake.script(
      { method: 'PATCH', path: /status$/ },
      { kind: 'refuse', status: 429, reason: 'TooManyRequests', retryAfter: 3_600 },
    )
    writer.put(ref, inForce, 'transition')
    await advanceUntil(w.time, 'the rejection has arrived', () => w.log.lines.length === 1)
    expect(w.log.lines[0]).toMatchObject({
      level: 'warn',
      fields: { status: 429, requested_wait_ms: 3_600_000, wait_ms: expect.any(Number) },
    })
    await w.time.advance(20_000)
    expect(kinds).toEqual([])
    await w.time.advance(10_001)
    await advanceUntil(w.time, 'the status is written', () => kinds.length === 1)
  })

  it('removes a condition that it omits, and nothing of another manager', async () => {
    const writer = writerOver(w.transport)
    const ref = refOf(known('a'))
    w.fake.store.patch(
      { kind: PROBES, namespace: 'ns', name: 'a' },
      'status',
      'application/apply-patch+yaml',
      { status: { conditions: [{ type: 'Theirs', status: 'True' }] } },
      'other',
      false,
    )
    cache.offer(w.fake.store.get({ kind: PROBES, namespace: 'ns', name: 'a' }))
    writer.put(
      ref,
      {
        observedGeneration: 1,
        conditions: [
          { type: 'Ready', status: 'False' },
          { type: 'Stalled', status: 'True' },
        ],
      },
      'transition',
    )
    await advanceUntil(w.time, 'the first is written', () => kinds.length === 1)
    writer.put(ref, { observedGeneration: 1, conditions: [{ type: 'Ready', status: 'True' }] }, 'transition')
    await advanceUntil(w.time, 'the second is written', () => kinds.length === 2)
    expect(statusOf('a')?.['conditions']).toEqual([
      { type: 'Theirs', status: 'True' },
      { type: 'Ready', status: 'True' },
    ])
  })

  it('writes nothing when nothing differs, also after a restart', async () => {
    const object = known('a')
    const first = writerOver(w.transport)
    first.put(refOf(object), inForce, 'transition')
    await advanceUntil(w.time, 'the status is written', () => kinds.length === 1)
    const second = writerOver(w.transport)
    for (let pass = 0; pass < 130; pass += 1) {
      second.put(refOf(object), { state: 'IDLE', observedGeneration: 1 }, 'transition')
      await w.time.advance(1_000)
    }
    await runTurns() // Longer than two heartbeats.
    expect(writes()).toHaveLength(1)
  })

  it('writes once if another manager has added something that it cannot remove', async () => {
    const writer = writerOver(w.transport)
    const ref = refOf(known('a'))
    w.fake.store.patch(
      { kind: PROBES, namespace: 'ns', name: 'a' },
      'status',
      'application/merge-patch+json',
      { status: { slots: 99 } },
      'by hand',
      false,
    )
    cache.offer(w.fake.store.get({ kind: PROBES, namespace: 'ns', name: 'a' }))
    for (let pass = 0; pass < 50; pass += 1) {
      writer.put(ref, inForce, 'transition')
      await w.time.advance(1_000)
      await runTurns()
    }
    expect(writes()).toHaveLength(1)
    expect(statusOf('a')).toEqual({ ...inForce, slots: 99 })
    w.fake.store.patch(
      { kind: PROBES, namespace: 'ns', name: 'a' },
      'status',
      'application/merge-patch+json',
      { status: { state: 'HACKED' } },
      'by hand',
      false,
    )
    cache.offer(w.fake.store.get({ kind: PROBES, namespace: 'ns', name: 'a' }))
    writer.put(ref, inForce, 'transition')
    await advanceUntil(w.time, 'it is restored', () => statusOf('a')?.['state'] === 'IDLE')
  })

  it('sends a flushed status immediately, and returns whether it arrived', async () => {
    const writer = writerOver(w.transport)
    const object = known('a')
    expect(await writer.flushNow(refOf(object), term.signal)).toBe(true)
    writer.put(refOf(object), inForce, 'transition')
    expect(await writer.flushNow(refOf(object), term.signal)).toBe(true)
    expect([statusOf('a'), w.time.monotonicMs()]).toEqual([inForce, 0])
    w.fake.script({ path: /status$/ }, { kind: 'refuse', status: 500 })
    writer.put(refOf(object), { observedGeneration: 2 }, 'transition')
    expect(await writer.flushNow(refOf(object), term.signal)).toBe(false)
    await advanceUntil(w.time, 'it is sent again', () => statusOf('a')?.['observedGeneration'] === 2)
  })

  it('leaves no listener on the signal of a flush', async () => {
    const writer = writerOver(w.transport)
    const [object, pass] = [known('a'), new AbortController()]
    writer.put(refOf(object), inForce, 'transition')
    expect(await writer.flushNow(refOf(object), pass.signal)).toBe(true)
    expect(getEventListeners(pass.signal, 'abort')).toEqual([])
  })

  it('withdraws a status that is no longer wanted', async () => {
    const writer = writerOver(w.transport)
    const object = await settled(writer, 'a')
    writer.put(refOf(object), inForce, 'transition')
    writer.put(refOf(object), { observedGeneration: 1 }, 'transition')
    await w.time.advance(5_000)
    expect(kinds).toEqual([])
  })

  it('never writes to a newer object of the same name', async () => {
    const writer = writerOver(w.transport)
    const object = known('a')
    writer.put(refOf(object), inForce, 'transition')
    w.fake.store.delete({ kind: PROBES, namespace: 'ns', name: 'a' }, undefined)
    created(w, 'a')
    await w.time.advance(500)
    await advanceUntil(w.time, 'the write was rejected', () => writes().length === 1)
    await runTurns()
    cache.remove(object)
    cache.offer(w.fake.store.get({ kind: PROBES, namespace: 'ns', name: 'a' }))
    await w.time.advance(60_000)
    await runTurns()
    expect(writes()).toHaveLength(1)
    expect(statusOf('a')).toEqual({ observedGeneration: -1 })
  })

  it('drops the status of a deleted object', async () => {
    const writer = writerOver(w.transport)
    const object = known('a')
    w.fake.store.delete({ kind: PROBES, namespace: 'ns', name: 'a' }, undefined)
    writer.put(refOf(object), inForce, 'transition')
    await advanceUntil(w.time, 'the write was tried', () => writes().length === 1)
    await runTurns()
    await w.time.advance(120_000)
    expect(writes()).toHaveLength(1)
  })

  it.each([409, 429, 500, 503])('retries after %d, and the latest status wins', async (status) => {
    const writer = writerOver(w.transport)
    const object = known('a')
    w.fake.script({ method: 'PATCH' }, { kind: 'refuse', status })
    writer.put(refOf(object), { observedGeneration: 1, state: 'ERROR' }, 'transition')
    await advanceUntil(w.time, 'the rejection has arrived', () => writes().length === 1)
    writer.put(refOf(object), inForce, 'transition')
    await advanceUntil(w.time, 'it is written', () => kinds.length === 1)
    expect(statusOf('a')).toMatchObject(inForce)
  })

  it('does not write again if the response was lost and the watch shows that the write took effect', async () => {
    const writer = writerOver(w.transport)
    w.fake.script({ method: 'PATCH' }, { kind: 'lose' })
    writer.put(refOf(known('a')), { observedGeneration: 1, state: 'IDLE' }, 'transition')
    await advanceUntil(w.time, 'it took effect', () => statusOf('a')?.['state'] === 'IDLE')
    await runTurns()
    cache.offer(w.fake.store.get({ kind: PROBES, namespace: 'ns', name: 'a' }))
    await w.time.advance(120_000)
    expect(writes()).toHaveLength(1)
    expect(w.time.pending).toBe(0)
  })

  it('logs a rejected status once, and does not retry', async () => {
    const writer = writerOver(w.transport)
    w.fake.script({ method: 'PATCH' }, { kind: 'refuse', status: 422, reason: 'Invalid' })
    writer.put(refOf(known('a')), inForce, 'transition')
    await advanceUntil(w.time, 'the rejection is logged', () => w.log.lines.length === 1)
    await w.time.advance(60_000)
    expect(writes()).toHaveLength(1)
  })

  it('writes nothing without leadership, and nothing after the term', async () => {
    const writer = writerOver(w.transport)
    mayWrite = false
    writer.put(refOf(known('a')), inForce, 'transition')
    await w.time.advance(5_000)
    mayWrite = true
    writer.put(refOf(known('b')), inForce, 'transition')
    term.abort(new Error('the lease was lost'))
    writer.put(refOf(known('c')), inForce, 'transition')
    await w.time.advance(120_000)
    expect(writes()).toEqual([])
    expect(w.time.pending).toBe(0)
  })

  it('keeps a status while writes are temporarily not permitted', async () => {
    const writer = writerOver(w.transport)
    mayWrite = false
    writer.put(refOf(known('a')), inForce, 'transition')
    await w.time.advance(3_000)
    mayWrite = true
    await advanceUntil(w.time, 'it is written', () => kinds.length === 1)
    expect(statusOf('a')).toMatchObject(inForce)
  })

  it('aborts an open write at the end of the term: lease lost mid-write', async () => {
    const writer = writerOver(w.transport)
    w.fake.script({ method: 'PATCH' }, { kind: 'hang' })
    writer.put(refOf(known('a')), inForce, 'transition')
    await advanceUntil(w.time, 'the write is sent', () => writes().length === 1)
    const endedMs = w.time.monotonicMs()
    term.abort(new Error('the lease was lost'))
    await advanceUntil(w.time, 'the timers are cleared', () => w.time.pending === 0)
    expect(w.time.monotonicMs() - endedMs).toBeLessThan(5_000) // A call that hangs ends after 10 s.
    await w.time.advance(60_000)
    expect(writes()).toHaveLength(1)
    expect(w.log.lines).toEqual([])
  })

  it('puts responses into the cache', async () => {
    const writer = writerOver(w.transport)
    const ref = refOf(known('a'))
    writer.put(ref, inForce, 'transition')
    await advanceUntil(w.time, 'it is written', () => kinds.length === 1)
    expect(cache.get('ns/a')).toMatchObject({
      status: inForce,
      metadata: { generation: 1, resourceVersion: String(w.fake.store.version) },
    })
  })

  it('retries with the version of the watch, after an edit that it had not seen', async () => {
    const writer = writerOver(w.transport)
    const ref = refOf(known('a'))
    edited(w, 'a', { slots: 5 })
    writer.put(ref, inForce, 'transition')
    await advanceUntil(w.time, 'the write was rejected', () => writes().length === 1)
    await runTurns()
    cache.offer(w.fake.store.get({ kind: PROBES, namespace: 'ns', name: 'a' }))
    await advanceUntil(w.time, 'it is written', () => kinds.length === 1)
    expect(cache.get('ns/a')).toMatchObject({ spec: { slots: 5 }, metadata: { generation: 2 } })
  })

  it('returns a waiting status until it is sent, but no heartbeat', async () => {
    const writer = writerOver(w.transport)
    const [object, beating] = [await settled(writer, 'a'), known('b')]
    writer.put(refOf(object), inForce, 'transition')
    writer.put(refOf(beating), inForce, 'heartbeat')
    expect(
      [object, { metadata: { ...object.metadata, uid: 'another' } }, beating].map((each) => writer.isDue(each)),
    ).toEqual([true, false, false])
    await advanceUntil(w.time, 'the status is written', () => kinds.length === 1)
    expect(writer.isDue(object)).toBe(false)
  })

  it('recognizes its own status while the write is open', async () => {
    const writer = writerOver(w.transport)
    const object = await settled(writer, 'a')
    let release = (): void => {}
    w.fake.script(
      { method: 'PATCH' },
      {
        kind: 'delay',
        until: new Promise<void>((resolve) => {
          release = resolve
        }),
      },
    )
    writer.put(refOf(object), inForce, 'transition')
    expect(writer.isSending({ ...object, status: inForce })).toBe(false)
    await advanceUntil(w.time, 'the write is sent', () => writes().length === 2)
    expect(writer.isSending({ ...object, status: inForce })).toBe(true)
    expect(writer.isSending({ ...object, status: { by: 'hand' } })).toBe(false)
    release()
    await advanceUntil(w.time, 'it is written', () => kinds.length === 1)
    expect(writer.isSending({ ...object, status: inForce })).toBe(false)
  })

  it('flushes transitions immediately, and heartbeats not at all', async () => {
    const writer = writerOver(w.transport)
    writer.put(refOf(known('a')), inForce, 'transition')
    writer.put(refOf(known('b')), { observedGeneration: -1, seen: 1 }, 'heartbeat')
    await writer.flush(new AbortController().signal)
    expect(kinds).toEqual(['transition'])
    await w.time.advance(600_000)
    expect(kinds).toEqual(['transition'])
  })
})

describe('the rate limits of the status writer', () => {
  /** A transport that records the time of each write and responds immediately. */
  function counting(answerAfterMs = 0): { readonly transport: KubeTransport; readonly sentMs: number[]; most: number } {
    const state = {
      sentMs: [] as number[],
      most: 0,
      transport: scripted(async () => {
        throw new Error('not yet')
      }),
    }
    let open = 0
    state.transport = scripted(async ({ body }: KubeRequest) => {
      state.sentMs.push(w.time.monotonicMs())
      state.most = Math.max(state.most, (open += 1))
      if (answerAfterMs > 0) await w.time.sleep(answerAfterMs)
      open -= 1
      const { metadata, status } = body as Probe
      const version = String(1_000 + state.sentMs.length)
      return {
        status: 200,
        body: {
          ...probe(metadata.name),
          metadata: { ...probe(metadata.name).metadata, resourceVersion: version },
          status,
        } as never,
        dateMs: undefined,
        bytes: 1,
      }
    })
    return state
  }

  function many(count: number, status?: Status): readonly Probe[] {
    return Array.from({ length: count }, (_, index) => {
      const object = probe(`p${index}`, {}, status === undefined ? {} : { status })
      cache.offer(object)
      return object
    })
  }

  const LATER: Status = { observedGeneration: 1, state: 'ERROR' }

  it('has as many transitions in flight as the API server takes', async () => {
    const near = counting()
    const writer = writerOver(near.transport)
    for (const object of many(1_000, LATER)) writer.put(refOf(object), inForce, 'transition')
    await w.time.advance(1_000)
    expect(near.sentMs).toHaveLength(1_000)
    const distant = counting(100)
    const second = writerOver(distant.transport)
    for (const object of many(1_000)) second.put(refOf(object), LATER, 'transition')
    await w.time.advance(550)
    expect(distant.most).toBe(4)
    await w.time.advance(10_000)
    expect(distant.sentMs).toHaveLength(1_000)
    expect(distant.most).toBeGreaterThan(12)
  })

  it('has fewer in flight after the API server refuses some', async () => {
    let open = 0
    let most = 0
    let refusals = 1
    const { transport } = counting()
    const writer = writerOver(
      scripted(async (request: KubeRequest) => {
        most = Math.max(most, (open += 1))
        await w.time.sleep(100)
        open -= 1
        if ((refusals -= 1) >= 0) throw new KubeError(429, 'TooManyRequests', 'slow down')
        return transport.json(request, term.signal)
      }),
    )
    for (const object of many(1_000, LATER)) writer.put(refOf(object), inForce, 'transition')
    await w.time.advance(650)
    most = 0
    await w.time.advance(200)
    expect(most).toBe(2)
    await w.time.advance(30_000)
    expect(kinds).toHaveLength(1_000)
  })

  it('has 12 more in flight for edits', async () => {
    const slow = counting(60_000)
    const writer = writerOver(slow.transport)
    for (const object of many(100, LATER)) writer.put(refOf(object), inForce, 'transition')
    await w.time.advance(1_000)
    expect(slow.most).toBe(4)
    for (let index = 0; index < 20; index += 1) {
      const object = probe(`new${index}`)
      cache.offer(object)
      writer.put(refOf(object), inForce, 'transition')
    }
    await w.time.advance(500)
    expect(slow.most).toBe(16)
  })

  it('sends the first status after an edit before all others', async () => {
    const { transport } = counting(100)
    const sent: string[] = []
    const writer = writerOver(
      scripted((request: KubeRequest) => {
        sent.push((request.body as Probe).metadata.name)
        return transport.json(request, term.signal)
      }),
    )
    for (const object of many(500, LATER)) writer.put(refOf(object), inForce, 'transition')
    await w.time.advance(1_000)
    const object = probe('edited', { generation: 2 }, { status: { observedGeneration: 1 } })
    cache.offer(object)
    const before = sent.length
    writer.put(refOf(object), { ...inForce, observedGeneration: 2 }, 'transition')
    await w.time.advance(500)
    expect(sent.slice(before).indexOf('edited')).toBeLessThan(100)
    expect(sent.slice(before)).toContain('edited')
  })

  it('combines the statuses of edits while as many writes are in flight as the API server takes', async () => {
    const { transport, sentMs } = counting(100)
    const writer = writerOver(transport)
    const objects = Array.from({ length: 40 }, (_, index) => probe(`new${index}`))
    for (const object of objects) {
      cache.offer(object)
      writer.put(refOf(object), LATER, 'transition')
    }
    expect(sentMs).toHaveLength(4)
    await w.time.advance(50)
    for (const object of objects) writer.put(refOf(object), inForce, 'transition')
    await w.time.advance(10_000)
    expect(sentMs).toHaveLength(44)
  })

  it('spreads heartbeats over a period, the first a full period after the start, at most 10/s', async () => {
    const count = 2_000
    await w.time.advance(1_000_000)
    const startMs = w.time.monotonicMs()
    const { transport, sentMs } = counting()
    const writer = writerOver(transport)
    const objects = many(count, inForce)
    const periodMs = 200_000
    for (let second = 0; second < 600; second += 5) {
      // Its content makes it a heartbeat.
      for (const object of objects) writer.put(refOf(object), { ...inForce, seen: second + 1 }, 'transition')
      await w.time.advance(5_000)
    }
    expect(Math.min(...sentMs)).toBeGreaterThanOrEqual(startMs + periodMs)
    const spans = sentMs.slice(11).map((ms, index) => ms - (sentMs[index] ?? 0))
    // Never 12 within a second: one permit of the token bucket, and 10.
    expect(Math.min(...spans)).toBeGreaterThanOrEqual(1_000)
    expect(sentMs.length).toBeGreaterThan(1.8 * count)
    expect(sentMs.length).toBeLessThanOrEqual(2 * count)
    expect(new Set(kinds)).toEqual(new Set(['heartbeat']))
  }, 30_000)

  it('sends a heartbeat together with a transition, without a permit', async () => {
    const { transport, sentMs } = counting()
    const writer = writerOver(transport)
    const [object = probe('none')] = many(1, inForce)
    writer.put(refOf(object), { ...inForce, seen: 1 }, 'heartbeat')
    writer.put(refOf(object), { ...inForce, state: 'ERROR', seen: 2 }, 'transition')
    writer.put(refOf(object), { ...inForce, state: 'ERROR', seen: 3 }, 'heartbeat')
    await w.time.advance(500)
    expect(sentMs).toHaveLength(1)
    expect(cache.get('ns/p0')?.status).toEqual({ ...inForce, state: 'ERROR', seen: 3 })
    await w.time.advance(55_000)
    expect(sentMs).toHaveLength(1)
  })

  it('returns statuses that have not arrived, and drops waiting ones except after an edit', async () => {
    const { sentMs, transport } = counting()
    const writer = writerOver(transport)
    const [one = probe('none'), two = probe('none'), edit = probe('none')] = many(3, inForce)
    cache.offer({ ...edit, metadata: { ...edit.metadata, generation: 2 } })
    const failed = { ...inForce, state: 'ERROR' }
    for (const object of [one, two, edit]) writer.put(refOf(object), failed, 'transition')
    expect([writer.last(refOf(one)), writer.last({ ...refOf(one), uid: 'other' })]).toEqual([failed, undefined])
    writer.dropWaiting()
    expect([one, two, edit].map((object) => writer.last(refOf(object)))).toEqual([undefined, undefined, failed])
    await w.time.advance(60_000)
    expect(sentMs).toHaveLength(1)
  })

  it('keeps one copy of a status that was sent, has arrived and is in the cache', async () => {
    const writer = writerOver(w.transport)
    const ref = refOf(known('a'))
    const sent = { ...inForce, conditions: [{ type: 'Ready', status: 'True' }] }
    writer.put(ref, sent, 'transition')
    await advanceUntil(w.time, 'it is written', () => kinds.length === 1)
    expect(cache.get('ns/a')?.status).toBe(sent)
  })

  it('keeps one entry per object in an outage, and recovers within its rates', async () => {
    let isUnavailable = true
    const state = counting()
    const writer = writerOver(
      scripted(async (request, signal) => {
        if (isUnavailable) throw new KubeError(0, 'NoResponse', 'no response')
        return state.transport.json(request, signal)
      }),
    )
    const objects = many(500)
    for (let round = 0; round < 20; round += 1) {
      for (const object of objects)
        writer.put(refOf(object), { observedGeneration: 1, state: `S${round}` }, 'transition')
      await w.time.advance(15_000)
    }
    isUnavailable = false
    await w.time.advance(40_000)
    expect(state.sentMs).toHaveLength(500)
    expect([...cache.all()].every(({ status }) => (status as Status).state === 'S19')).toBe(true)
  })
})
