/** @module master/queue/backend-time  Estimates the backend's clock without a call of the store. */
import type { MasterDeps } from '../deps.ts'

type BackendTimeDeps = Pick<MasterDeps, 'backend' | 'clock'>

/** Estimates the backend's clock: reads it once, then adds the time of the local monotonic clock. */
export class BackendTime {
  readonly #deps: BackendTimeDeps
  #aheadMs: number | null = null

  constructor(deps: BackendTimeDeps) {
    this.#deps = deps
  }

  async learn(): Promise<void> {
    const { nowMs } = await this.#deps.backend.meta.info()
    this.#aheadMs = nowMs - this.#deps.clock.monotonicMs()
  }

  nowMs(): number {
    return this.#aheadMs === null ? this.#deps.clock.wallMs() : this.#aheadMs + this.#deps.clock.monotonicMs()
  }
}
