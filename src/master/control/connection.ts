/**
 * @module master/control/connection
 * One accepted control socket: whose it is, where it is in its life, and the state that each component keeps about it.
 *
 *   new ──register──▶ registering ──stored──▶ registered ──▶ closing
 *    └──────────── rejected, or 10 s without register ───────▶┘
 */
import type { CatalogEntry } from '../../automation/index.ts'
import type { Principal } from '../auth/index.ts'
import type { Feature } from '../../protocol/index.ts'
import type { ConnectionEnd, Ref } from '../../storage/index.ts'
import { OutboundState, PendingReport, ReadPause, StateEvents, TallyState } from './connection-state.ts'
import type { AcceptedSocket } from './control-socket.ts'

export class Connection implements Ref {
  readonly socket: AcceptedSocket
  readonly entry: CatalogEntry
  readonly id: string
  /** Checked again when tokens change (D22). */
  readonly bearerToken: string
  /** The holder of a JWT, which is not looked up by its token again. */
  verified: Principal | undefined
  readonly openedAtMs: number
  readonly reading: ReadPause
  readonly report = new PendingReport()
  readonly outbound = new OutboundState()
  readonly stateEvents = new StateEvents()
  readonly tally = new TallyState()

  phase: 'new' | 'registering' | 'registered' | 'closing' = 'new'
  /** Empty before the first register. */
  conn = ''
  /** Whether the store names this connection. If so, its end has to be stored as well. */
  isStored = false
  /** Whether the socket is closed. */
  isClosed = false
  /** Another connection replaced this one, or the record was deleted: its end must not be published. */
  isDetached = false
  /** The worker closed the connection because its process ends in an orderly way (D142). */
  isEnded = false
  /** Why this side closed the socket; empty if it did not. */
  closedBecause = ''
  /** How the socket ended; set when it is closed. */
  end: ConnectionEnd | undefined
  /** Frames that were read while the register was being stored. */
  backlog: string[] = []
  missedPings = 0
  /** What this worker and all live masters implement (D120). */
  features: ReadonlySet<Feature> = new Set()
  /** The version of the worker, if it sent one. */
  version: string | undefined

  constructor(socket: AcceptedSocket, entry: CatalogEntry, id: string, bearerToken: string, openedAtMs: number) {
    this.socket = socket
    this.entry = entry
    this.id = id
    this.bearerToken = bearerToken
    this.openedAtMs = openedAtMs
    this.reading = new ReadPause(socket)
  }

  get type(): string {
    return this.entry.type
  }

  get ref(): Ref {
    return { type: this.type, id: this.id }
  }

  pause(reason: number): void {
    if (this.phase !== 'closing') this.reading.add(reason)
  }

  /** Closes the socket. The reason is made printable and cut to its limit. Frames read after this call are ignored. */
  close(code: number, reason: string): void {
    if (this.phase === 'closing') return
    this.phase = 'closing'
    this.backlog = []
    this.reading.end() // Otherwise the peer's close frame would not be read.
    this.closedBecause = closeReason(reason)
    this.socket.close(code, this.closedBecause)
  }
}

const MAX_REASON_BYTES = 123

/** A close reason: printable ASCII, at most 123 bytes (RFC 6455 section 5.5). */
export function closeReason(text: string): string {
  const printable = text.replaceAll(/[^\x20-\x7e]/g, '?')
  return printable.length <= MAX_REASON_BYTES ? printable : `${printable.slice(0, MAX_REASON_BYTES - 3)}...`
}
