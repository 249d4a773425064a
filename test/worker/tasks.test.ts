import { afterEach, beforeEach, describe, expect, it } from '@jest/globals'
import { LeaseLost, type AppliedConfig, type TaskLease } from '../../src/automation/index.ts'
import { RpcError, type RpcMethod, type RpcParams, type RpcResult } from '../../src/protocol/index.ts'
import { seededRandom, VirtualTime } from '../../src/runtime/index.ts'
import { MasterFeatures } from '../../src/worker/master-features.ts'
import { Leases } from '../../src/worker/leases.ts'
import type { BatchedCall, BatchedResult } from '../../src/worker/rpc-client.ts'
import { OutcomeQueue } from '../../src/worker/outcome-queue.ts'
import { TaskFeed } from '../../src/worker/tasks.ts'
import { recordingLog, runTurns, type RecordingLog } from './fixtures.ts'

const VISIBILITY_MS = 60_000
interface Poll {
  readonly limit: number
  readonly pollId: string | undefined
  readonly give: (...ids: string[]) => void
  readonly fail: (error: RpcError) => void
  readonly aborted: () => boolean
}
interface Item {
  readonly task_id: string
  readonly token: number
}

let time: VirtualTime
let log: RecordingLog
let polls: Poll[]
let batches: (readonly (readonly [string, number])[])[]
let settled: string[]
let extended: (readonly string[])[]
let lost: Set<string>
let trouble: RpcError | undefined
let again: string[]
let config: AppliedConfig
let outcomes: OutcomeQueue
let leases: Leases
let feed: TaskFeed

beforeEach(() => {
  time = new VirtualTime()
  log = recordingLog()
  polls = []
  batches = []
  settled = []
  extended = []
  lost = new Set()
  trouble = undefined
  again = []
  config = { enabled: true, slots: 1, max_attempts: 3, recycle_seconds: 0 }
  const common = {
    clock: time,
    timers: time,
    random: seededRandom(5),
    log,
    features: new MasterFeatures(time),
    rpc: { call, batch, stream: () => Promise.reject(new Error('no streams are offered')) },
    registerAgain: (why: string) => void again.push(why),
  }
  outcomes = new OutcomeQueue(common)
  leases = new Leases({ ...common, visibilityMs: VISIBILITY_MS, outcomes })
  feed = new TaskFeed({ ...common, leases, config: () => config })
  feed.setSlots(100)
  leases.start()
})

afterEach(async () => {
  leases.stop()
  await Promise.all([feed.stop(0), time.advance(1)])
})

let nextToken = 0

/** Handles one call as the master does. */
async function call<M extends RpcMethod>(
  method: M,
  params: RpcParams<M>,
  options: { signal?: AbortSignal } = {},
): Promise<RpcResult<M>> {
  if (method === 'tasks.reserve')
    return (await reserve(params as RpcParams<'tasks.reserve'>, options.signal)) as RpcResult<M>
  if (trouble !== undefined) throw trouble
  const { tasks } = params as { tasks: readonly Item[] }
  extended.push(tasks.map(({ task_id: id }) => id))
  return {
    results: tasks.map(({ task_id: id }) =>
      lost.has(id) ? { ok: false, error: 'lease_lost' } : { ok: true, expires_at: 1 },
    ),
  } as RpcResult<M>
}

function reserve(
  { limit, poll_id: pollId }: RpcParams<'tasks.reserve'>,
  signal: AbortSignal | undefined,
): Promise<unknown> {
  return new Promise((resolve, reject) => {
    const task = (id: string): object => ({
      task_id: id,
      token: (nextToken += 1),
      payload: { id },
      attempt: 0,
      max_attempts: 3,
      priority: 0,
      submitted_at: 1,
      expires_at: 61,
    })
    polls.push({
      limit,
      pollId: pollId ?? undefined,
      give: (...ids) => resolve({ tasks: ids.map(task) }),
      fail: reject,
      aborted: () => signal?.aborted === true,
    })
    signal?.addEventListener('abort', () => reject(new RpcError('unavailable', 'aborted')), { once: true })
  })
}

