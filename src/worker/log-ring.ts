/**
 * @module worker/log-ring
 * Keeps the newest log entries of the worker in memory, for reads by the master (D181). An entry is kept as the log
 * line was written: above the log level, and after its secrets were masked. It becomes JSON text immediately, so that
 * the ring keeps no object of a plugin alive and its size is known.
 *
 *   ctx.log, runtime ──▶ log ──▶ stdout
 *                         └─▶ ring: 5,000 entries, 1 MiB, 16 KiB each ──read_logs──▶ logs frame
 */
import {
  LOG_RING_BYTES,
  LOG_RING_ENTRIES,
  MAX_LOG_ENTRY_BYTES,
  MAX_LOG_READ_BYTES,
  toSeconds,
  WORKER_LOG_LEVELS,
  type JsonText,
  type MasterFrame,
} from '../protocol/index.ts'
import {
  boundLogFields,
  cutText,
  describeError,
  MAX_LOG_FIELD_CHARS,
  type Clock,
  type LogFields,
  type LogLevel,
} from '../runtime/index.ts'

type ReadLogs = Extract<MasterFrame, { type: 'read_logs' }>

interface Entry {
  readonly seq: number
  /** Index in {@link WORKER_LOG_LEVELS}. */
  readonly severity: number
  readonly taskId: string | null
  /** The entry of the wire. */
  readonly text: JsonText
  readonly bytes: number
}

/** Length at which the texts of an entry are cut that is too large otherwise: 6 KB of JSON at most. */
const SHORT_CHARS = 1_000
/** Greatest nesting of a field. */
const MAX_DEPTH = 16
/** Sequence numbers of one process begin at its start in milliseconds times this. */
const ENTRIES_PER_MS = 1_000

export class LogRing {
  readonly #clock: Pick<Clock, 'wallMs'>
  readonly #startedMs: number
  readonly #firstSeq: number
  /** By sequence number modulo the number of entries. */
  readonly #slots = Array.from<Entry | undefined>({ length: LOG_RING_ENTRIES })
  #oldest: number
  #next: number
  #bytes = 0

  constructor(clock: Pick<Clock, 'wallMs'>) {
    this.#clock = clock
    this.#startedMs = clock.wallMs()
    this.#firstSeq = Math.max(1, Math.floor(this.#startedMs) * ENTRIES_PER_MS)
    this.#oldest = this.#firstSeq
    this.#next = this.#firstSeq
  }

  /** Bytes of the entries, as JSON. */
  get bytes(): number {
    return this.#bytes
  }

  get size(): number {
    return this.#next - this.#oldest
  }

  /** Adds an entry and drops the oldest ones beyond the limits. */
  add(level: LogLevel, message: string, fields: LogFields = {}): void {
    const entry = this.#entryOf(level, message, fields)
    if (this.size === LOG_RING_ENTRIES) this.#dropOldest()
    this.#slots[entry.seq % LOG_RING_ENTRIES] = entry
    this.#bytes += entry.bytes
    this.#next += 1
    while (this.#bytes > LOG_RING_BYTES) this.#dropOldest()
  }

  /** The `logs` frame in response to a request. */
  read({ id, after, limit, level, task_id: taskId }: ReadLogs): string {
    const severity = level === undefined ? 0 : WORKER_LOG_LEVELS.indexOf(level)
    const matches = (entry: Entry): boolean =>
      entry.severity >= severity && (taskId === undefined || entry.taskId === taskId)
    const { texts, next } = after === undefined ? this.#newest(limit, matches) : this.#behind(after, limit, matches)
    const head = { type: 'logs', id, started_at: toSeconds(this.#startedMs) }
    const tail = { next, has_more: next < this.#next - 1, missed: after === undefined ? 0 : this.#missedAfter(after) }
    return `${JSON.stringify(head).slice(0, -1)},"entries":[${texts.join(',')}],${JSON.stringify(tail).slice(1)}`
  }

  #entryOf(level: LogLevel, message: unknown, fields: LogFields): Entry {
    const bound = boundLogFields()
    const taskId = textOrNull(bound['task_id'] ?? fields['task_id'])
    const seq = this.#next
    const slotId = countOrNull(bound['slot_id'] ?? fields['slot_id'])
    const attempt = countOrNull(bound['attempt'] ?? fields['attempt'])
    const head =
      `{"seq":${seq},"ts":${toSeconds(this.#clock.wallMs())},"level":"${level}",` +
      `"slot_id":${slotId},"task_id":${JSON.stringify(taskId)},"attempt":${attempt}`
    const { text, bytes } = entryText(head, message, fields)
    return { seq, severity: WORKER_LOG_LEVELS.indexOf(level), taskId, text, bytes }
  }

  #dropOldest(): void {
    const at = this.#oldest % LOG_RING_ENTRIES
    this.#bytes -= this.#slots[at]?.bytes ?? 0
    this.#slots[at] = undefined
    this.#oldest += 1
  }

  #at(seq: number): Entry {
    const entry = this.#slots[seq % LOG_RING_ENTRIES]
    if (entry?.seq !== seq) throw new RangeError(`the ring does not have entry ${seq}`)
    return entry
  }

  #newest(limit: number, matches: (entry: Entry) => boolean): { readonly texts: readonly string[]; next: number } {
    const page = new Page(limit)
    for (let seq = this.#next - 1; seq >= this.#oldest; seq -= 1) {
      const entry = this.#at(seq)
      if (matches(entry) && !page.add(entry)) break
    }
    return { texts: page.texts.toReversed(), next: this.#next - 1 }
  }

  #behind(
    after: number,
    limit: number,
    matches: (entry: Entry) => boolean,
  ): { readonly texts: readonly string[]; next: number } {
    const page = new Page(limit)
    for (let seq = this.#isOwn(after) ? Math.max(after + 1, this.#oldest) : this.#oldest; seq < this.#next; seq += 1) {
      const entry = this.#at(seq)
      if (matches(entry) && !page.add(entry)) return { texts: page.texts, next: seq - 1 }
    }
    return { texts: page.texts, next: this.#next - 1 }
  }

  /** Whether a sequence number is one of this process. A restart after the clock was set back has lower ones. */
  #isOwn(seq: number): boolean {
    return seq >= this.#firstSeq - 1 && seq < this.#next
  }

