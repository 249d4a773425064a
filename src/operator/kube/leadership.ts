/**
 * @module operator/kube/leadership
 * Elects one of several replicas as the writer: the holder of a Lease.
 *
 *   standby ──lease free, or unchanged for its whole length──PUT, its version──▶ leading ──released, stopped──▶ standby
 *      ▲                                                                          │ renewed every 2 s
 *      └──────────── another holds it, or no renewal began within 10 s ───────────┘
 *
 * The election does not depend on synchronized clocks. A lease has expired when this replica has seen it unchanged for
 * its whole length, on a monotonic clock. The times in the Lease are for users. A holder stops 5 s before another
 * replica may begin: it counts from the start of its last successful renewal. The gap is for calls in flight. Each
 * change names the end of the lease (`leadsUntilMs`), and the master refuses it afterwards (D150). After a pause of the
 * process (SIGSTOP, a long block of the event loop) `mayWrite` is false until `confirm` has called the API server.
 */
import { sleep, type Clock, type Log, type Timers } from '../../runtime/index.ts'
import { KubeError } from './kube-error.ts'
import { microTime, objectPath, collectionPath, type ObjectMeta, type Resource } from './objects.ts'
import type { KubeTransport } from './transport.ts'

const LEASE: Resource = { group: 'coordination.k8s.io', version: 'v1', plural: 'leases', kind: 'Lease' }
const LEASE_SECONDS = 15
const LEASE_MS = LEASE_SECONDS * 1_000
const RENEW_DEADLINE_MS = 10_000
const RETRY_MS = 2_000
/** Two attempts fit into the deadline, so one connection that hangs does not end the term. */
const ATTEMPT_MS = 4_500
const TICK_MS = 500
/** A tick that is later than this means that the event loop was blocked. */
const STALL_MS = 2_000

export interface Leadership {
  readonly state: 'leading' | 'standby'
  /** Call before every write. */
  mayWrite(): boolean
  /**
   * The earliest time at which another replica can lead, by the monotonic clock, unless this one releases the lease.
   * `-Infinity` if this one does not lead, `Infinity` if there is no other.
   */
  leadsUntilMs(): number
  /**
   * Renews the lease immediately: after a refusal that may mean another leader, or after a pause. @returns `mayWrite()`
   * afterwards.
   */
  confirm(signal: AbortSignal): Promise<boolean>
  /** Releases the lease, so that another replica need not wait until it expires. Never rejects. */
  release(): Promise<void>
}

interface Lease {
  readonly metadata: Partial<ObjectMeta>
  readonly spec?: {
    readonly holderIdentity?: string | null
    readonly leaseDurationSeconds?: number | null
    readonly acquireTime?: string | null
    readonly renewTime?: string | null
    readonly leaseTransitions?: number | null
  }
}

export interface LeaseElectorDeps {
  readonly transport: KubeTransport
  readonly clock: Clock
  readonly timers: Timers
  readonly log: Log
  readonly namespace: string
  readonly name: string
  /** Unique among all replicas, past and present: a host name and a random part. */
  readonly identity: string
  /** Called when a term begins. The signal aborts when the term ends, for any reason. */
  readonly onLead: (term: AbortSignal) => void
  readonly onState?: (isLeading: boolean) => void
}

export class LeaseElector implements Leadership {
  readonly #deps: LeaseElectorDeps
  #lease: Lease | undefined
  /** The version of the lease at its last change, and when this replica saw it. */
  #seen = { version: '', atMs: 0 }
  #term: AbortController | undefined
  #renewedMs = -Infinity
  #tickMs = -Infinity
  #isReleased = false
  #attempt: Promise<void> | undefined

  constructor(deps: LeaseElectorDeps) {
    this.#deps = deps
  }

  get state(): 'leading' | 'standby' {
    return this.#term === undefined ? 'standby' : 'leading'
  }

