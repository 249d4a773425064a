/**
 * Tests what connects the operator's two sides: event handlers, the pause while the master is unavailable, and the
 * resync.
 */
import { describe, expect, it } from '@jest/globals'
import type { WorkerBody } from '../../src/protocol/index.ts'
import { VirtualTime } from '../../src/runtime/index.ts'
import type { CallRefusal, TypeReading } from '../../src/operator/fleet/index.ts'
import { INDICES, type FleetWorkerObject } from '../../src/operator/fleetworker/index.ts'
import { WritableCache, type ObjectKey, type Priority } from '../../src/operator/kube/index.ts'
import { MasterOutage } from '../../src/operator/master-outage.ts'
import { PeriodicResync } from '../../src/operator/periodic-resync.ts'
import { EventHandlers } from '../../src/operator/event-handlers.ts'
import { recordingLog } from '../kit/index.ts'
import { fleetWorker } from './made-fleet-workers.ts'

function fixture() {
  const cache = new WritableCache<FleetWorkerObject>(INDICES)
  const added: [ObjectKey, Priority][] = []
  const types: (readonly [string, TypeReading])[][] = []
  const queue = { add: (key: ObjectKey, priority: Priority): void => void added.push([key, priority]) }
  const reporting = new Set<string>()
  const triggers = new EventHandlers({
    queue,
    cache,
    table: {
      setTypes: (named) => void types.push([...named]),
      isRegistered: (_, workerId) => workerId === 'registered',
    },
    permits: () => true,
    isOurs: () => false,
    isReporting: ({ metadata }) => reporting.has(metadata.name),
  })
  const seen = (object: FleetWorkerObject, source: 'list' | 'watch' = 'watch'): void => {
    const change = cache.offer(object)
    if (change !== undefined) triggers.onFleetWorker(change, source)
  }
  const gone = (object: FleetWorkerObject): void => {
    const change = cache.remove(object)
    if (change !== undefined) triggers.onFleetWorker(change, 'watch')
  }
  const taken = (): [ObjectKey, Priority][] => added.splice(0)
  return { cache, queue, reporting, triggers, types, seen, gone, taken }
}

