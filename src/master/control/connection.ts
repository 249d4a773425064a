/**
 * @module master/control/connection
 * One accepted control socket: plain fields, no closure and no timer of its own, since there are thousands.
 *
 *   new ──register──▶ registering ──stored──▶ registered ──▶ closing
 *    └──────────── refused, 10 s over ───────────────────────▶┘
 *
 * Reading stops while any reason to pause stands, and goes on when the last is gone.
 */
import type { CatalogEntry } from '../../automation/index.ts'
import type { JsonText } from '../../protocol/index.ts'
import type { WorkerReport, Ref, RecordedStatus } from '../../storage/index.ts'
import type { ControlSocket } from './control-socket.ts'

/** Why reading is paused; bits of {@link Connection.pausedFor}. */
export const PAUSE = { registering: 1, sink: 2, unflushed: 4 } as const

export type ReportedStateFrame = NonNullable<WorkerReport['state']>

/** As every record begins. */
export const NOTHING_REPORTED: RecordedStatus = { state: 'IDLE', lastError: null, appliedGen: null }

export class Connection implements Ref {
  readonly socket: ControlSocket
  readonly entry: CatalogEntry
  readonly id: string
  /** Asked about again when tokens change (D22). */
  readonly bearerToken: string
  readonly openedAtMs: number
  phase: 'new' | 'registering' | 'registered' | 'closing' = 'new'
  /** '' before the first register. */
  conn = ''
  /** The store names this connection: it has to hear when it ends. */
  stored = false
  /** The socket is closed. */
  gone = false
  /** Another connection took over, or the record is gone: the end of this one is no news. */
  disowned = false

  /** Frames read while a register is on its way. */
  backlog: string[] = []
  pausedFor = 0
  unflushedBytes = 0
  misses = 0

  /** What the next beat carries. */
  pendingState: ReportedStateFrame | null = null
  pendingStats: JsonText[] = []
  lastReportMs = 0

  /** The highest config generation that was sent to this socket or reported by it. */
  knownGen = 0
  isDrainSent = false
  /** The state in the store, and the state that was last published as an event (state-event-throttle.ts). */
  reported: RecordedStatus = NOTHING_REPORTED
  published: RecordedStatus = NOTHING_REPORTED
  /** Before this monotonic time the throttle publishes no further state. */
  nextStateEventAtMs = -Infinity

  /** Kept back while the peer does not read. */
  heldGen: number | null = null
  heldDrain = false
  stuckBytes = 0
  stuckSinceMs = 0

  constructor(socket: ControlSocket, entry: CatalogEntry, id: string, bearerToken: string, openedAtMs: number) {
    this.socket = socket
    this.entry = entry
    this.id = id
    this.bearerToken = bearerToken
    this.openedAtMs = openedAtMs
  }

  get type(): string {
    return this.entry.type
  }

  get ref(): Ref {
    return { type: this.type, id: this.id }
  }

  pause(reason: number): void {
    if (this.phase === 'closing') return
    if (this.pausedFor === 0) this.socket.pause()
    this.pausedFor |= reason
  }

  resume(reason: number): void {
    if ((this.pausedFor & reason) === 0) return
    this.pausedFor &= ~reason
    if (this.pausedFor === 0) this.socket.resume()
  }

  /** Closes with a reason that fits and prints; what is still read from here on is ignored. */
  close(code: number, reason: string): void {
    if (this.phase === 'closing') return
    this.phase = 'closing'
    this.backlog = []
    if (this.pausedFor !== 0) this.socket.resume() // Or the peer's own close frame would stay unread.
    this.pausedFor = 0
    this.socket.close(code, closeReason(reason))
  }
}

const MAX_REASON_BYTES = 123

/** A close reason: printable ASCII, at most 123 bytes (RFC 6455 section 5.5). */
export function closeReason(text: string): string {
  const printable = text.replaceAll(/[^\x20-\x7e]/g, '?')
  return printable.length <= MAX_REASON_BYTES ? printable : `${printable.slice(0, MAX_REASON_BYTES - 3)}...`
}
