/** Tests how leases are extended, lost, failed and released. */
import { beforeEach, describe, expect, it } from '@jest/globals'
import { LeaseLost, type AppliedConfig } from '../../src/automation/index.ts'
import type { ReservedTask, RpcMethod, RpcParams, RpcResult } from '../../src/protocol/index.ts'
import { VirtualTime } from '../../src/runtime/index.ts'
import type { HeldLease, Settlement } from '../../src/worker/lease.ts'
import { Leases } from '../../src/worker/leases.ts'
import { MasterFeatures } from '../../src/worker/master-features.ts'
import { recordingLog, type RecordingLog } from './fixtures.ts'

const VISIBILITY_MS = 60_000
const CONFIG: AppliedConfig = { enabled: true, slots: 1, max_attempts: 3, recycle_seconds: 0 }
type Result = { readonly ok: true; readonly expires_at: number } | { readonly ok: false; readonly error: 'lease_lost' }

let time: VirtualTime
let log: RecordingLog
let calls: { readonly method: string; readonly ids: readonly string[]; readonly timeoutMs: number | undefined }[]
let failing: boolean
let respond: (ids: readonly string[]) => readonly Result[]
let outcomes: Settlement[]
let leases: Leases

const extended: Result = { ok: true, expires_at: 1 }
const lost: Result = { ok: false, error: 'lease_lost' }

function leasesWith(visibilityMs: number): Leases {
  return new Leases({
    timers: time,
    log,
    features: new MasterFeatures(time),
    visibilityMs,
    outcomes: { add: (outcome) => void outcomes.push(outcome) },
    rpc: {
      call: async <M extends RpcMethod>(method: M, params: RpcParams<M>, options?: { timeoutMs?: number }) => {
        const { tasks } = params as { tasks: readonly { task_id: string }[] }
        const ids = tasks.map(({ task_id: id }) => id)
        calls.push({ method, ids, timeoutMs: options?.timeoutMs })
        if (failing) throw new Error('not reachable')
        return { results: respond(ids) } as RpcResult<M>
      },
    },
  })
}

let nextToken = 0
const hold = (id: string): HeldLease =>
  leases.hold({ task_id: id, token: (nextToken += 1), payload: {}, attempt: 0 } as ReservedTask, CONFIG)
const sizes = (): number[] => calls.map(({ ids }) => ids.length)

beforeEach(() => {
  time = new VirtualTime()
  log = recordingLog()
  calls = []
  failing = false
  respond = (ids) => ids.map(() => extended)
  outcomes = []
  leases = leasesWith(VISIBILITY_MS)
})

describe('leases', () => {
  it('are extended in calls of at most 1,000, each once, within a third of the visibility timeout (D25)', async () => {
    const ids = Array.from({ length: 2_001 }, (_, i) => `t${i}`)
    for (const id of ids) hold(id)
    leases.start()
    await time.advance(20_000)
    expect(sizes()).toEqual([1_000, 1_000, 1])
    expect(calls.flatMap((call) => call.ids)).toEqual(ids)
    expect(calls[0]).toMatchObject({ method: 'tasks.extend', timeoutMs: 15_000 })
    leases.stop()
    calls = []
    leases = leasesWith(9_000)
    hold('short')
    leases.start()
    await time.advance(3_000)
    expect(calls).toEqual([{ method: 'tasks.extend', ids: ['short'], timeoutMs: 3_000 }])
  })

  it('are extended again a ninth of the visibility timeout after a failed call, with a warning (G11)', async () => {
    hold('a')
    leases.start()
    failing = true
    await time.advance(20_000)
    expect(log.lines).toEqual([
      { level: 'warn', message: 'failed to extend leases, retrying', fields: { leases: 1, error: 'not reachable' } },
    ])
    failing = false
    await time.advance(6_000)
    expect(sizes()).toEqual([1])
    await time.advance(1_000)
    expect(sizes()).toEqual([1, 1])
    await time.advance(19_000)
    expect(sizes()).toEqual([1, 1])
    await time.advance(1_000)
    expect(sizes()).toEqual([1, 1, 1])
  })

  it('are not extended after the stop, which may precede the start', async () => {
    leases.stop()
    leases.start()
    hold('a')
    leases.stop()
    await time.advance(VISIBILITY_MS)
    expect(calls).toEqual([])
  })

  it('end with a warning when the master reports them as lost, and only those (D24)', async () => {
    const [a, b, c] = [hold('a'), hold('b'), hold('c')]
    respond = () => [lost, extended] // The result of c is missing.
    leases.start()
    await time.advance(20_000)
    expect([a.isLost, b.isLost, c.isLost, leases.size]).toEqual([true, false, false, 2])
    expect(log.lines).toEqual([
      {
        level: 'warn',
        message: 'lease lost: the task may have been given to another worker',
        fields: { task_id: 'a' },
      },
    ])
  })

  it('whose outcome was reported during the call are not lost', async () => {
    const lease = hold('a')
    respond = () => {
      lease.ack()
      return [lost]
    }
    leases.start()
    await time.advance(20_000)
    expect([lease.isLost, log.lines, outcomes.length]).toEqual([false, [], 1])
  })

  it('that are settled or lost need no call to be extended', async () => {
    const [settled, ended] = [hold('settled'), hold('lost')]
    settled.ack()
    await settled.extend()
    expect(calls).toEqual([])
    respond = () => [lost]
    await expect(ended.extend()).rejects.toThrow(
      new LeaseLost('the lease of task lost was lost; another worker may have the task'),
    )
    await expect(ended.extend()).rejects.toThrow(LeaseLost)
    expect(sizes()).toEqual([1])
  })

  it('of a cancelled task end without an outcome, if id and token are those of the lease (D117)', async () => {
    const [held, other] = [hold('a'), hold('a')]
    leases.cancelled('b', held.token)
    leases.cancelled('a', other.token + 1)
    expect([held.isLost, other.isLost]).toEqual([false, false])
    leases.cancelled('a', held.token)
    leases.cancelled('a', held.token)
    expect([held.isLost, other.isLost, held.signal.reason]).toMatchObject([true, false, { why: 'lease_lost' }])
    held.ack()
    other.ack()
    expect(outcomes.map(({ item }) => item.token)).toEqual([other.token])
    await expect(held.extend()).rejects.toThrow(LeaseLost)
    expect(log.lines).toMatchObject([{ level: 'info', message: 'the task was cancelled, ending its run' }])
    leases.cancelled('a', other.token)
    expect(other.isLost).toBe(false)
  })

  it('of one task fail together, and those of other tasks stay', () => {
    for (const id of ['a', 'b', 'a']) hold(id)
    leases.fail('unknown', 'the slot crashed', {})
    expect(outcomes).toEqual([])
    leases.fail('a', 'the slot crashed', { permanent: true, retryInMs: 5 })
    expect(outcomes.map(({ method, item }) => [method, item.task_id])).toEqual([
      ['tasks.nack', 'a'],
      ['tasks.nack', 'a'],
    ])
    expect(outcomes[0]?.item).toMatchObject({ error: 'the slot crashed', permanent: true, retry_in_ms: 5 })
    leases.releaseAll()
    expect(outcomes.slice(2).map(({ method, item }) => [method, item.task_id])).toEqual([['tasks.release', 'b']])
    expect(leases.size).toBe(0)
  })
})