async function batch(calls: readonly BatchedCall[]): Promise<readonly BatchedResult[]> {
  const items = (each: BatchedCall): readonly Item[] => (each.params as { tasks: readonly Item[] }).tasks
  batches.push(calls.map((each) => [each.method, items(each).length] as const))
  if (trouble !== undefined) throw trouble
  return calls.map((each) => {
    settled.push(
      ...items(each)
        .filter(({ task_id: id }) => !lost.has(id))
        .map(({ task_id: id }) => `${each.method.slice('tasks.'.length)} ${id}`),
    )
    return {
      ok: true,
      result: {
        results: items(each).map(({ task_id: id }) =>
          lost.has(id) ? { ok: false, error: 'lease_lost' } : { ok: true },
        ),
      },
    }
  })
}

const stopping = new AbortController().signal

/** Calls `take` for `n` slots. @returns the leases in the order of the calls. */
function take(n: number, signal = stopping): (TaskLease | null)[] {
  const given: (TaskLease | null)[] = []
  for (let slot = 0; slot < n; slot += 1) void feed.take(signal).then((lease) => given.push(lease))
  return given
}
const ids = (given: readonly (TaskLease | null)[]): readonly (string | undefined)[] => given.map((lease) => lease?.id)
const names = (n: number, prefix = 't'): string[] => Array.from({ length: n }, (_, index) => `${prefix}${index}`)

describe('reserving', () => {
  it('requests tasks for all free slots with one call, and hands them out in order (G3)', async () => {
    const given = take(3)
    await time.advance(0)
    expect(polls.map(({ limit }) => limit)).toEqual([3])
    polls[0]?.give('a', 'b')
    await time.advance(0)
    expect(ids(given)).toEqual(['a', 'b'])
    expect(polls.map(({ limit }) => limit)).toEqual([3, 1])
    await time.advance(20_000)
    expect(polls).toHaveLength(2)
  })

  it('sends the same poll_id each time, so that the master ends a poll whose connection was lost (D78)', async () => {
    take(1)
    await time.advance(0)
    polls[0]?.fail(new RpcError('unavailable', 'the connection broke'))
    await time.advance(1_000)
    expect(polls.map(({ pollId }) => pollId)).toEqual([expect.stringMatching(/^.+$/), polls[0]?.pollId])
  })

  it('stops sending poll_id to a master that does not support it', async () => {
    const given = take(2)
    await time.advance(0)
    polls[0]?.fail(new RpcError('invalid_params', 'params/poll_id: unexpected field'))
    await time.advance(0)
    polls[1]?.give('a')
    await time.advance(0)
    expect([ids(given), polls.map(({ pollId }) => pollId === undefined)]).toEqual([['a'], [false, true, true]])
  })

  it('ends the wait of a stopped slot, and releases a task that was in flight for it', async () => {
    const slot = new AbortController()
    const given = take(1, slot.signal)
    await time.advance(0)
    slot.abort()
    feed.setSlots(0)
    await time.advance(0)
    expect(given).toEqual([null])
    polls[0]?.give('late')
    await time.advance(5)
    expect(settled).toEqual(['release late'])
  })

  it('releases leases that no slot takes within two seconds', async () => {
    const slot = new AbortController()
    take(2, slot.signal)
    await time.advance(0)
    slot.abort()
    polls[0]?.give('a', 'b')
    await time.advance(1_900)
    expect(settled).toEqual([])
    await time.advance(200)
    expect(settled).toEqual(['release a', 'release b'])
  })

  it('does not hand out expired or lost leases after the process was suspended (G5)', async () => {
    feed.setSlots(3)
    take(1)
    await time.advance(0)
    polls[0]?.give('taken', 'stale')
    await time.advance(0)
    time.jump(3_000) // SIGSTOP: the clock advances, but no timer fires.
    const given = take(1)
    await time.advance(10)
    expect(ids(given)).toEqual([])
    expect(settled).toEqual(['release stale'])
  })

  it('continues after an invalid reserve response (G25)', async () => {
    const given = take(1)
    await time.advance(0)
    polls[0]?.fail(new TypeError('tasks is not iterable') as unknown as RpcError)
    await time.advance(1_000)
    polls[1]?.give('a')
    await time.advance(0)
    expect(ids(given)).toEqual(['a'])
    expect(log.lines.filter(({ level }) => level === 'warn').map(({ message }) => message)).toEqual([
      'failed to reserve tasks, retrying',
    ])
  })

  it('pauses after an early empty response, and not after one that waited', async () => {
    take(1)
    for (let turn = 0; turn < 100; turn += 1) {
      await time.advance(10)
      polls.at(-1)?.give()
    }
    expect(polls.length).toBeLessThan(6)
    await time.advance(20_000)
    const before = polls.length
    polls.at(-1)?.give()
    await time.advance(0)
    expect(polls).toHaveLength(before + 1)
  })

  it('retries with backoff after a failure, and registers again if it is unknown', async () => {
    const given = take(1)
    await time.advance(0)
    polls[0]?.fail(new RpcError('unknown_worker', 'who?'))
    await time.advance(1_000)
    polls[1]?.fail(new RpcError('unavailable', 'later', { retry_after_ms: 3_000 }))
    await time.advance(2_900)
    expect([polls.length, again.length]).toEqual([2, 1])
    await time.advance(1_000)
    polls[2]?.give('a')
    await time.advance(0)
    expect(ids(given)).toEqual(['a'])
  })

  it('gives each task the config at the time of its reserve', async () => {
    const given = take(2)
    await time.advance(0)
    polls[0]?.give('a')
    await time.advance(0)
    config = { ...config, slots: 2 }
    polls[1]?.give('b')
    await time.advance(0)
    expect(given.map((lease) => lease?.config.slots)).toEqual([1, 2])
  })

  it('stops reserving on stop, waits for the last call and releases its tasks (G14)', async () => {
    take(2)
    await time.advance(0)
    let over = false
    const stopped = feed.stop(1_000).then(() => {
      over = true
    })
    await time.advance(500)
    expect([over, polls[0]?.aborted()]).toEqual([false, false])
    polls[0]?.give('last')
    await time.advance(5)
    await stopped
    expect(settled).toEqual(['release last'])
    expect(polls).toHaveLength(1)
  })

  it('aborts the last call on stop without a grace period', async () => {
    take(1)
    await time.advance(0)
    const stopped = feed.stop(0)
    await time.advance(0)
    await stopped
    expect(polls[0]?.aborted()).toBe(true)
  })
})

