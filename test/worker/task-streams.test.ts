/** Tests how a worker reserves with streams, and when it uses long polls instead (D125). */
import { beforeEach, describe, expect, it } from '@jest/globals'
import type { TaskLease } from '../../src/automation/index.ts'
import {
  RpcError,
  type ReservedTask,
  type RpcMethod,
  type RpcParams,
  type RpcResult,
} from '../../src/protocol/index.ts'
import { seededRandom, VirtualTime } from '../../src/runtime/index.ts'
import { Leases } from '../../src/worker/leases.ts'
import type { Settlement } from '../../src/worker/lease.ts'
import { MasterFeatures } from '../../src/worker/master-features.ts'
import type { RpcClient } from '../../src/worker/rpc-client.ts'
import { TaskFeed } from '../../src/worker/tasks.ts'
import { recordingLog, type RecordingLog } from './fixtures.ts'

interface Stream {
  readonly limit: number
  readonly pollId: unknown
  readonly alive: () => void
  readonly give: (...ids: string[]) => void
  readonly end: (error?: RpcError) => void
}

let time: VirtualTime
let log: RecordingLog
let features: MasterFeatures
let streams: Stream[]
let polls: RpcParams<'tasks.reserve'>[]
let outcomes: Settlement[]
let feed: TaskFeed
let taken: string[]
let nextToken = 0

const taskOf = (id: string): ReservedTask => ({
  task_id: id,
  token: (nextToken += 1),
  payload: {},
  attempt: 0,
  max_attempts: 3,
  priority: 0,
  submitted_at: 1,
  expires_at: 61,
})

const stream: RpcClient['stream'] = (params, { onTasks, onAlive, signal }) =>
  new Promise((resolve, reject) => {
    const fail = (error: RpcError): void => reject(error)
    streams.push({
      limit: params.limit,
      pollId: params.poll_id,
      alive: onAlive,
      give: (...ids) => onTasks(ids.map(taskOf)),
      end: (error) => (error === undefined ? resolve() : fail(error)),
    })
    signal.addEventListener('abort', () => fail(new RpcError('unavailable', 'aborted')), { once: true })
  })

/** A long poll, which returns after its time. */
async function call<M extends RpcMethod>(_: M, params: RpcParams<M>): Promise<RpcResult<M>> {
  const poll = params as RpcParams<'tasks.reserve'>
  polls.push(poll)
  if ((poll.wait_ms ?? 0) > 0) await time.sleep(poll.wait_ms ?? 0)
  return { tasks: [] } as unknown as RpcResult<M>
}

/** Lets `count` slots wait for a task. */
function slots(count: number): void {
  for (let at = 0; at < count; at++) {
    const keep = (lease: TaskLease | null): void => void (lease !== null && taken.push(lease.id))
    void feed.take(new AbortController().signal).then(keep)
  }
}
const settle = (): Promise<void> => time.advance(0)
/** A stream whose first line has arrived, for all slots. */
async function running(count: number): Promise<Stream> {
  feed.setSlots(count)
  slots(count)
  await settle()
  streams[0]?.alive()
  streams[0]?.end()
  await settle()
  return streams[1] as Stream
}

beforeEach(() => {
  time = new VirtualTime()
  log = recordingLog()
  features = new MasterFeatures(time)
  features.read({ 'muster-features': 'stream' })
  streams = []
  polls = []
  outcomes = []
  taken = []
  const common = { clock: time, timers: time, random: seededRandom(5), log, registerAgain: () => {} }
  const leases = new Leases({
    ...common,
    rpc: { call },
    features,
    visibilityMs: 60_000,
    outcomes: { add: (outcome) => void outcomes.push(outcome) },
  })
  const config = { enabled: true, slots: 1, max_attempts: 3, recycle_seconds: 0 }
  feed = new TaskFeed({ ...common, rpc: { call, stream }, features, leases, config: () => config })
})

