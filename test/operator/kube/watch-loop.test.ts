import { advanceUntil, runTurns } from '../../kit/index.ts'
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals'
import { WatchLoop, WritableCache, type Change, type RestartReason } from '../../../src/operator/kube/index.ts'
import { FakeApiServer, PROBES } from '../fake-apiserver.ts'
import { created, edited, PROBE, probe, random, kubeFixture, type Probe, type KubeFixture } from './fixture.ts'

let w: KubeFixture
let cache: WritableCache<Probe>
let changes: string[]
let restarts: RestartReason[]
let ended: Promise<void>

beforeEach(async () => {
  w = await kubeFixture()
  cache = new WritableCache<Probe>()
  changes = []
  restarts = []
  ended = Promise.resolve()
})

afterEach(async () => {
  w.abort.abort(new Error('over'))
  await ended
  await w.close()
})

function kindOf({ before, after }: Change<Probe>): 'add' | 'remove' | 'change' {
  if (before === undefined) return 'add'
  return after === undefined ? 'remove' : 'change'
}

function started(namespace?: string): WatchLoop<Probe> {
  const loop = new WatchLoop<Probe>({
    transport: w.transport,
    cache,
    clock: w.time,
    timers: w.time,
    random: random(),
    log: w.log,
    resource: PROBE,
    namespace,
    onChange: (change, source) => changes.push(`${source} ${kindOf(change)} ${change.key}`),
    onRestart: (reason) => restarts.push(reason),
  })
  ended = loop.run(w.abort.signal)
  return loop
}

const watched = (): Promise<void> => advanceUntil(w.time, 'the watch is open', () => w.fake.watchCount === 1)
const lists = (): number => w.fake.requests.filter(({ query }) => !query.has('watch')).length
const slotsOf = (name: string): number | undefined => cache.get(`ns/${name}`)?.spec?.slots

const completeLists = (): number =>
  w.fake.requests.filter(({ query }) => !query.has('watch') && !query.has('fieldSelector')).length

/** Breaks the connection, and waits until a change that is made meanwhile is seen. */
async function brokenConnection(): Promise<void> {
  w.fake.sendRaw('', true)
  await advanceUntil(w.time, 'the connection broke', () => restarts.length === 1)
  created(w, 'meanwhile')
  await advanceUntil(w.time, 'the change is seen', () => cache.get('ns/meanwhile') !== undefined)
  await watched()
}

/** Waits until a change that is made now is seen. */
async function follows(): Promise<void> {
  const name = `canary-${w.fake.store.version}`
  created(w, name)
  const start = performance.now()
  while (cache.get(`ns/${name}`) === undefined) {
    if (performance.now() - start > 4_000) throw new Error('the loop has stopped')
    await w.time.advance(100)
  }
}

