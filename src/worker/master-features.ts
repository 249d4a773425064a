/**
 * @module worker/master-features
 * Remembers what the masters offer beside the specification: the headers of the newest upgrade response (D120). A
 * feature that failed nevertheless is not used for a while, because a master of an older release may have joined.
 */
import type { IncomingHttpHeaders } from 'node:http'
import { FEATURE_HEADERS, featuresIn, type Feature } from '../protocol/index.ts'
import type { Clock } from '../runtime/index.ts'

const DROPPED_MS = 60_000

export class MasterFeatures {
  readonly #clock: Pick<Clock, 'monotonicMs'>
  readonly #droppedUntilMs = new Map<Feature, number>()
  #offered: ReadonlySet<Feature> = new Set()
  #epoch: string | null = null

  constructor(clock: Pick<Clock, 'monotonicMs'>) {
    this.#clock = clock
  }

  /** The epoch of the store when the connection was accepted; null if the master sent none. */
  get epoch(): string | null {
    return this.#epoch
  }

  /** Replaces what is offered. @param headers The headers of an upgrade response; none for a new attempt. */
  read(headers: IncomingHttpHeaders): void {
    const epoch = headers[FEATURE_HEADERS.epoch]
    this.#offered = featuresIn(headers[FEATURE_HEADERS.features])
    this.#epoch = typeof epoch === 'string' ? epoch : null
  }

  /** Whether all live masters offer the feature, and it was not dropped. */
  has(feature: Feature): boolean {
    return this.#offered.has(feature) && !this.isDropped(feature)
  }

  /** Stops using a feature, for 60 s by default. @param ms How long not to use it, in ms. */
  drop(feature: Feature, ms = DROPPED_MS): void {
    this.#droppedUntilMs.set(feature, this.#clock.monotonicMs() + ms)
  }

  /** Whether the feature was dropped, and the time is not over. */
  isDropped(feature: Feature): boolean {
    return this.#clock.monotonicMs() < (this.#droppedUntilMs.get(feature) ?? 0)
  }
}