describe('settling', () => {
  const reserved = async (...wanted: string[]): Promise<TaskLease[]> => {
    const given = take(wanted.length)
    await time.advance(0)
    polls.at(-1)?.give(...wanted)
    await time.advance(0)
    return given.filter((lease) => lease !== null)
  }

  it('sends outcomes of one tick in one request, with one call per kind', async () => {
    const given = await reserved(...names(50))
    for (const [index, lease] of given.entries()) {
      if (index < 40) lease.ack()
      else if (index < 48) lease.nack('no')
      else lease.release()
    }
    await time.advance(0)
    expect(batches).toEqual([
      [
        ['tasks.ack', 40],
        ['tasks.nack', 8],
        ['tasks.release', 2],
      ],
    ])
  })

  it('sends at most 1,000 outcomes per request, and fewer with long error texts', async () => {
    feed.setSlots(500)
    const given = [
      ...(await reserved(...names(500, 'a'))),
      ...(await reserved(...names(500, 'b'))),
      ...(await reserved(...names(500, 'c'))),
    ]
    for (const lease of given) lease.ack()
    await time.advance(10)
    expect(batches).toEqual([[['tasks.ack', 1_000]], [['tasks.ack', 500]]])
    for (const lease of await reserved(...names(500, 'd'))) lease.nack('x'.repeat(9_000))
    await time.advance(0)
    expect(batches.slice(2).length).toBeGreaterThan(5)
    expect(settled).toHaveLength(2_000)
  })

  it('sends only the first outcome of a task', async () => {
    const [lease] = await reserved('a')
    lease?.ack()
    lease?.nack('too late')
    lease?.release()
    await time.advance(10)
    expect(settled).toEqual(['ack a'])
  })

  it('retries in order until the master responds, and is idle after that (G11)', async () => {
    const given = await reserved('a', 'b')
    trouble = new RpcError('unavailable', 'no answer', { outcome: 'unknown' })
    given[0]?.ack()
    await time.advance(10_000)
    given[1]?.ack()
    await time.advance(110_000)
    expect([settled, batches.length < 60]).toEqual([[], true])
    trouble = undefined
    let idle = false
    void outcomes.idle().then(() => {
      idle = true
    })
    await time.advance(6_000)
    expect([settled, idle]).toEqual([['ack a', 'ack b'], true])
  })

  it('logs an outcome whose lease has expired, and does not retry it (G11)', async () => {
    const [lease] = await reserved('a')
    lost.add('a')
    lease?.ack()
    await time.advance(60_000)
    expect(batches).toHaveLength(1)
    expect(log.lines.find(({ message }) => message.includes('rejected a task outcome'))?.fields).toMatchObject({
      task_id: 'a',
      method: 'tasks.ack',
    })
  })

  it('retries after an invalid response (G11, G25)', async () => {
    const [lease] = await reserved('a')
    trouble = new TypeError('outcomes is not iterable') as unknown as RpcError
    lease?.ack()
    await time.advance(1_000)
    trouble = undefined
    await time.advance(6_000)
    expect(settled).toEqual(['ack a'])
  })

  it('sends smaller requests to a master that rejects them as too large', async () => {
    const given = await reserved(...names(8))
    trouble = new RpcError('unavailable', 'HTTP 413', { status: 413 })
    for (const lease of given) lease.ack()
    await time.advance(0)
    for (let tries = 0; tries < 8; tries += 1) await time.advance(5_000)
    trouble = undefined
    batches = []
    await time.advance(5_000)
    expect(Math.max(...batches.flat().map(([, count]) => count))).toBeLessThan(8)
    expect(settled).toHaveLength(8)
  })
})