describe('the watch loop', () => {
  it('lists in pages with a consistent read, then watches', async () => {
    for (let index = 0; index < 403; index += 1) created(w, `p${String(index).padStart(4, '0')}`)
    started()
    await watched()
    expect(cache.size).toBe(403)
    expect(cache.isSynced).toBe(true)
    expect(
      w.fake.requests
        .slice(0, 3)
        .map(({ query }) => [query.get('limit'), query.get('resourceVersion'), query.has('continue')]),
    ).toEqual([
      ['10', null, false],
      ['40', null, true],
      ['160', null, true],
    ])
    const query = w.fake.requests[4]?.query
    expect([query?.get('allowWatchBookmarks'), query?.get('resourceVersion')]).toEqual([
      'true',
      String(w.fake.store.version),
    ])
    expect(Number(query?.get('timeoutSeconds'))).toBeGreaterThanOrEqual(240)
    expect(Number(query?.get('timeoutSeconds'))).toBeLessThanOrEqual(360)
    changes = []
    created(w, 'new')
    edited(w, 'new', { slots: 3 })
    w.fake.store.delete({ kind: PROBES, namespace: 'ns', name: 'p0000' }, undefined)
    await advanceUntil(w.time, 'the events have arrived', () => cache.get('ns/p0000') === undefined)
    expect(changes).toEqual(['watch add ns/new', 'watch change ns/new', 'watch remove ns/p0000'])
  })

  it('watches a single namespace', async () => {
    created(w, 'a', 'one')
    created(w, 'a', 'two')
    started('one')
    await watched()
    created(w, 'b', 'two')
    created(w, 'b', 'one')
    await advanceUntil(w.time, 'the event has arrived', () => cache.get('one/b') !== undefined)
    expect([...cache.all()].map(({ metadata }) => `${metadata.namespace}/${metadata.name}`)).toEqual(['one/a', 'one/b'])
  })

  it('resumes immediately from its last version when the server closes, without another list', async () => {
    started()
    await watched()
    created(w, 'a')
    await advanceUntil(w.time, 'the event has arrived', () => cache.size === 1)
    created(w, 'elsewhere', 'other')
    w.fake.bookmark()
    await runTurns()
    await w.time.advance(1_000)
    w.fake.endWatches()
    await watched()
    expect(lists()).toBe(1)
    expect(w.fake.requests.at(-1)?.query.get('resourceVersion')).toBe(String(w.fake.store.version))
    expect(restarts).toEqual(['closed'])
  })

  it('starts a watch at least 0.8 s after the previous one', async () => {
    started()
    for (let round = 0; round < 5; round += 1) {
      await watched()
      w.fake.endWatches()
    }
    await watched()
    expect(w.time.monotonicMs()).toBeGreaterThanOrEqual(5 * 800)
  })

  it('closes a half-open watch after 90 s and misses nothing', async () => {
    created(w, 'a')
    started()
    await watched()
    w.fake.silenceWatches()
    edited(w, 'a', { slots: 9 })
    await w.time.advance(91_000)
    await advanceUntil(w.time, 'the edit is seen', () => slotsOf('a') === 9)
    expect(restarts).toEqual(['idle'])
    expect(lists()).toBe(1)
  })

  it('lists again after a 410, and removes what was deleted in the meantime', async () => {
    created(w, 'a')
    created(w, 'b')
    started()
    await watched()
    w.fake.dropEvents(2)
    w.fake.store.delete({ kind: PROBES, namespace: 'ns', name: 'a' }, undefined)
    edited(w, 'b', { slots: 4 })
    w.fake.store.compact()
    created(w, 'c')
    w.fake.store.compact()
    w.fake.sendRaw('{"type":"ERROR","object":{"kind":"Status","code":410,"reason":"Expired","message":"too old"}}\n')
    await advanceUntil(w.time, 'the list has arrived', () => cache.get('ns/a') === undefined)
    expect(slotsOf('b')).toBe(4)
    expect(restarts).toEqual(['expired'])
    expect(changes).toContain('list remove ns/a')
  })

  it('lists immediately after a 410, three times in a row', async () => {
    started()
    for (const slots of [1, 2, 3]) {
      await watched()
      created(w, `p${slots}`)
      await advanceUntil(w.time, 'it has arrived', () => cache.size === slots)
      const beforeMs = w.time.monotonicMs()
      w.fake.sendRaw('{"type":"ERROR","object":{"code":410,"reason":"Expired"}}\n')
      w.fake.endWatches()
      await advanceUntil(w.time, 'it was listed again', () => lists() === slots + 1)
      expect(w.time.monotonicMs() - beforeMs).toBeLessThanOrEqual(800)
    }
  })

  it('survives a storm of 410 with growing delays', async () => {
    started()
    await watched()
    w.fake.endWatches()
    w.fake.script({ watch: true }, { kind: 'refuse', status: 410, reason: 'Expired' }, 1_000)
    const before = lists()
    for (let second = 0; second < 120; second += 1) {
      await w.time.advance(1_000)
      await runTurns(8)
    }
    expect(lists() - before).toBeGreaterThan(5)
    expect(lists() - before).toBeLessThan(30)
    w.fake.script({ watch: true }, { kind: 'refuse', status: 410 }, 0)
    await follows()
  })

  it('lists again when a page has expired', async () => {
    for (let index = 0; index < 600; index += 1) created(w, `p${index}`)
    w.fake.script({ path: /probes$/ }, { kind: 'delay', until: Promise.resolve() })
    w.fake.script({ path: /probes$/ }, { kind: 'refuse', status: 410, reason: 'Expired' })
    started()
    await watched()
    expect(cache.size).toBe(600)
    expect(restarts).toEqual(['expired'])
  })

  it('lists again after an invalid line', async () => {
    created(w, 'a')
    started()
    await watched()
    w.fake.dropEvents(1)
    edited(w, 'a', { slots: 5 })
    w.fake.sendRaw('{"type":"MODIFIED","object":{}}\n')
    await advanceUntil(w.time, 'the list has arrived', () => slotsOf('a') === 5)
    expect(restarts).toEqual(['unreadable'])
  })

  it('resumes after another ERROR event, with a delay', async () => {
    started()
    await watched()
    const beforeMs = w.time.monotonicMs()
    w.fake.sendRaw('{"type":"ERROR","object":{"kind":"Status","code":500,"reason":"InternalError","message":"etcd"}}\n')
    await advanceUntil(w.time, 'the error is noticed', () => restarts.length === 1)
    await advanceUntil(
      w.time,
      'the watch is open again',
      () => w.fake.requests.filter(({ query }) => query.has('watch')).length === 2,
    )
    expect(w.time.monotonicMs() - beforeMs).toBeGreaterThanOrEqual(800)
    expect(restarts).toEqual(['error'])
    expect(lists()).toBe(1)
  })

  it('survives a restart of the API server', async () => {
    created(w, 'a')
    started()
    await watched()
    await w.fake.restart()
    edited(w, 'a', { slots: 6 })
    await advanceUntil(w.time, 'the loop notices', () => restarts.length > 0)
    await follows()
    expect(slotsOf('a')).toBe(6)
  })

  it('survives an API server that is unavailable for an hour, with infrequent requests', async () => {
    const loop = started()
    await watched()
    await w.fake.close()
    const asked = w.credentials.asked
    for (let minute = 0; minute < 60; minute += 1) {
      for (let second = 0; second < 60; second += 1) await w.time.advance(1_000)
      expect(w.time.monotonicMs() - loop.activeMs).toBeLessThan(40_000)
    }
    expect(w.credentials.asked - asked).toBeLessThan(1_000)
    await w.fake.start()
    await follows()
  })

  it('waits for a kind that is not installed yet, and keeps its objects when the kind is removed', async () => {
    w.fake.script({ path: /probes$/ }, { kind: 'refuse', status: 404, reason: 'NotFound' }, 3)
    created(w, 'a')
    started()
    await watched()
    expect(restarts).toEqual(['missing', 'missing', 'missing'])
    w.fake.script({ path: /probes$/ }, { kind: 'refuse', status: 404, reason: 'NotFound' }, 2)
    w.fake.script({ path: /probes$/, watch: true }, { kind: 'refuse', status: 404, reason: 'NotFound' })
    w.fake.endWatches()
    await advanceUntil(w.time, 'the kind is missing', () => restarts.filter((each) => each === 'missing').length > 4)
    expect(cache.size).toBe(1)
    await follows()
  })

  it('honours Retry-After', async () => {
    w.fake.script({ path: /probes$/ }, { kind: 'refuse', status: 429, reason: 'TooManyRequests', retryAfter: 20 })
    started()
    await advanceUntil(w.time, 'the rejection has arrived', () => restarts.length === 1)
    await w.time.advance(19_900)
    expect(w.fake.requests).toHaveLength(1)
    await w.time.advance(5_200)
    await watched()
  })

  it('waits at most 30 s for Retry-After on a watch, and logs the requested and the actual delay', async () => {
    started()
    await watched()
    w.fake.script(
      { path: /probes$/, watch: true },
      { kind: 'refuse', status: 429, reason: 'TooManyRequests', retryAfter: 3_600 },
    )
    const before = w.fake.requests.length
    w.fake.endWatches()
    await advanceUntil(w.time, 'the rejection has arrived', () => restarts.includes('error'))
    created(w, 'late')
    expect(w.log.lines.at(-1)).toMatchObject({
      level: 'warn',
      fields: { requested_wait_ms: 3_600_000, retry_in_ms: expect.any(Number) },
    })
    await w.time.advance(23_000)
    expect(w.fake.requests.length - before).toBe(1)
    await w.time.advance(7_500)
    await advanceUntil(w.time, 'the edit is seen', () => cache.size === 1)
  })

  it('finds a lost event at the next periodic list, within 18 min', async () => {
    created(w, 'a')
    started()
    await watched()
    w.fake.dropEvents(1)
    edited(w, 'a', { slots: 7 })
    for (let round = 0; round < 18; round += 1) {
      await w.time.advance(60_000)
      w.fake.bookmark()
      await runTurns()
    }
    await advanceUntil(w.time, 'the list has arrived', () => slotsOf('a') === 7)
    expect(restarts[0]).toBe('relist')
  })

  it('rejects the stale list of a replica that is behind', async () => {
    created(w, 'a')
    const stale = w.fake.store.version
    edited(w, 'a', { slots: 8 })
    started()
    await watched()
    w.fake.script({ path: /probes$/, watch: false }, { kind: 'stale', version: stale })
    w.fake.sendRaw('{"type":"ERROR","object":{"code":410}}\n')
    await advanceUntil(w.time, 'the list after the stale one was read', () => lists() === 3)
    await watched()
    expect(slotsOf('a')).toBe(8)
  })

  it('accepts older versions of a restored store: after two lists, and once the connection broke', async () => {
    created(w, 'a')
    created(w, 'b')
    started()
    await watched()
    const [backup, store] = [w.fake.store.version, w.fake.store]
    edited(w, 'a', { slots: 8 })
    store.delete({ kind: PROBES, namespace: 'ns', name: 'b' }, undefined)
    created(w, 'c')
    await advanceUntil(
      w.time,
      'everything is seen',
      () => slotsOf('a') === 8 && cache.get('ns/b') === undefined && cache.get('ns/c') !== undefined,
    )
    w.fake.script({ path: /probes$/, watch: false }, { kind: 'stale', version: backup }, 3)
    w.fake.sendRaw('', true)
    changes = []
    for (let tenth = 0; tenth < 200 && !changes.includes('list remove ns/c'); tenth += 1) {
      await w.time.advance(100)
      await runTurns()
    }
    expect(restarts).toEqual(['error', 'behind'])
    expect(changes.slice(0, 3)).toEqual(['list change ns/a', 'list add ns/b', 'list remove ns/c'])
  })

  it('lists after the connection broke, if a restored server has written past the newest version', async () => {
    created(w, 'a')
    created(w, 'b')
    edited(w, 'a', { slots: 8 })
    started()
    await watched()
    const uid = cache.get('ns/a')?.metadata.uid ?? ''
    const restored = new FakeApiServer([PROBES], w.time.wallMs, () => uid)
    for (const name of ['a', 'b', 'c', 'd']) created({ ...w, fake: restored }, name)
    expect(restored.store.version).toBeGreaterThan(w.fake.store.version)
    restored.port = w.fake.port
    await w.fake.close()
    await restored.start()
    try {
      await advanceUntil(w.time, 'the watch is open again', () => restored.watchCount === 1)
      expect([slotsOf('a'), cache.get('ns/c')?.metadata.name, cache.size]).toEqual([undefined, 'c', 4])
    } finally {
      w.abort.abort(new Error('over'))
      await restored.close()
    }
  })

  it('resumes after the connection broke, if the newest object is unchanged', async () => {
    created(w, 'a')
    created(w, 'b')
    started()
    await watched()
    await brokenConnection()
    expect(completeLists()).toBe(1)
  })

  it('lists after the connection broke, if the newest event was a deletion', async () => {
    created(w, 'a')
    created(w, 'b')
    started()
    await watched()
    w.fake.store.delete({ kind: PROBES, namespace: 'ns', name: 'b' }, undefined)
    await advanceUntil(w.time, 'the deletion is seen', () => cache.size === 1)
    await brokenConnection()
    expect(completeLists()).toBe(2)
  })

  it('keeps an object that entered the cache after the list was made', async () => {
    started()
    await watched()
    cache.offer(probe('late', { resourceVersion: '900' }))
    w.fake.sendRaw('{"type":"ERROR","object":{"code":410}}\n')
    await advanceUntil(w.time, 'the list was read', () => lists() === 2)
    await watched()
    expect(cache.get('ns/late')).toBeDefined()
  })

  it('accepts a new object under an old name, and enqueues it', async () => {
    created(w, 'a')
    started()
    await watched()
    const uid = cache.get('ns/a')?.metadata.uid
    w.fake.dropEvents(1)
    w.fake.store.delete({ kind: PROBES, namespace: 'ns', name: 'a' }, undefined)
    created(w, 'a')
    await advanceUntil(w.time, 'the new object has arrived', () => cache.get('ns/a')?.metadata.uid !== uid)
    expect(changes.at(-1)).toBe('watch change ns/a')
  })

  it('stops with its signal and leaves no timer', async () => {
    started()
    await watched()
    w.abort.abort(new Error('over'))
    await ended
    expect(w.time.pending).toBe(0)
  })
})