describe('the event handlers', () => {
  it('enqueue every FleetWorker of a worker that changed, of a type, and of a source', () => {
    const { seen, taken, triggers } = fixture()
    const status = { observedGeneration: 1 }
    for (const each of [
      fleetWorker('one', { workerId: 'w', status }),
      fleetWorker('two', { workerId: 'w', status }),
      fleetWorker('three', { secret: 's' }),
      fleetWorker('four', { type: 'b' }),
    ])
      seen(each)
    taken()
    triggers.onTableChange({ kind: 'worker', type: 'a', workerId: 'w' })
    expect(taken()).toEqual([
      ['ns/one', 50],
      ['ns/two', 50],
    ])
    triggers.onTableChange({ kind: 'type', type: 'b' })
    expect(taken()).toEqual([['ns/four', 50]])
    triggers.onSource('secrets/ns/s')
    expect(taken()).toEqual([['ns/three', 50]])
  })

  it('enqueue only what is not registered once a type is listed, since each listed worker was reported', () => {
    const { seen, taken, triggers } = fixture()
    const status = { observedGeneration: 1 }
    for (const workerId of ['registered', 'missing']) seen(fleetWorker(workerId, { workerId, status }))
    taken()
    triggers.onTableChange({ kind: 'listed', type: 'a' })
    expect(taken()).toEqual([['ns/missing', 50]])
  })

  it("enqueue a worker's response to an edit before other edits, so that its status is sent once", () => {
    const { seen, taken, triggers } = fixture()
    seen(fleetWorker('edited', { workerId: 'w', generation: 2, status: { observedGeneration: 1 } }))
    taken()
    triggers.onTableChange({ kind: 'worker', type: 'a', workerId: 'w' })
    expect(taken()).toEqual([['ns/edited', 110]])
  })

  it("enqueue a worker's response before other pushes while a status is waiting, so that it is sent once", () => {
    const { reporting, seen, taken, triggers } = fixture()
    seen(fleetWorker('put-back', { workerId: 'w', status: { observedGeneration: 1 } }))
    reporting.add('put-back')
    taken()
    triggers.onTableChange({ kind: 'worker', type: 'a', workerId: 'w' })
    expect(taken()).toEqual([['ns/put-back', 90]])
  })

  it('enqueue the conflicting resources of a deleted FleetWorker: one of them owns the worker now', () => {
    const { gone, seen, taken } = fixture()
    const owner = fleetWorker('owner', { workerId: 'w' })
    for (const each of [owner, fleetWorker('rival', { workerId: 'w' })]) seen(each)
    taken()
    gone(owner)
    expect(taken()).toEqual([
      ['ns/owner', 90],
      ['ns/rival', 50],
    ])
  })

  it('enqueue everything when the master has lost its store, unseen edits first', () => {
    const { seen, taken, triggers } = fixture()
    seen(fleetWorker('old', { status: { observedGeneration: 1 } }))
    seen(fleetWorker('edited', { generation: 2, status: { observedGeneration: 1 } }))
    taken()
    triggers.onTableChange({ kind: 'state_reset', message: '' })
    expect(taken()).toEqual([
      ['ns/old', -100],
      ['ns/edited', 100],
    ])
  })

  it('pass changes of the named types to the table', () => {
    const { gone, seen, triggers, types } = fixture()
    const [first, second, other] = [fleetWorker('1'), fleetWorker('2'), fleetWorker('3', { type: 'b' })]
    for (const each of [first, second, other]) seen(each)
    gone(first)
    gone(other)
    seen(fleetWorker('2', { uid: 'another', type: 'c' }))
    triggers.countType('sets', undefined, 'c')
    for (const type of ['a', 'b', 'c', 'a']) triggers.dropType(type)
    triggers.readType('d')
    triggers.readType('c')
    const read = types.map((each) =>
      each.map(([type, reading]) => (reading === 'configs' ? type : `labels of ${type}`)),
    )
    expect(read).toEqual([
      ['a'],
      ['a', 'b'],
      ['a', 'labels of b'],
      ['a', 'labels of b', 'c'],
      ['labels of a', 'labels of b', 'c'],
      ['labels of b', 'c'],
      ['c'],
      ['c', 'labels of d'],
    ])
  })
})

describe('the outage of the master', () => {
  it('parks the queue immediately, and resumes it after a minute so that statuses can report it', () => {
    const parked: (string | null)[] = []
    const turns: boolean[] = []
    const table = { unavailableMs: 0 }
    const outage = new MasterOutage({
      table,
      queue: { park: (reason) => void parked.push(reason) },
      onChange: (isUnavailable) => void turns.push(isUnavailable),
    })
    outage.onBreaker('MasterUnreachable')
    table.unavailableMs = 59_999
    outage.check()
    expect([parked, turns]).toEqual([['MasterUnreachable'], []])
    table.unavailableMs = 60_000
    outage.check()
    outage.check()
    expect([parked, turns]).toEqual([['MasterUnreachable', null], [true]])
    table.unavailableMs = 0
    outage.onBreaker(null)
    expect([parked.at(-1), turns]).toEqual([null, [true, false]])
  })
})

