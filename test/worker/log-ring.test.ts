/** The ring of log entries in a worker (D181). */
import { describe, expect, it } from '@jest/globals'
import {
  decodeMasterFrame,
  decodeWorkerFrame,
  LOG_RING_BYTES,
  LOG_RING_ENTRIES,
  MAX_JSON_DEPTH,
  MAX_LOG_ENTRIES_PER_READ,
  MAX_LOG_ENTRY_BYTES,
  MAX_LOG_READ_BYTES,
  type MasterFrame,
  type WorkerFrame,
} from '../../src/protocol/index.ts'
import { createLog, seededRandom, VirtualTime, withLogFields } from '../../src/runtime/index.ts'
import { LogRing } from '../../src/worker/log-ring.ts'
import { logInto } from '../../src/worker/logs.ts'

type ReadLogs = Extract<MasterFrame, { type: 'read_logs' }>
type Logs = Extract<WorkerFrame, { type: 'logs' }>

function fixture() {
  const time = new VirtualTime()
  const ring = new LogRing(time)
  const readText = (query: Partial<ReadLogs> = {}): string => {
    const frame = decodeMasterFrame(JSON.stringify({ type: 'read_logs', id: 'r', limit: 200, ...query })) as ReadLogs
    return ring.read(frame)
  }
  const read = (query: Partial<ReadLogs> = {}): Logs => decodeWorkerFrame(readText(query)) as Logs
  const all = (query: Partial<ReadLogs> = {}): Logs['entries'] => {
    const pages: Logs['entries'] = []
    for (let after = 0; ;) {
      const page = read({ limit: MAX_LOG_ENTRIES_PER_READ, after, ...query })
      pages.push(...page.entries)
      if (!page.has_more) return pages
      after = page.next
    }
  }
  return { time, ring, read, readText, all }
}

const messages = ({ entries }: Pick<Logs, 'entries'>): string[] => entries.map(({ message }) => message)
const depthOf = (value: unknown): number =>
  typeof value === 'object' && value !== null ? 1 + Math.max(0, ...Object.values(value).map(depthOf)) : 0

