/** Tests how outcomes of tasks are grouped, sent again, discarded and awaited. */
import { beforeEach, describe, expect, it } from '@jest/globals'
import { MAX_BODY_BYTES, RpcError } from '../../src/protocol/index.ts'
import { seededRandom, VirtualTime } from '../../src/runtime/index.ts'
import { MasterFeatures } from '../../src/worker/master-features.ts'
import type { Settlement } from '../../src/worker/lease.ts'
import { OutcomeQueue } from '../../src/worker/outcome-queue.ts'
import type { BatchedCall, BatchedResult } from '../../src/worker/rpc-client.ts'
import { recordingLog, type RecordingLog } from './fixtures.ts'

type Item = Settlement['item']

let time: VirtualTime
let log: RecordingLog
let again: string[]
/** Ids of each call of each request. */
let sent: (readonly string[])[][]
/** Results of the next requests; the last one repeats. */
let results: ((call: BatchedCall) => BatchedResult)[]
let outcomes: OutcomeQueue
let died: number

const itemsOf = ({ params }: BatchedCall): readonly Item[] => (params as { tasks: readonly Item[] }).tasks
const accepted = (call: BatchedCall): BatchedResult => ({
  ok: true,
  result: { results: itemsOf(call).map(() => ({ ok: true })) },
})
const refused =
  (code: ConstructorParameters<typeof RpcError>[0], message: string, data = {}) =>
  (): BatchedResult => ({ ok: false, error: new RpcError(code, message, data) })
const ack = (id: string): Settlement => ({ method: 'tasks.ack', item: { task_id: id, token: 1 } })
const nack = (id: string, error: string): Settlement => ({
  method: 'tasks.nack',
  item: { task_id: id, token: 1, error },
})
const counts = (): number[] => sent.map((calls) => calls.flat().length)
const levels = (): string[] => log.lines.map(({ level, message }) => `${level} ${message}`)

beforeEach(() => {
  time = new VirtualTime()
  log = recordingLog()
  again = []
  died = 0
  sent = []
  results = [accepted]
  outcomes = new OutcomeQueue({
    timers: time,
    random: seededRandom(5),
    log,
    features: new MasterFeatures(time),
    rpc: {
      batch: async (calls) => {
        sent.push(calls.map((call) => itemsOf(call).map((item) => item.task_id)))
        const result = (results.length > 1 ? results.shift() : results[0]) ?? accepted
        return calls.map(result)
      },
    },
    onDied: () => void (died += 1),
    registerAgain: (why) => void again.push(why),
  })
})