describe('the periodic resync', () => {
  const worker = (id: string, claim: string | null) => ({ worker_id: id, managed_by: claim }) as WorkerBody
  /** A worker with the claim of a deleted FleetWorker. */
  const left = (id: string): WorkerBody => worker(id, `kubernetes:ns/gone#${id}`)

  interface Fleet {
    readonly workers?: Readonly<Record<string, readonly WorkerBody[]>>
    readonly offered?: readonly string[]
    readonly answer?: (workerId: string) => CallRefusal['kind'] | 'ok'
    readonly during?: (cluster: ReturnType<typeof fixture>) => void
    readonly unknown?: 'FleetWorkers' | 'workers'
  }

  /** `b` is the type of a FleetWorker that is deleted at the start. */
  async function swept(
    minutes: number,
    count: number,
    { workers = {}, offered = [], answer = () => 'ok', during = () => {}, unknown }: Fleet = {},
  ) {
    const time = new VirtualTime()
    const cluster = fixture()
    const { cache, gone, queue, seen, taken, triggers } = cluster
    const [released, ticks, log]: [string[], number[], ReturnType<typeof recordingLog>] = [[], [], recordingLog()]
    const claimed = Object.fromEntries(
      Object.entries(workers).map(([type, rows]) => [type, new Map(rows.map((row) => [row.worker_id, row]))]),
    )
    for (let n = 0; n < count; n += 1) seen(fleetWorker(`w${n}`))
    const last = fleetWorker('last', { type: 'b' })
    seen(last)
    gone(last)
    taken()
    if (unknown === 'FleetWorkers') cache.expect('ns')
    const sweep = new PeriodicResync({
      time,
      log,
      cache,
      watches: (namespace) => namespace === 'ns',
      isLiveClaim: (claim) => cache.byIndex('claim', claim).length > 0,
      types: triggers,
      table: {
        isSynced: unknown !== 'workers',
        workers: (type) => claimed[type]?.values() ?? [],
        offered: async () => offered,
      },
      queue: {
        add: (key, priority) => {
          queue.add(key, priority)
          ticks.push(time.monotonicMs())
        },
      },
      master: {
        releaseOrphaned: async ({ type, workerId }) => {
          released.push(workerId)
          during(cluster)
          const kind = answer(workerId)
          if (kind !== 'ok') return { kind, message: 'no' } as CallRefusal
          claimed[type]?.delete(workerId)
          return { kind, value: undefined as never, epoch: '' }
        },
      },
    })
    const abort = new AbortController()
    const running = sweep.run(abort.signal)
    await time.advance(minutes * 60_000)
    abort.abort()
    await running
    return { keys: taken(), released, types: [...triggers.types], ticks, log }
  }

  it('enqueues each key once a minute, evenly spaced, with the lowest priority', async () => {
    const { keys, ticks } = await swept(3, 30)
    expect(keys.length).toBeGreaterThanOrEqual(58) // The first minute does nothing.
    expect(keys.every(([, priority]) => priority === -100)).toBe(true)
    expect(keys.slice(0, 30).map(([key]) => key)).toEqual(Array.from({ length: 30 }, (_, n) => `ns/w${n}`))
    expect(Math.max(...ticks.slice(1).map((atMs, n) => atMs - (ticks[n] ?? 0)))).toBeLessThanOrEqual(2_000)
  })

  it('takes longer for many keys: ten a second', async () => {
    const { ticks } = await swept(5, 2_000)
    const inSecond = (atMs: number): number =>
      ticks.filter((other) => Math.floor(other / 1_000) === Math.floor(atMs / 1_000)).length
    expect(Math.max(...ticks.map(inSecond))).toBeLessThanOrEqual(10)
  })

  it('deletes claims of deleted FleetWorkers, and no others', async () => {
    const { released } = await swept(1.5, 1, {
      workers: {
        b: [
          left('left'),
          worker('elsewhere', 'kubernetes:other/x#00000000'),
          worker('by-hand', 'other-client'),
          worker('unclaimed', null),
          worker('moved', 'kubernetes:ns/w0#uid-w0'),
        ],
      },
    })
    expect(released).toEqual(['left'])
  })

  it('deletes no claim of a worker that a FleetWorker names, not even one that is created meanwhile', async () => {
    const during = ({ seen }: ReturnType<typeof fixture>): void =>
      seen(fleetWorker('now', { type: 'b', workerId: 'named' }))
    expect(await swept(2.5, 0, { workers: { b: [left('left'), left('named')] }, during })).toMatchObject({
      released: ['left'],
      types: ['b'],
    })
  })

  it('also looks for claims of types whose last FleetWorker was deleted, and drops the type afterwards', async () => {
    const workers = { b: [left('left')] }
    expect(await swept(1.5, 0, { workers })).toMatchObject({ released: ['left'], types: [] })
    expect(await swept(2.5, 0, { workers, answer: () => 'not_leading' })).toMatchObject({
      released: ['left', 'left'],
      types: ['b'],
    })
  })

  it('keeps a type whose last FleetWorker is deleted meanwhile, until its claims are deleted', async () => {
    const workers = { a: [left('left'), worker('w0', 'kubernetes:ns/w0#uid-w0')] }
    const during = ({ gone }: ReturnType<typeof fixture>): void => gone(fleetWorker('w0'))
    expect(await swept(1.5, 1, { workers, during })).toMatchObject({ released: ['left'], types: ['a'] })
    expect(await swept(2.5, 1, { workers, during })).toMatchObject({ released: ['left', 'w0'], types: [] })
  })

  it('continues after a claim that cannot be deleted, logs it once, and does not repeat the call', async () => {
    const workers = { b: [left('refused'), left('left')] }
    const { log, released, types } = await swept(3.5, 0, { workers, answer: (id) => (id === 'refused' ? 'bug' : 'ok') })
    expect([released, types]).toEqual([['refused', 'left'], []])
    expect(log.lines.filter(({ level }) => level === 'error')).toEqual([
      expect.objectContaining({ fields: { worker: 'b/refused', claim: 'kubernetes:ns/gone#refused', error: 'no' } }),
    ])
  })

  it.each(['FleetWorkers', 'workers'] as const)('deletes nothing while the %s are not known', async (unknown) => {
    expect(await swept(3.5, 0, { workers: { b: [left('left')] }, unknown })).toMatchObject({
      released: [],
      types: ['b'],
    })
  })

  it.each(['unavailable', 'throttled', 'not_leading'] as const)(
    'makes no further calls in a period in which the result is %s',
    async (answer) => {
      expect(await swept(2.5, 0, { workers: { b: [left('one'), left('two')] }, answer: () => answer })).toMatchObject({
        released: ['one', 'one'],
        types: ['b'],
      })
    },
  )

  it('continues after a programming error', async () => {
    let calls = 0
    const during = (): void => {
      calls += 1
      if (calls === 1) throw new TypeError('a mistake')
    }
    const { log, released } = await swept(2.5, 0, { workers: { b: [left('left')] }, during })
    expect(released).toEqual(['left', 'left'])
    expect(log.lines).toContainEqual(
      expect.objectContaining({ level: 'error', message: 'a resync failed, retrying at the next one' }),
    )
  })

  it('postpones types that the token does not cover, and continues with the others', async () => {
    const workers = { b: [left('forbidden'), left('left')] }
    expect(await swept(2.5, 0, { workers, answer: (id) => (id === 'forbidden' ? 'forbidden' : 'ok') })).toMatchObject({
      released: ['forbidden', 'left', 'forbidden'],
      types: ['b'],
    })
  })

  it('reads types whose FleetWorkers were deleted before its start once, one every two seconds', async () => {
    const workers = { b: [], before: [left('left')], quiet: [] }
    const offered = ['before', 'quiet']
    expect(await swept(1 + 2.5 / 60, 0, { workers, offered })).toMatchObject({ released: [], types: ['quiet'] })
    expect(await swept(1 + 4.5 / 60, 0, { workers, offered })).toMatchObject({ released: [], types: ['before'] })
    expect(await swept(1.5, 0, { workers, offered })).toMatchObject({ released: ['left'], types: [] })
  })

  it('deletes the claims of the last FleetWorkers of 40 types within three minutes', async () => {
    const offered = Array.from({ length: 40 }, (_, n) => `t${n}`)
    const workers = { b: [], ...Object.fromEntries(offered.map((type) => [type, []])), t0: [left('left')] }
    expect(await swept(3, 0, { workers, offered })).toMatchObject({ released: ['left'], types: [] })
  })
})