  mayWrite(): boolean {
    const nowMs = this.#deps.clock.monotonicMs()
    return (
      this.#term !== undefined &&
      nowMs - this.#renewedMs < RENEW_DEADLINE_MS &&
      nowMs - this.#tickMs <= TICK_MS + STALL_MS
    )
  }

  leadsUntilMs(): number {
    return this.#term === undefined ? -Infinity : this.#renewedMs + LEASE_MS
  }

  async confirm(signal: AbortSignal): Promise<boolean> {
    await this.#attempt // An attempt that began before this call proves nothing.
    if (this.#term === undefined || signal.aborted) return false
    const renewedMs = this.#renewedMs
    await this.#try(signal)
    if (this.#renewedMs !== renewedMs) this.#tickMs = this.#deps.clock.monotonicMs()
    return this.#renewedMs !== renewedMs && this.mayWrite()
  }

  /** Takes part in the election until the signal aborts, then releases. */
  async run(signal: AbortSignal): Promise<void> {
    const { clock, timers } = this.#deps
    const stopTicks = timers.every(TICK_MS, () => this.#tick())
    while (!signal.aborted) {
      const startedMs = clock.monotonicMs()
      await this.#try(signal)
      this.#check()
      await sleep(timers, Math.max(0, startedMs + RETRY_MS - clock.monotonicMs()), signal)
    }
    stopTicks()
    await this.release()
  }

  async release(): Promise<void> {
    this.#isReleased = true
    await this.#attempt
    const lease = this.#lease
    const isOurs = this.#term !== undefined && lease?.spec?.holderIdentity === this.#deps.identity
    this.#stepDown('released')
    if (!isOurs) return
    const released = {
      ...lease,
      spec: {
        ...lease.spec,
        holderIdentity: '',
        leaseDurationSeconds: 1,
        renewTime: microTime(this.#deps.clock.wallMs()),
      },
    }
    await this.#put(released, new AbortController().signal).catch((error: unknown) =>
      this.#deps.log.warn('the lease could not be released; it expires', { error }),
    )
  }

  #tick(): void {
    const nowMs = this.#deps.clock.monotonicMs()
    const isLate = nowMs - this.#tickMs > TICK_MS + STALL_MS
    this.#check()
    // After a pause the ticks count again once the lease was renewed, because another replica may lead meanwhile.
    if (!isLate || this.#term === undefined || this.#renewedMs > this.#tickMs + STALL_MS) this.#tickMs = nowMs
  }

  /** Tries once to acquire or keep the lease. Never rejects. Two concurrent attempts would conflict with each other. */
  #try(signal: AbortSignal): Promise<void> {
    if (this.#attempt !== undefined) return this.#attempt
    const deadline = new AbortController()
    const cancel = this.#deps.timers.after(ATTEMPT_MS, () =>
      deadline.abort(new Error(`no response within ${ATTEMPT_MS} ms`)),
    )
    this.#attempt = this.#tryOnce(AbortSignal.any([signal, deadline.signal]))
      .catch((error: unknown) => {
        if (!signal.aborted) this.#deps.log.warn('the lease could not be read or renewed, retrying', { error })
      })
      .finally(() => {
        cancel()
        this.#attempt = undefined
      })
    return this.#attempt
  }

  async #tryOnce(signal: AbortSignal): Promise<void> {
    const begunMs = this.#deps.clock.monotonicMs()
    if (this.#term === undefined || this.#lease === undefined) await this.#read(signal)
    if (this.#isReleased || signal.aborted) return
    if (this.#lease !== undefined && !this.#isFree(this.#lease)) {
      this.#stepDown('another replica holds the lease')
      return
    }
    try {
      this.#lease = await (this.#lease === undefined
        ? this.#create(signal)
        : this.#put(this.#next(this.#lease), signal))
    } catch (error) {
      if (!(error instanceof KubeError) || error.status !== 409) throw error
      await this.#read(signal) // Another replica was faster, or the response to this replica's own write was lost.
      if (this.#lease !== undefined && !this.#isFree(this.#lease)) this.#stepDown('another replica took the lease')
      return
    }
    this.#renewedMs = begunMs
    this.#lead()
  }

  async #read(signal: AbortSignal): Promise<void> {
    const { clock, name, namespace, transport } = this.#deps
    try {
      const { body } = await transport.json<Lease>(
        { method: 'GET', path: objectPath(LEASE, { namespace, name }) },
        signal,
      )
      this.#lease = body
      const version = body.metadata.resourceVersion ?? ''
      if (version !== this.#seen.version) this.#seen = { version, atMs: clock.monotonicMs() }
    } catch (error) {
      if (!(error instanceof KubeError) || error.status !== 404) throw error
      this.#lease = undefined
    }
  }

  /** Whether the lease is held by this replica, held by none, or unchanged for its whole length. */
  #isFree({ spec }: Lease): boolean {
    const holder = spec?.holderIdentity ?? ''
    if (holder === '' || holder === this.#deps.identity) return true
    const lengthMs = Math.max(LEASE_MS, (spec?.leaseDurationSeconds ?? 0) * 1_000)
    return this.#deps.clock.monotonicMs() - this.#seen.atMs >= lengthMs
  }

  #next(lease: Lease | undefined): Lease {
    const { clock, identity, name, namespace } = this.#deps
    const now = microTime(clock.wallMs())
    const isOurs = lease?.spec?.holderIdentity === identity
    const transitions = lease?.spec?.leaseTransitions ?? 0
    return {
      ...lease,
      metadata: { ...lease?.metadata, name, namespace },
      spec: {
        ...lease?.spec,
        holderIdentity: identity,
        leaseDurationSeconds: LEASE_SECONDS,
        renewTime: now,
        ...(isOurs ? {} : { acquireTime: now, leaseTransitions: lease === undefined ? 0 : transitions + 1 }),
      },
    }
  }

  async #create(signal: AbortSignal): Promise<Lease> {
    const path = collectionPath(LEASE, this.#deps.namespace)
    const { body } = await this.#deps.transport.json<Lease>(
      { method: 'POST', path, body: { apiVersion: 'coordination.k8s.io/v1', kind: 'Lease', ...this.#next(undefined) } },
      signal,
    )
    return body
  }

  /** Writes with the version that was read, so a faster replica makes this a 409. */
  async #put(lease: Lease, signal: AbortSignal): Promise<Lease> {
    const { name, namespace, transport } = this.#deps
    const { body } = await transport.json<Lease>(
      { method: 'PUT', path: objectPath(LEASE, { namespace, name }), body: lease },
      signal,
    )
    return body
  }

  #lead(): void {
    if (this.#term !== undefined) return
    this.#term = new AbortController()
    this.#tickMs = this.#deps.clock.monotonicMs()
    this.#deps.log.info('became the leader', { lease: this.#deps.name, identity: this.#deps.identity })
    this.#deps.onState?.(true)
    this.#deps.onLead(this.#term.signal)
  }

  #check(): void {
    if (this.#deps.clock.monotonicMs() - this.#renewedMs >= RENEW_DEADLINE_MS)
      this.#stepDown('the lease could not be renewed in time')
  }

  #stepDown(why: string): void {
    const term = this.#term
    if (term === undefined) return
    this.#term = undefined
    this.#lease = undefined
    this.#deps.log.info('lost leadership: another replica of the operator takes over, this one is on standby', { why })
    this.#deps.onState?.(false)
    term.abort(new Error(why))
  }
}

/** Leadership of a single replica without an election. */
export const ALWAYS_LEADING: Leadership = {
  state: 'leading',
  mayWrite: () => true,
  leadsUntilMs: () => Infinity,
  confirm: async () => true,
  release: async () => {},
}