describe('the outcome queue', () => {
  it('lets an ack wait up to 10 ms for others, and sends them together', async () => {
    outcomes.add(ack('a'))
    await time.advance(5)
    outcomes.add(ack('b'))
    await time.advance(4)
    expect(sent).toEqual([])
    await time.advance(1)
    expect(sent).toEqual([[['a', 'b']]])
  })

  it.each<[string, Settlement]>([
    ['a nack', nack('b', 'x')],
    ['a release', { method: 'tasks.release', item: { task_id: 'b', token: 1 } }],
    ['an ack of a retained task', { ...ack('b'), isRetained: true } as Settlement],
  ])('sends %s immediately, and what waits with it', async (_, urgent) => {
    outcomes.add(ack('a'))
    await time.advance(1)
    outcomes.add(urgent)
    await time.advance(0)
    expect(sent.flat(2).toSorted()).toEqual(['a', 'b'])
    outcomes.add(urgent)
    await time.advance(0)
    expect(sent).toHaveLength(2)
  })

  it('reports each task that the master moved to the dead-letter queue (D151)', async () => {
    const outcomeOf = ({ task_id: id }: Item): string => (id === 'b' ? 'scheduled' : 'dead')
    results = [
      (call) => ({
        ok: true,
        result: { results: itemsOf(call).map((item) => ({ ok: true, outcome: outcomeOf(item) })) },
      }),
    ]
    for (const id of ['a', 'b', 'c']) outcomes.add(nack(id, 'x'))
    await time.advance(0)
    expect(died).toBe(2)
  })

  it('sends what waits immediately when the worker stops', async () => {
    outcomes.add(ack('a'))
    const idle = outcomes.idle()
    await time.advance(0)
    await idle
    expect(sent).toEqual([[['a']]])
  })

  it('discards outcomes that the master rejects for good, and names their tasks (G11)', async () => {
    results = [refused('invalid_params', 'token must be a number'), accepted]
    outcomes.add(ack('a'))
    outcomes.add(ack('b'))
    await time.advance(60_000)
    expect(sent).toEqual([[['a', 'b']]])
    expect(again).toEqual([])
    expect(log.lines).toEqual([
      {
        level: 'error',
        message:
          'discarding task outcomes that the master rejects: the tasks return to the queue when their leases expire',
        fields: { error: 'token must be a number', tasks: ['a', 'b'] },
      },
    ])
  })

  it('sends outcomes again without results to a master that rejects results (D110)', async () => {
    const withResult = (id: string): Settlement => ({
      method: 'tasks.ack',
      item: { task_id: id, token: 1, result: { of: id } },
      bytes: 10,
    })
    const seen: (readonly Item[])[] = []
    const noting =
      (respond: (call: BatchedCall) => BatchedResult) =>
      (call: BatchedCall): BatchedResult => {
        seen.push(itemsOf(call))
        return respond(call)
      }
    results = [noting(refused('invalid_params', '/tasks/0/result: unknown field')), noting(accepted)]
    outcomes.add(withResult('a'))
    outcomes.add(ack('b'))
    await time.advance(1_000)
    expect(seen).toEqual([
      [withResult('a').item, ack('b').item],
      [ack('a').item, ack('b').item],
    ])
    expect(levels()).toEqual(['warn the master rejects results of tasks; sending the outcomes again without them'])
    outcomes.add(withResult('c'))
    await time.advance(60_000)
    outcomes.add(withResult('d'))
    await time.advance(1_000)
    expect(seen.slice(2)).toEqual([[ack('c').item], [withResult('d').item]])
  })

  it('keeps the results of one request below half of the largest body', async () => {
    const bytes = MAX_BODY_BYTES / 16
    for (let i = 0; i < 12; i += 1) outcomes.add({ ...ack(`t${i}`), method: 'tasks.ack', bytes })
    await time.advance(60_000)
    expect(counts()).toEqual([7, 5])
  })

  it('registers again and repeats the outcomes when the master has no record of the worker (G11)', async () => {
    results = [refused('unknown_worker', 'register first'), accepted]
    outcomes.add(ack('a'))
    await time.advance(10_000)
    expect(sent).toEqual([[['a']], [['a']]])
    expect(again).toEqual(['the master has no record of this worker'])
    expect(log.lines).toEqual([
      {
        level: 'warn',
        message: 'failed to deliver task outcomes, retrying',
        fields: { error: 'register first', waiting: 1, retry_in_ms: expect.any(Number) },
      },
    ])
  })

  it('repeats the call that failed, and not the one beside it that succeeded (G11)', async () => {
    results = [
      (call) => (call.method === 'tasks.ack' ? accepted(call) : refused('unavailable', 'the store is unavailable')()),
      accepted,
    ]
    outcomes.add(ack('a'))
    outcomes.add(nack('b', 'no'))
    await time.advance(0)
    expect(sent).toEqual([[['a'], ['b']]])
    await time.advance(10_000)
    expect(sent).toEqual([[['a'], ['b']], [['b']]])
    expect(again).toEqual([])
  })

  it('waits as long as the slowest call of a request demands', async () => {
    results = [
      (call) => refused('unavailable', 'later', { retry_after_ms: call.method === 'tasks.ack' ? 20_000 : 1 })(),
      accepted,
    ]
    outcomes.add(ack('a'))
    outcomes.add(nack('b', 'no'))
    await time.advance(15_000)
    expect(sent).toHaveLength(1)
    await time.advance(60_000)
    expect(sent.slice(1)).toEqual([[['a'], ['b']]])
  })

  it('starts with a short delay again after a success', async () => {
    const failing = refused('unavailable', 'the store is unavailable')
    results = [...Array.from({ length: 8 }, () => failing), accepted, failing, accepted]
    outcomes.add(ack('a'))
    await time.advance(60_000)
    outcomes.add(ack('b'))
    await time.advance(10)
    const retries = log.lines.map(({ fields }) => Number(fields['retry_in_ms']))
    expect(Math.max(...retries)).toBeGreaterThan(2_000)
    expect(retries.at(-1)).toBeLessThanOrEqual(200)
  })

  it('logs each outcome that a short or empty response does not confirm', async () => {
    results = [
      () => ({ ok: true, result: { results: [{ ok: true }, { ok: false }] } }),
      () => ({ ok: true, result: {} }),
    ]
    for (const id of ['a', 'b', 'c']) outcomes.add(ack(id))
    await time.advance(10)
    outcomes.add(nack('d', 'no'))
    await time.advance(60_000)
    expect(counts()).toEqual([3, 1])
    expect(log.lines.map(({ fields }) => [fields['method'], fields['task_id']])).toEqual([
      ['tasks.ack', 'b'],
      ['tasks.ack', 'c'],
      ['tasks.nack', 'd'],
    ])
  })

  it('halves its requests only while the master rejects them as too large, down to one outcome', async () => {
    results = [...[1, 2].map(() => refused('unavailable', 'HTTP 413', { status: 413 })), accepted]
    for (let i = 0; i < 600; i += 1) outcomes.add(ack(`a${i}`))
    await time.advance(60_000)
    expect(counts()).toEqual([600, 300, 150, 150, 150, 150])
    sent = []
    results = [refused('unavailable', 'HTTP 502', { status: 502 }), accepted]
    for (let i = 0; i < 150; i += 1) outcomes.add(ack(`b${i}`))
    await time.advance(60_000)
    expect(counts()).toEqual([150, 150])
    results = [...Array.from({ length: 10 }, () => refused('unavailable', 'HTTP 413', { status: 413 })), accepted]
    for (const id of ['c', 'd']) outcomes.add(ack(id))
    await time.advance(120_000)
    expect(counts().slice(-2)).toEqual([1, 1])
  })

  it('halves a small request that the master rejects as too large, not only the maximum', async () => {
    results = [refused('unavailable', 'HTTP 413', { status: 413 }), accepted]
    for (let i = 0; i < 13; i += 1) outcomes.add(ack(`a${i}`))
    await time.advance(10_000)
    expect(counts()).toEqual([13, 6, 6, 1])
  })

  it('keeps a request below half of the maximum body, counting ids and error texts in bytes', async () => {
    const half = MAX_BODY_BYTES / 2
    const id = 'ü'.repeat(100)
    const error = 'x'.repeat(20_000)
    const fitting = Math.floor(half / (128 + 200 + 2 * 20_000))
    for (let i = 0; i < 2 * fitting + 1; i += 1) outcomes.add(nack(id, error))
    await time.advance(0)
    expect(counts()).toEqual([fitting, fitting, 1])
    sent = []
    outcomes.add(nack('alone', 'x'.repeat(half)))
    outcomes.add(ack('next'))
    await time.advance(0)
    expect(sent).toEqual([[['alone']], [['next']]])
    sent = []
    outcomes.add(nack('exact', 'x'.repeat((half - 2 * 128 - 'exact'.length - 'next'.length) / 2 - 0.5)))
    outcomes.add(ack('next'))
    await time.advance(0)
    expect(counts()).toEqual([2])
  })

  it('is idle only when nothing waits, and immediately when nothing was added', async () => {
    const order: string[] = []
    await outcomes.idle()
    results = [refused('unavailable', 'the store is unavailable'), accepted]
    outcomes.add(ack('a'))
    const waiting = [outcomes.idle().then(() => order.push('idle')), outcomes.idle().then(() => order.push('idle'))]
    await time.advance(0)
    expect([order, counts()]).toEqual([[], [1]])
    await time.advance(10_000)
    await Promise.all(waiting)
    expect([order, counts()]).toEqual([
      ['idle', 'idle'],
      [1, 1],
    ])
    expect(levels()).toEqual(['warn failed to deliver task outcomes, retrying'])
  })

  it('sends nothing more after its stop', async () => {
    results = [refused('unavailable', 'the store is unavailable')]
    outcomes.add(ack('a'))
    await time.advance(10)
    outcomes.stop()
    await time.advance(60_000)
    await outcomes.idle()
    expect(counts()).toEqual([1])
  })
})