  #missedAfter(after: number): number | null {
    if (after !== 0 && !this.#isOwn(after)) return null
    return Math.max(0, this.#oldest - Math.max(after + 1, this.#firstSeq))
  }
}

/** The entries of one response. */
class Page {
  readonly texts: string[] = []
  readonly #limit: number
  #bytes = 0

  constructor(limit: number) {
    this.#limit = limit
  }

  /** @returns false if the entry did not fit. */
  add({ text, bytes }: Entry): boolean {
    if (this.texts.length >= this.#limit || this.#bytes + bytes > MAX_LOG_READ_BYTES) return false
    this.texts.push(text)
    this.#bytes += bytes
    return true
  }
}

/** @param head The JSON text of the other fields, without its end. */
function entryText(head: string, given: unknown, fields: LogFields): { readonly text: string; readonly bytes: number } {
  const message = typeof given === 'string' ? given : jsonText(given) // Plugins in JavaScript pass anything.
  const limits = [MAX_LOG_FIELD_CHARS, SHORT_CHARS]
  let bytes = 0
  for (const chars of limits) {
    const text = `${head},"message":${valueText(message, chars)},"fields":${fieldsText(fields, chars)}}`
    bytes = Buffer.byteLength(text)
    if (bytes <= MAX_LOG_ENTRY_BYTES) return { text, bytes }
  }
  const cut = JSON.stringify({ cut: `${bytes} bytes of fields, above the limit of ${MAX_LOG_ENTRY_BYTES}` })
  const text = `${head},"message":${valueText(message, SHORT_CHARS)},"fields":${cut}}`
  return { text, bytes: Buffer.byteLength(text) }
}

function fieldsText(fields: LogFields, chars: number): string {
  let text = ''
  for (const [name, value] of Object.entries(fields)) {
    if (value === undefined) continue
    text += `${text === '' ? '' : ','}${JSON.stringify(cutText(name, chars))}:${valueText(value, chars)}`
  }
  return `{${text}}`
}

/** The JSON text of a value. One that is long or deep becomes a string with the beginning of its JSON. */
function valueText(value: unknown, chars: number): string {
  if (typeof value === 'string') return JSON.stringify(cutText(value, chars))
  if (typeof value === 'number' || typeof value === 'boolean') return jsonText(value)
  const text = jsonText(value instanceof Error ? describeError(value) : value)
  return text.length > chars || isDeep(text) ? JSON.stringify(cutText(text, chars)) : text
}

function jsonText(value: unknown): string {
  try {
    const text: string | undefined = JSON.stringify(value) // Undefined for a function.
    return text ?? 'null'
  } catch {
    return JSON.stringify(typeof value === 'bigint' ? value.toString() : '[not serialisable]')
  }
}

/** Whether JSON text has more than {@link MAX_DEPTH} levels of objects and arrays. */
function isDeep(text: string): boolean {
  let depth = 0
  for (const [token] of text.matchAll(/"(?:[^"\\]|\\.)*"|[[\]{}]/g)) {
    if (token === '[' || token === '{') depth += 1
    else if (token === ']' || token === '}') depth -= 1
    if (depth > MAX_DEPTH) return true
  }
  return false
}

const textOrNull = (value: unknown): string | null => (typeof value === 'string' ? cutText(value, SHORT_CHARS) : null)
const countOrNull = (value: unknown): number | null => (Number.isSafeInteger(value) ? Math.abs(value as number) : null)
