/**
 * @module master/control/startup-upgrades
 * Holds the control handshakes that arrive while the master opens its store, and returns them when it serves (D101).
 *
 *   upgrade of a worker ──▶ held ──▶ take() ──▶ Admission
 *          │                  ├── 10 s ──▶ refused with 503
 *          │                  └── its client disconnects: forgotten; floods: 400
 *          └── 20,000 held, another path, not a worker token ──▶ refused with 503
 *
 * Only clients with a worker token may take a place. The others get the response of every request during the start.
 */
import type { IncomingMessage } from 'node:http'
import type { Duplex } from 'node:stream'
import { HANDSHAKE_WAIT_MS, MAX_WAITING_HANDSHAKES } from '../../protocol/index.ts'
import type { Clock, Timers } from '../../runtime/index.ts'
import { readHandshake, type Handshake } from './handshake.ts'
import { HeldUpgrade } from './held-upgrade.ts'
import { EARLY_DATA } from './limits.ts'

export interface StartupUpgradesDeps {
  readonly clock: Pick<Clock, 'monotonicMs'>
  readonly timers: Pick<Timers, 'after'>
  readonly isWorkerToken: (bearerToken: string) => boolean
}

/** The raw socket of an upgrade whose handshake is not decided. */
export interface PendingUpgrade {
  readonly request: IncomingMessage
  readonly socket: Duplex
  /** What the client sent after the request. */
  readonly head: Buffer
  readonly handshake: Handshake
  readonly arrivedAtMs: number
}

/** Writes a refusal to the socket. Without a detail, it is the response of every request during the start. */
export type RefuseUpgrade = (status: 400 | 503, detail?: string) => void

interface Held {
  /** Stops holding. @returns what the admission needs. */
  readonly end: () => PendingUpgrade
  readonly refuse: RefuseUpgrade
}

export class StartupUpgrades {
  readonly #deps: StartupUpgradesDeps
  /** In the order of their arrival. */
  readonly #held = new Set<Held>()

  constructor(deps: StartupUpgradesDeps) {
    this.#deps = deps
  }

  get length(): number {
    return this.#held.size
  }

  /** Holds the socket or refuses it. `refuse` is called at most once, and not after {@link take}. */
  add(request: IncomingMessage, socket: Duplex, head: Buffer, refuse: RefuseUpgrade): void {
    const handshake = readHandshake(request)
    if (handshake === null || !this.#isWorker(handshake) || this.#held.size >= MAX_WAITING_HANDSHAKES)
      return refuse(503)
    const { clock, timers } = this.#deps
    const arrivedAtMs = clock.monotonicMs()
    const upgrade = new HeldUpgrade(socket, head, (why) => {
      held.end()
      if (why === 'disconnected') socket.destroy()
      else refuse(400, EARLY_DATA)
    })
    const cancel = timers.after(HANDSHAKE_WAIT_MS, () => {
      held.end()
      refuse(503)
    })
    const held: Held = {
      refuse,
      end: () => {
        this.#held.delete(held)
        cancel()
        return { request, socket, handshake, arrivedAtMs, head: upgrade.release() }
      },
    }
    this.#held.add(held)
  }

  /** Returns all that are held, in the order of their arrival, and holds them no longer. */
  take(): readonly PendingUpgrade[] {
    return [...this.#held].map((held) => held.end())
  }

  /** Refuses all that are held. */
  close(): void {
    for (const { end, refuse } of this.#held) {
      end()
      refuse(503)
    }
  }

  #isWorker({ bearerToken }: Handshake): boolean {
    return bearerToken !== undefined && this.#deps.isWorkerToken(bearerToken)
  }
}