describe('a stream of tasks', () => {
  it('is opened for one task first, and for all slots when its first line has arrived', async () => {
    feed.setSlots(4)
    slots(4)
    await settle()
    expect(streams.map(({ limit }) => limit)).toEqual([1])
    streams[0]?.alive()
    await settle()
    expect(streams.map(({ limit }) => limit)).toEqual([1, 4])
    expect(new Set(streams.map(({ pollId }) => pollId)).size).toBe(1)
    expect(polls).toEqual([])
  })

  it('hands out tasks as they arrive, and is replaced when less than half may still arrive', async () => {
    const open = await running(4)
    open.give('a')
    await settle()
    slots(1)
    open.give('b')
    await settle()
    slots(1)
    await settle()
    expect([taken, streams.length]).toEqual([['a', 'b'], 2])
    open.give('c')
    await settle()
    slots(1)
    await settle()
    expect([taken, streams.slice(2).map(({ limit }) => limit)]).toEqual([['a', 'b', 'c'], [3]])
    open.end()
    await settle()
    expect([streams.length, log.lines]).toEqual([3, []])
  })

  it('is opened again after its end, after a pause if it ended early without a task', async () => {
    const open = await running(4)
    open.end()
    await settle()
    expect(streams).toHaveLength(2)
    await time.advance(1_000)
    expect(streams).toHaveLength(3)
    await time.advance(25_000)
    streams[2]?.end()
    await settle()
    expect(streams).toHaveLength(4)
  })

  it('is ended with a poll of its name when tasks arrive that no slot can take', async () => {
    const open = await running(4)
    open.give('a')
    feed.setSlots(0)
    open.give('b', ...Array.from({ length: 20 }, (_, at) => `c${at}`))
    await settle()
    expect(polls).toEqual([{ limit: 1, wait_ms: 0, poll_id: open.pollId }])
    expect(outcomes.every(({ method }) => method === 'tasks.release')).toBe(true)
  })

  it('is ended with a poll of its name when the worker stops', async () => {
    const open = await running(4)
    const stopped = feed.stop(1_000)
    expect(polls).toEqual([{ limit: 1, wait_ms: 0, poll_id: open.pollId }])
    open.give('late')
    open.end()
    await stopped
    expect(outcomes.map(({ method, item }) => `${method} ${item.task_id}`)).toEqual(['tasks.release late'])
  })

  it('is retried with backoff when its connection breaks', async () => {
    const open = await running(4)
    open.end(new RpcError('unavailable', 'no response from the master: reset'))
    await settle()
    expect([streams.length, log.lines.map(({ message }) => message)]).toEqual([
      2,
      ['failed to reserve tasks, retrying'],
    ])
    await time.advance(1_000)
    expect(streams).toHaveLength(3)
  })
})

describe('long polls are used', () => {
  const start = async (): Promise<void> => {
    feed.setSlots(2)
    slots(2)
    await settle()
  }

  it('while the master offers no streams', async () => {
    features.read({})
    await start()
    expect([streams.length, polls.map(({ limit }) => limit)]).toEqual([0, [2]])
  })

  it('for 60 s after a master rejected a stream', async () => {
    await start()
    streams[0]?.end(new RpcError('invalid_params', 'params/stream: must not be present'))
    await settle()
    expect([streams.length, polls.length, log.lines]).toEqual([1, 1, []])
    await time.advance(60_000)
    expect([streams.length, polls.length]).toEqual([1, 3])
    await time.advance(25_000)
    expect([streams.length, polls.length]).toEqual([2, 3])
  })

  it('for 10 minutes after no line arrived, which is logged', async () => {
    await start()
    streams[0]?.end(new RpcError('unavailable', 'no line of a stream arrived', { isSilent: true }))
    await settle()
    expect(log.lines.map(({ message }) => message)).toEqual([
      'streams of tasks do not arrive, using long polls for 10 minutes: a proxy may buffer responses',
    ])
    await time.advance(599_999)
    expect([streams.length, polls.length]).toEqual([1, 24])
    await time.advance(1)
    expect(streams).toHaveLength(2)
  })
})