describe('the ring of log entries', () => {
  it('returns nothing before the first entry', () => {
    const { time, read } = fixture()
    const page = read()
    expect(page).toMatchObject({ id: 'r', entries: [], has_more: false, missed: 0, started_at: time.wallMs() / 1_000 })
    expect(read({ after: page.next })).toMatchObject({ entries: [], missed: 0, next: page.next })
  })

  it('keeps time, level, message, fields, and the slot, task and attempt of the run', async () => {
    const { time, ring, read } = fixture()
    await time.advance(1_234)
    withLogFields({ slot_id: 3, task_id: 't-1', attempt: 2, automation_type: 'x' }, () =>
      ring.add('warn', 'slow', { ms: 17, url: 'http://a.invalid', task_id: 'of the plugin', none: undefined }),
    )
    ring.add('info', 'lease lost', { task_id: 't-2' })
    expect(read().entries).toEqual([
      {
        seq: expect.any(Number),
        ts: time.wallMs() / 1_000,
        level: 'warn',
        message: 'slow',
        slot_id: 3,
        task_id: 't-1',
        attempt: 2,
        fields: { ms: 17, url: 'http://a.invalid', task_id: 'of the plugin' },
      },
      expect.objectContaining({ slot_id: null, task_id: 't-2', attempt: null }),
    ])
  })

  it('keeps the newest 5,000 entries, and reports how many were overwritten', () => {
    const { ring, read, all } = fixture()
    const { next: start } = read()
    for (let i = 0; i < LOG_RING_ENTRIES + 7; i += 1) ring.add('info', `line ${i}`)
    expect(ring.size).toBe(LOG_RING_ENTRIES)
    const kept = all()
    expect(kept).toHaveLength(LOG_RING_ENTRIES)
    expect([kept[0]?.message, kept.at(-1)?.message]).toEqual(['line 7', `line ${LOG_RING_ENTRIES + 6}`])
    expect(read({ after: 0 }).missed).toBe(7)
    expect(read({ after: start + 3 }).missed).toBe(4)
    expect(read({ after: start + 7 }).missed).toBe(0)
  })

  it('keeps at most 1 MiB, whatever is logged', () => {
    const { ring, all } = fixture()
    const random = seededRandom(7)
    for (let i = 0; i < 3_000; i += 1) {
      ring.add('info', '€'.repeat(Math.floor(20_000 * random.unit() ** 4)), { i, pad: 'x'.repeat(i % 9_000) })
      expect(ring.bytes).toBeLessThanOrEqual(LOG_RING_BYTES)
    }
    const entries = all()
    expect(entries).toHaveLength(ring.size)
    const bytes = entries.reduce((sum, entry) => sum + Buffer.byteLength(JSON.stringify(entry)), 0)
    expect(bytes).toBe(ring.bytes)
    expect(bytes).toBeGreaterThan(LOG_RING_BYTES - MAX_LOG_ENTRY_BYTES)
  })

  it.each<[string, unknown, Record<string, unknown>]>([
    ['a message of 1 MB', 'x'.repeat(1_000_000), {}],
    ['a field of 1 MB', 'x', { pad: '\u0000'.repeat(1_000_000) }],
    ['10,000 fields', 'x', Object.fromEntries(Array.from({ length: 10_000 }, (_, i) => [`f${i}`, i]))],
    ['a field with a name of 1 MB', 'x', { ['n'.repeat(1_000_000)]: 1 }],
    ['control characters', '\u0000\u001b[31m\r\n\u0085\u2028\uffff', { tab: '\t' }],
    ['HTML and marks from right to left', '<img src=x onerror=alert(1)>\u202e\u2066\u200f', { html: '<script>' }],
    ['half a surrogate pair', `\ud83d ${'😀'.repeat(9_000)}`, { half: '\udc00' }],
    ['1,000 levels', 'x', { deep: JSON.parse(`${'['.repeat(1_000)}${']'.repeat(1_000)}`) as unknown }],
    ['braces inside of text', 'x', { text: { a: '[[[[[[[[[[[[[[[[[[[[[[[[{{{{{{{{"\\' } }],
    ['names of Object.prototype', '__proto__', { ['__proto__']: 1, constructor: { ['__proto__']: 2 } }],
    ['what has no JSON', undefined, { f: () => 1, s: Symbol('s'), big: 10n, inf: Infinity, nan: NaN }],
    ['a message that is no text', { a: 1 }, { error: new Error('e', { cause: new Error('c') }) }],
  ])('keeps %s in an entry of at most 16 KiB that the master accepts', (_, message, fields) => {
    const { ring, read, readText } = fixture()
    ring.add('error', message as string, fields)
    const [entry] = read().entries
    expect(ring.bytes).toBeLessThanOrEqual(MAX_LOG_ENTRY_BYTES)
    expect(depthOf(entry)).toBeLessThan(MAX_JSON_DEPTH / 2)
    expect([...readText()].filter((character) => character < ' ')).toEqual([]) // JSON escapes them.
  })

  it('keeps a field that cannot become JSON as a note', () => {
    const { ring, read } = fixture()
    const cycle: Record<string, unknown> = {}
    cycle['self'] = cycle
    ring.add('info', 'x', { cycle })
    expect(read().entries[0]?.fields).toEqual({ cycle: '[not serialisable]' })
  })

  it('selects by level and by task', () => {
    const { ring, read } = fixture()
    const { next: start } = read()
    for (const level of ['debug', 'info', 'warn', 'error'] as const)
      for (const task of ['a', 'b']) withLogFields({ task_id: task }, () => ring.add(level, `${level} ${task}`))
    expect(messages(read({ level: 'warn' }))).toEqual(['warn a', 'warn b', 'error a', 'error b'])
    expect(messages(read({ level: 'warn', task_id: 'b' }))).toEqual(['warn b', 'error b'])
    expect(messages(read({ task_id: 'b', limit: 2 }))).toEqual(['warn b', 'error b'])
    const first = read({ task_id: 'b', limit: 2, after: start })
    expect([messages(first), first.has_more]).toEqual([['debug b', 'info b'], true])
    const second = read({ task_id: 'b', limit: 2, after: first.next })
    expect([messages(second), second.has_more]).toEqual([['warn b', 'error b'], false])
    expect(read({ task_id: 'unknown' })).toMatchObject({ entries: [], missed: 0 })
  })

  it('reports that entries are unknown after a restart, also if the clock was set back', async () => {
    const { time, ring, read } = fixture()
    ring.add('info', 'of the first process')
    const { next } = read()
    await time.advance(1_000)
    const later = new LogRing(time)
    later.add('info', 'of the second process')
    const of = (after: number): Logs =>
      decodeWorkerFrame(later.read({ type: 'read_logs', id: 'r', limit: 10, after })) as Logs
    for (const after of [next, Number.MAX_SAFE_INTEGER])
      expect(of(after)).toMatchObject({ missed: null, entries: [{ message: 'of the second process' }] })
    expect(of(of(next).next)).toMatchObject({ missed: 0, entries: [] })
  })

  it('returns at most 192 KiB, and the rest with the next read', () => {
    const { ring, read, all } = fixture()
    for (let i = 0; i < 100; i += 1) ring.add('info', `${i}`, { pad: 'x'.repeat(8_000) })
    const page = read({ after: 0 })
    expect(page.has_more).toBe(true)
    expect(Buffer.byteLength(JSON.stringify(page.entries))).toBeLessThan(MAX_LOG_READ_BYTES + 1_024)
    expect(messages({ entries: all() })).toEqual(Array.from({ length: 100 }, (_, i) => `${i}`))
    expect(messages(read()).at(-1)).toBe('99')
  })
})

describe('the log of a worker', () => {
  it('adds a line to the ring only if its level is written', () => {
    const { time, ring, read } = fixture()
    const log = logInto(ring, createLog({ level: 'warn', format: 'json', clock: time, stream: process.stderr }))
    log.info('not written')
    expect(read().entries).toEqual([])
  })
})
