import { describe, expect, it } from '@jest/globals'
import fc from 'fast-check'
import { decodeMasterFrame, decodeWorkerFrame, FrameFault, isWorkerId } from '../../src/protocol/index.ts'

const register = {
  type: 'register',
  worker_id: 'w',
  automation_type: 'mailer',
  protocol_version: 1,
  hardware: { cores: 1, ram_gb: 2, hostname: 'h', kernel: 'k' },
}
const state = { type: 'state', state: 'RUNNING', config_gen: 3, ts: 1.5, last_error: null }
const stats = { type: 'stats', slots: 1, cpu_pct: 0.5, rss_mb: 10, ts: 1, metrics: { 'counter.x': 1 } }
/** This many labels. */
const pairs = (n: number): Record<string, string> =>
  Object.fromEntries(Array.from({ length: n }, (_, i) => [`k${i}`, 'v']))
const output = { type: 'output', slot_id: 0, ts: 1, payload: {} }

describe('decodeWorkerFrame', () => {
  it.each([
    register,
    { ...register, instance_id: 'i' },
    { ...register, labels: {} },
    { ...register, labels: null },
    { ...register, labels: { zone: 'eu-1', 'example.com/tier': '', a: ' ~' } },
    { ...register, labels: { [`a${'-'.repeat(61)}z`]: 'v'.repeat(63) } },
    { ...register, labels: pairs(16) },
    state,
    { ...state, last_error: 'x' },
    stats,
    { ...stats, per_slot: [{ slot_id: 0, age_seconds: 1, counters: {} }] },
    output,
    { type: 'output_batch', outputs: [{ slot_id: 0, ts: 1, payload: { a: 1 } }] },
    { type: 'ping', id: '' },
  ])('accepts %j unchanged', (frame) => {
    expect(decodeWorkerFrame(JSON.stringify(frame))).toEqual(frame)
  })

  it.each<[object | string, RegExp]>([
    ['not json', /not JSON/],
    ['[]', /not a JSON object/],
    ['null', /not a JSON object/],
    ['"x"', /not a JSON object/],
    ['{}', /\/type: expected a string/],
    ['{"type":1}', /\/type/],
    [{ ...register, extra: 1 }, /\/extra: is not a known field/],
    [{ ...register, worker_id: 'a/b' }, /\/worker_id/],
    [{ ...register, worker_id: '' }, /\/worker_id/],
    [{ ...register, hardware: {} }, /\/hardware\/cores: is required/],
    [{ ...register, protocol_version: '1' }, /\/protocol_version/],
    [{ ...register, labels: [] }, /\/labels/],
    [{ ...register, labels: { zone: 1 } }, /\/labels\/zone/],
    [{ ...register, labels: { zone: 'v'.repeat(64) } }, /\/labels\/zone/],
    [{ ...register, labels: { zone: 'ü' } }, /\/labels\/zone/],
    [{ ...register, labels: { zone: 'a\nb' } }, /\/labels\/zone/],
    [{ ...register, labels: { Zone: 'a' } }, /\/labels\/Zone: is not a known field/],
    [{ ...register, labels: { '': 'a' } }, /\/labels\//],
    [{ ...register, labels: { 'zone-': 'a' } }, /\/labels\/zone-/],
    [{ ...register, labels: { [`a${'-'.repeat(62)}z`]: 'a' } }, /\/labels\/a-/],
    [{ ...register, labels: JSON.parse('{"__proto__":"a"}') as object }, /\/labels\/__proto__/],
    [{ ...register, labels: pairs(17) }, /\/labels/],
    [{ ...state, state: 'DRAINING' }, /\/state/],
    [{ ...state, config_gen: -1 }, /\/config_gen/],
    [{ ...state, ts: null }, /\/ts/],
    [{ ...stats, metrics: [] }, /\/metrics/],
    [{ ...output, payload: 'text' }, /\/payload/],
    [{ ...output, slot_id: 1.5 }, /\/slot_id/],
    [{ type: 'output_batch', outputs: [] }, /\/outputs/],
    [
      { type: 'output_batch', outputs: Array.from({ length: 1_001 }, () => ({ slot_id: 0, ts: 1, payload: {} })) },
      /\/outputs/,
    ],
    [{ type: 'ping' }, /\/id: is required/],
  ])('rejects %j, naming the field (D12)', (frame, reason) => {
    const text = typeof frame === 'string' ? frame : JSON.stringify(frame)
    expect(() => decodeWorkerFrame(text)).toThrow(FrameFault)
    expect(() => decodeWorkerFrame(text)).toThrow(reason)
  })

  it('distinguishes an unknown type, which has another close code (D12)', () => {
    expect(() => decodeWorkerFrame('{"type":"config_changed","config_gen":1}')).toThrow(
      expect.objectContaining({ isUnknownType: true }),
    )
    expect(() => decodeWorkerFrame('{"type":"__proto__"}')).toThrow(expect.objectContaining({ isUnknownType: true }))
  })

  it('returns a frame or throws a FrameFault for any text', () => {
    fc.assert(
      fc.property(
        fc.oneof(
          fc.string(),
          fc.json(),
          fc.json().map((value) => `{"type":"output","payload":${value}}`),
        ),
        (text) => {
          try {
            decodeWorkerFrame(text)
          } catch (error) {
            expect(error).toBeInstanceOf(FrameFault)
          }
        },
      ),
      { numRuns: 500 },
    )
    expect(Object.keys(Object.prototype)).toEqual([])
  })
})

describe('decodeMasterFrame', () => {
  it.each([
    { type: 'config_changed', config_gen: 4 },
    { type: 'drain' },
    { type: 'ping', id: 'x' },
    { type: 'task_assign', task_id: 't', payload: {} },
  ])('accepts %j', (frame) => {
    expect(decodeMasterFrame(JSON.stringify(frame))).toEqual(frame)
  })
  it('rejects a frame of the other direction', () => {
    expect(() => decodeMasterFrame(JSON.stringify(state))).toThrow(
      /"state" is not known; known: config_changed, drain, ping, task_cancelled, task_assign/,
    )
  })
})

describe('isWorkerId', () => {
  it.each(['a', 'mail worker ü', '😀'.repeat(256), '{x}', '*', ':'])('accepts %j (D56)', (id) =>
    expect(isWorkerId(id)).toBe(true),
  )
  it.each(['', '.', '..', 'a/b', 'a\nb', '\u0000', 'a\u0085', '\ud800', 'x'.repeat(257)])(
    'rejects %j (D56, D59)',
    (id) => expect(isWorkerId(id)).toBe(false),
  )
})
