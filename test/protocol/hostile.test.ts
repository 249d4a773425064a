/**
 * Sends hostile text to everything that decodes text: frames in both directions, RPC params and bodies. The result must
 * be a value or the decoder's own error, in bounded time, without a change of prototypes.
 */
import { afterEach, describe, expect, it } from '@jest/globals'
import fc from 'fast-check'
import { checkDocument, parseJson } from '../../src/master/http/json-document.ts'
import { SLACK } from '../kit/index.ts'
import {
  decodeMasterFrame,
  decodeWorkerFrame,
  FleetError,
  FrameFault,
  MASTER_FRAMES,
  MAX_FRAME_BYTES,
  RPC_METHODS,
  RPC_VALIDATORS,
  WORKER_FRAMES,
  type FieldError,
} from '../../src/protocol/index.ts'

/**
 * Time limit for a text of the maximum frame size on a slow machine: far more than any text takes, far less than
 * backtracking would.
 */
const WITHIN_MS = 2_000
const RUNS = { numRuns: 1_000 }

afterEach(() => {
  expect(Object.keys(Object.prototype)).toEqual([])
  expect(({} as Record<string, unknown>)['polluted']).toBeUndefined()
})

const FRAMES: readonly string[] = [
  {
    type: 'register',
    worker_id: 'w',
    automation_type: 'mailer',
    protocol_version: 1,
    hardware: { cores: 1, ram_gb: 2, hostname: 'h', kernel: 'k' },
    instance_id: 'i',
    labels: { zone: 'eu-1' },
  },
  { type: 'state', state: 'RUNNING', config_gen: 3, ts: 1.5, last_error: null },
  {
    type: 'stats',
    slots: 1,
    cpu_pct: 0.5,
    rss_mb: 10,
    ts: 1,
    metrics: { 'counter.x': 1 },
    per_slot: [{ slot_id: 0, age_seconds: 1, counters: {} }],
  },
  { type: 'output', slot_id: 0, ts: 1, payload: { a: [1, { b: null }] } },
  { type: 'output_batch', outputs: [{ slot_id: 0, ts: 1, payload: {} }] },
  { type: 'ping', id: 'x' },
  { type: 'config_changed', config_gen: 4 },
  { type: 'drain' },
  { type: 'task_assign', task_id: 't', payload: {} },
].map((frame) => JSON.stringify(frame))

const nested = (open: string, middle: string, close: string, depth: number): string =>
  open.repeat(depth) + middle + close.repeat(depth)
