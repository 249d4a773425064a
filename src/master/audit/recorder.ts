/**
 * @module master/audit/recorder
 * Keeps the audit log of the store: the newest 10,000 changes, for people who ask later who did something.
 *
 * Equal calls within a minute share an entry, so that a program that pops outputs all day does not push everything else
 * out of the log: the first one is stored immediately, the others of its minute together at its end. Entries are stored
 * a moment after the response, several at a time, and at least once. While the store does not respond, they wait in
 * memory; what exceeds the bound, or still waits when the master ends, is only in the lines on stdout.
 * @see D235
 */
import { MAX_AUDIT_CHARS, MAX_AUDIT_PAGE, type AuditEntry } from '../../protocol/index.ts'
import type { Log, Timers } from '../../runtime/index.ts'
import type { Backend } from '../../storage/index.ts'

export type RecordedCall = Omit<AuditEntry, 'n' | 'calls'>

export interface AuditRecorderDeps {
  readonly backend: Pick<Backend, 'audit'>
  readonly timers: Timers
  readonly log: Log
  /** Called with the number of entries that the log will not have. */
  readonly onDropped: (entries: number) => void
}

const STORE_AFTER_MS = 250
const RETRY_AFTER_MS = 2_000
const MINUTE_MS = 60_000
const MAX_WAITING = 5_000
/** Different calls of one minute whose repetitions are gathered; those of further ones are stored one by one. */
const MAX_GATHERED = 1_000

export class AuditRecorder {
  readonly #deps: AuditRecorderDeps
  #waiting: string[] = []
  #storing: Promise<void> | null = null
  #isUnavailable = false
  /** The calls of this minute after the first one of each kind; null while there was only that one. */
  readonly #gathered = new Map<string, { call: RecordedCall; calls: number; count: number } | null>()
  /** Cancels of the timers that run; none while nothing waits. */
  #cancelStore: (() => void) | null = null
  #cancelMinute: (() => void) | null = null
  #isStopped = false

  constructor(deps: AuditRecorderDeps) {
    this.#deps = deps
  }

  /** Tries once more to store what waits. */
  async stop(): Promise<void> {
    this.#isStopped = true
    this.#cancelStore?.()
    this.#endMinute()
    await this.#storing
    await this.#store()
  }

  add(call: RecordedCall): void {
    const { actor, action, type, object, status, changed } = call
    const key = JSON.stringify([actor?.name, action, type, object, status, changed])
    const gathered = this.#gathered.get(key)
    if (gathered === undefined) {
      if (this.#gathered.size < MAX_GATHERED) this.#gathered.set(key, null)
      this.#cancelMinute ??= this.#deps.timers.after(MINUTE_MS, () => this.#endMinute())
      return this.#push(call, 1)
    }
    const { calls, count } = gathered ?? { calls: 0, count: 0 }
    this.#gathered.set(key, { call, calls: calls + 1, count: count + call.count })
  }

  #endMinute(): void {
    this.#cancelMinute?.()
    this.#cancelMinute = null
    for (const gathered of this.#gathered.values())
      if (gathered !== null) this.#push({ ...gathered.call, count: gathered.count }, gathered.calls)
    this.#gathered.clear()
  }

  #push(call: RecordedCall, calls: number): void {
    if (this.#waiting.length >= MAX_WAITING) return this.#deps.onDropped(1)
    this.#waiting.push(textOf({ ...call, calls }))
    this.#storeIn(STORE_AFTER_MS)
  }

  #storeIn(ms: number): void {
    if (this.#isStopped) return
    this.#cancelStore ??= this.#deps.timers.after(ms, () => {
      this.#cancelStore = null
      void this.#store()
    })
  }

  #store(): Promise<void> {
    this.#storing ??= this.#storeWaiting().finally(() => (this.#storing = null))
    return this.#storing
  }

  async #storeWaiting(): Promise<void> {
    while (this.#waiting.length > 0) {
      const entries = this.#waiting.slice(0, MAX_AUDIT_PAGE)
      try {
        await this.#deps.backend.audit.append(entries)
      } catch (error) {
        if (!this.#isUnavailable) this.#deps.log.warn('cannot write to the audit log of the store; retrying', { error })
        this.#isUnavailable = true
        return this.#storeIn(RETRY_AFTER_MS)
      }
      this.#isUnavailable = false
      this.#waiting = this.#waiting.slice(entries.length)
    }
  }
}

/**
 * The entry as JSON, with fewer names of changed fields if it were too long. The other texts have at most 256
 * characters each, so an entry without these names always fits.
 */
function textOf(entry: Omit<AuditEntry, 'n'>): string {
  let shown = entry.changed.length
  let text = JSON.stringify(entry)
  while (text.length > MAX_AUDIT_CHARS && shown > 0) {
    shown = Math.floor(shown / 2)
    text = JSON.stringify({ ...entry, changed: [...entry.changed.slice(0, shown), '…'] })
  }
  return text
}
