/**
 * @module master/control/connection
 * The state of one accepted control socket. Plain fields without closures or timers of their own, since there are
 * thousands of connections.
 *
 *   new ──register──▶ registering ──stored──▶ registered ──▶ closing
 *    └──────────── rejected, or 10 s without register ───────▶┘
 *
 * Reading is paused while there is at least one reason to pause it.
 */
import type { CatalogEntry } from '../../automation/index.ts'
import type { JsonText } from '../../protocol/index.ts'
import type { TokenBucket } from '../../runtime/index.ts'
import type { WorkerReport, Ref, RecordedStatus } from '../../storage/index.ts'
import type { ControlSocket } from './control-socket.ts'

/** Why reading is paused; bits of {@link Connection.pausedFor}. */
export const PAUSE = { registering: 1, sink: 2, unflushed: 4 } as const

export type ReportedStateFrame = NonNullable<WorkerReport['state']>

/** The status of a new record. */
export const INITIAL_STATUS: RecordedStatus = { state: 'IDLE', lastError: null, appliedGen: null }

export class Connection implements Ref {
  readonly socket: ControlSocket
  readonly entry: CatalogEntry
  readonly id: string
  /** Checked again when tokens change (D22). */
  readonly bearerToken: string
  readonly openedAtMs: number
  phase: 'new' | 'registering' | 'registered' | 'closing' = 'new'
  /** Empty before the first register. */
  conn = ''
  /** Whether the store names this connection. If so, its end has to be stored as well. */
  isStored = false
  /** Whether the socket is closed. */
  isClosed = false
  /** Another connection replaced this one, or the record was deleted: its end must not be published. */
  isDetached = false

  /** Frames that were read while the register was being stored. */
  backlog: string[] = []
  pausedFor = 0
  unflushedBytes = 0
  missedPings = 0

  /** What the next report to the store contains. */
  pendingState: ReportedStateFrame | null = null
  pendingStats: JsonText[] = []
  lastReportMs = 0

  /** The highest config generation that was sent to this socket or reported by it. */
  knownGen = 0
  isDrainSent = false
  /** The state in the store, and the state that was last published as an event (state-event-throttle.ts). */
  reported: RecordedStatus = INITIAL_STATUS
  published: RecordedStatus = INITIAL_STATUS
  /** The rate of published states; `null` before the first one. */
  stateEvents: TokenBucket | null = null

  /** Frames that are held back while the peer does not read. */
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

  /** Closes the socket. The reason is made printable and cut to its limit. Frames read after this call are ignored. */
  close(code: number, reason: string): void {
    if (this.phase === 'closing') return
    this.phase = 'closing'
    this.backlog = []
    if (this.pausedFor !== 0) this.socket.resume() // Otherwise the peer's close frame would not be read.
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