/** JSON, or almost, to replace a value with. */
const value = fc.oneof(
  fc.json({ maxDepth: 4 }),
  fc.json().map((text) => `{"__proto__":${text},"constructor":{"prototype":{"polluted":${text}}}}`),
  fc.constantFrom(
    '1e400',
    '-1e400',
    '1e-400',
    '-0',
    '9007199254740993',
    '123456789012345678901234567890',
    '0.1e1',
    '01',
    '+1',
    'NaN',
    'Infinity',
    '"\\ud800"',
    '"\\u0000"',
    '"\u0000"',
    '\ufeff1',
    "'x'",
    '{"a":1,"a":"2"}',
    '{"__proto__":{"polluted":true}}',
    '{"__proto__":null}',
    '[]',
    '{}',
    '""',
    'null',
    'true',
    nested('[', '', ']', 5_000),
    nested('{"a":', '1', '}', 5_000),
    `"${'x'.repeat(10_000)}"`,
  ),
)
/** A frame with one value replaced, one field added or duplicated, or one part removed. */
const twisted = fc.oneof(
  fc.tuple(fc.constantFrom(...FRAMES), value, fc.nat()).map(([frame, text, at]) => {
    const places = [...frame.matchAll(/:("[^"]*"|[\d.]+|null|\{\}|\[)/g)]
    const place = places[at % places.length]
    return place === undefined
      ? frame
      : `${frame.slice(0, place.index)}:${text}${frame.slice(place.index + place[0].length)}`
  }),
  fc
    .tuple(
      fc.constantFrom(...FRAMES),
      fc.constantFrom('type', '__proto__', 'constructor', 'toString', 'payload', 'ts', ''),
      value,
    )
    .map(([frame, key, text]) => `${frame.slice(0, -1)},${JSON.stringify(key)}:${text}}`),
  fc
    .tuple(fc.constantFrom(...FRAMES), fc.nat(), fc.nat())
    .map(([frame, one, other]) => frame.slice(0, one % frame.length) + frame.slice(other % frame.length)),
  fc.string({ unit: 'binary' }),
  value,
)

/** Decodes a text. @returns the value, or the error that the decoder may throw. */
function outcome(decode: (text: string) => unknown, text: string, own: new (...args: never[]) => Error): unknown {
  const startedMs = performance.now()
  try {
    return decode(text)
  } catch (error) {
    if (!(error instanceof own)) throw error
    return error
  } finally {
    expect(performance.now() - startedMs).toBeLessThan(WITHIN_MS * SLACK)
  }
}

describe.each([
  ['decodeWorkerFrame', decodeWorkerFrame, WORKER_FRAMES],
  ['decodeMasterFrame', decodeMasterFrame, MASTER_FRAMES],
] as const)('%s', (_, decode, schemas) => {
  it('returns a known frame or throws a FrameFault for hostile text (D12)', () => {
    fc.assert(
      fc.property(twisted, (text) => {
        const result = outcome(decode, text, FrameFault)
        if (result instanceof FrameFault) return expect(result.message).not.toBe('')
        const frame = result as { type: string }
        expect(Object.keys(schemas)).toContain(frame.type)
        expect(Object.getPrototypeOf(frame)).toBe(Object.prototype)
        expect(Object.hasOwn(frame, '__proto__')).toBe(false)
      }),
      RUNS,
    )
  })

  it('uses the last of duplicate keys, as JSON does, so that the checked value is the used one', () => {
    const twice = decode('{"type":"drain","type":"ping","id":"1","id":"2"}')
    expect(twice).toEqual({ type: 'ping', id: '2' })
    expect(outcome(decode, '{"type":"ping","id":"1","type":"nothing"}', FrameFault)).toMatchObject({
      isUnknownType: true,
    })
  })
})

const MIB = MAX_FRAME_BYTES
/** Frames of the maximum size, each difficult in another way. */
const LARGE: readonly (readonly [string, string])[] = [
  ['levels of arrays', nested('[', '', ']', MIB / 2 - 100)],
  ['levels of objects', nested('{"":', '0', '}', MIB / 5 - 100)],
  ['levels that never close', '['.repeat(MIB - 100)],
  ['keys', `{${Array.from({ length: MIB / 12 }, (_, index) => `"${index}":0`).join()}}`],
  ['duplicate keys', `{${'"a":0,'.repeat(MIB / 7)}"a":0}`],
  ['values', `[${'0,'.repeat(MIB / 2 - 100)}0]`],
  ['digits', '9'.repeat(MIB - 100)],
  ['digits of an exponent', `1e${'9'.repeat(MIB - 100)}`],
  ['characters', `"${'x'.repeat(MIB - 100)}"`],
  ['escapes', `"${'\\u0061'.repeat(MIB / 6 - 100)}"`],
  ['control characters in escapes', `"${'\\u0000'.repeat(MIB / 6 - 100)}"`],
  ['halves of pairs', `"${'\\ud800'.repeat(MIB / 6 - 100)}"`],
  ['blanks', ' '.repeat(MIB - 100)],
]

describe('a frame of a mebibyte', () => {
  it.each(LARGE)('of %s is decoded or rejected in time, at any position', (_, text) => {
    for (const frame of [
      `{"type":"output","slot_id":0,"ts":1,"payload":${text}}`,
      `{"type":"stats","metrics":${text}}`,
      `{"type":"ping","id":${text}}`,
      `{"type":${text}}`,
      `{"type":"state",${text.slice(1, -1)}}`,
      text,
    ]) {
      outcome(decodeWorkerFrame, frame, FrameFault)
      outcome(decodeMasterFrame, frame, FrameFault)
    }
  })
})

describe('a body', () => {
  const read = (text: string): unknown => checkDocument(parseJson(text))
  it('that is hostile is counted, or rejected with a FleetError that does not quote it', () => {
    fc.assert(
      fc.property(twisted, (text) => {
        const result = outcome(read, text, FleetError)
        if (!(result instanceof FleetError)) return expect(result).toBeGreaterThan(0)
        expect(['BAD_REQUEST', 'INVALID']).toContain(result.code)
        if (result.code === 'BAD_REQUEST') expect(result.detail).toBe('the body is not JSON')
      }),
      RUNS,
    )
  })

  it.each(LARGE)('of a mebibyte of %s is counted or rejected in time', (_, text) => {
    for (const body of [text, `{"payload":${text}}`]) outcome(read, body, FleetError)
  })
})

describe('the params of an rpc call', () => {
  const validate = (method: string, params: unknown): readonly FieldError[] =>
    RPC_VALIDATORS.get(method)?.(params) ?? []
  const jsonValue = value.map((text): unknown => {
    try {
      return JSON.parse(text)
    } catch {
      return text
    }
  })
  const params = fc.oneof(
    jsonValue,
    fc.dictionary(
      fc.constantFrom(
        'tasks',
        'key',
        'name',
        'token',
        'hold_ms',
        'value',
        'delta',
        'pool',
        'items',
        'match',
        'namespace',
        'limit',
        '__proto__',
      ),
      jsonValue,
    ),
  )

  it('are accepted or rejected in time, and stay unchanged', () => {
    fc.assert(
      fc.property(fc.constantFrom(...RPC_METHODS), params, (method, sent) => {
        const before = typeof sent === 'object' ? Object.keys(sent ?? {}).join() : ''
        const faults = outcome(() => validate(method, sent), '', Error) as readonly FieldError[]
        expect(faults.length).toBeLessThanOrEqual(100)
        if (typeof sent === 'object') expect(Object.keys(sent ?? {}).join()).toBe(before)
      }),
      RUNS,
    )
  })

  const large = LARGE.map(([, text]) => outcome(parseJson, text, FleetError))
  it.each([...RPC_METHODS])('of a mebibyte are checked in time: %s', (method) => {
    for (const parsed of large) {
      for (const sent of [
        parsed,
        {
          tasks: parsed,
          items: parsed,
          key: parsed,
          name: parsed,
          pool: parsed,
          match: parsed,
          value: parsed,
          message: parsed,
          topic: parsed,
        },
      ])
        outcome(() => validate(method, sent), '', Error)
    }
  })
})
