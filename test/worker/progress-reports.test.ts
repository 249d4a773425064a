/** Tests how the progress of tasks is sent to the master (D114). */
import { beforeEach, describe, expect, it } from '@jest/globals'
import type { AppliedConfig } from '../../src/automation/index.ts'
import {
  RpcError,
  type ReservedTask,
  type RpcMethod,
  type RpcParams,
  type RpcResult,
} from '../../src/protocol/index.ts'
import { VirtualTime } from '../../src/runtime/index.ts'
import type { HeldLease } from '../../src/worker/lease.ts'
import { Leases } from '../../src/worker/leases.ts'
import { MasterFeatures } from '../../src/worker/master-features.ts'
import { recordingLog, type RecordingLog } from './fixtures.ts'

type Item = RpcParams<'tasks.extend'>['tasks'][number]

let time: VirtualTime
let log: RecordingLog
let features: MasterFeatures
let calls: (readonly Item[])[]
let failure: Error | null
let lost: readonly string[]
let leases: Leases

beforeEach(() => {
  time = new VirtualTime()
  log = recordingLog()
  features = new MasterFeatures(time)
  features.read({ 'muster-features': 'progress' })
  calls = []
  failure = null
  lost = []
  leases = new Leases({
    timers: time,
    log,
    features,
    visibilityMs: 600_000,
    outcomes: { add: () => {} },
    rpc: {
      call: async <M extends RpcMethod>(_: M, params: RpcParams<M>) => {
        const { tasks } = params as { tasks: readonly Item[] }
        calls.push(tasks)
        if (failure !== null) throw failure
        const results = tasks.map(({ task_id: id }) =>
          lost.includes(id) ? { ok: false, error: 'lease_lost' } : { ok: true, expires_at: 1 },
        )
        return { results } as RpcResult<M>
      },
    },
  })
})

let nextToken = 0
const hold = (id: string): HeldLease =>
  leases.hold(
    { task_id: id, token: (nextToken += 1), payload: {}, attempt: 0 } as ReservedTask,
    { enabled: true, slots: 1 } as AppliedConfig,
  )
/** The progress of each item of each call. */
const sent = (): unknown[] => calls.map((tasks) => tasks.map(({ progress }) => progress))

describe('the progress of tasks', () => {
  it('is sent at most once a second, the newest of all tasks together, the first immediately', async () => {
    const [a, b] = [hold('a'), hold('b')]
    a.report('1')
    expect(sent()).toEqual([[1]])
    a.report('2')
    b.report('{"page":1}')
    a.report('3')
    await time.advance(999)
    expect(sent()).toEqual([[1]])
    await time.advance(1)
    expect(sent()).toEqual([[1], [3, { page: 1 }]])
    await time.advance(10_000)
    expect(calls).toHaveLength(2)
  })

  it('is sent with the nack or release of its task, and not after an ack', async () => {
    const tasks = [hold('a'), hold('b'), hold('c')]
    const [a, b, c] = tasks as [HeldLease, HeldLease, HeldLease]
    for (const lease of tasks) lease.report('1')
    expect(sent()).toEqual([[1]])
    for (const lease of tasks) lease.report('2')
    a.nack('failed')
    b.release()
    c.ack()
    expect(sent()).toEqual([[1], [2], [2]])
    for (const lease of tasks) lease.report('3') // The runs have ended.
    await time.advance(5_000)
    expect(calls).toHaveLength(3)
  })

  it('waits while a master does not offer it, and is never sent to it', async () => {
    features.read({ 'muster-features': 'stream' })
    const lease = hold('a')
    lease.report('1')
    lease.report('2')
    await time.advance(5_000)
    expect(calls).toEqual([])
    features.read({ 'muster-features': 'stream, progress' })
    await time.advance(1_000)
    expect(sent()).toEqual([[2]])
  })

  it('is not sent for 60 s after a master rejected it', async () => {
    failure = new RpcError('invalid_params', 'params/tasks/0/progress: is not allowed')
    const lease = hold('a')
    lease.report('1')
    await time.advance(0)
    failure = null
    lease.report('2')
    await time.advance(59_000)
    expect(calls).toHaveLength(1)
    await time.advance(2_000)
    expect(sent()).toEqual([[1], [2]])
    const warning = 'the master rejects the progress of tasks; reporting none for 60 s'
    expect(log.lines).toMatchObject([{ level: 'warn', message: warning }])
  })

  it('is sent again when the master did not respond, unless a newer value has replaced it', async () => {
    failure = new RpcError('unavailable', 'not reachable')
    const [a, b] = [hold('a'), hold('b')]
    a.report('1')
    b.report('1')
    await time.advance(1_000)
    b.report('2')
    failure = null
    await time.advance(1_000)
    expect(sent().at(-1)).toEqual(expect.arrayContaining([1, 2]))
    await time.advance(5_000)
    expect(calls).toHaveLength(3)
  })

  it('ends the run of a lease that was lost', async () => {
    lost = ['a']
    const lease = hold('a')
    lease.report('1')
    await time.advance(1_000)
    expect([lease.isLost, lease.signal.aborted, leases.size]).toEqual([true, true, 0])
  })

  it('is sent in calls of at most 512', async () => {
    hold('first').report('0')
    for (let i = 0; i < 513; i += 1) hold(`t${i}`).report('1')
    await time.advance(1_000)
    expect(calls.map((tasks) => tasks.length)).toEqual([1, 512, 1])
  })
})