describe('extending', () => {
  const holding = async (...wanted: string[]): Promise<(TaskLease | null)[]> => {
    const given = take(wanted.length)
    await time.advance(0)
    polls.at(-1)?.give(...wanted)
    await time.advance(0)
    return given
  }

  it('extends all leases in one call every third of the visibility timeout, until they are settled (D25)', async () => {
    const given = await holding('a', 'b', 'c')
    await time.advance(20_000)
    given[1]?.ack()
    await time.advance(20_000)
    expect(extended).toEqual([
      ['a', 'b', 'c'],
      ['a', 'c'],
    ])
  })

  it('retries after a failure, well before a lease expires', async () => {
    await holding('a')
    trouble = new RpcError('unavailable', 'not reachable')
    await time.advance(20_000)
    trouble = undefined
    await time.advance(7_000)
    expect(extended).toEqual([['a']])
  })

  it('aborts the run of a lost lease and drops its outcome (D24)', async () => {
    const [lease] = await holding('a', 'b')
    lost.add('a')
    await time.advance(20_000)
    expect(lease?.isLost).toBe(true)
    expect(lease?.signal.reason).toMatchObject({ why: 'lease_lost' })
    lease?.ack()
    await time.advance(100)
    expect([settled, leases.size]).toEqual([[], 1])
    await expect(lease?.extend()).rejects.toThrow(LeaseLost)
  })

  it('extends one lease immediately when its task requests it', async () => {
    const [lease] = await holding('a')
    await lease?.extend()
    expect(extended).toEqual([['a']])
    lost.add('a')
    await expect(lease?.extend()).rejects.toThrow('another worker may have the task')
  })

  it('releases all leases at the end', async () => {
    await holding('a', 'b')
    leases.releaseAll()
    await time.advance(0)
    await runTurns(2)
    expect(settled).toEqual(['release a', 'release b'])
  })
})
