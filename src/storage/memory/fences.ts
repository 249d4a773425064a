/**
 * @module storage/memory/fences
 * Fencing tokens: one counter per automation type, pool or lock namespace, never the same number twice. A new counter
 * starts at a multiple of 2^20 at or above now · 1,024, and above all that earlier lives of this store have issued.
 */
export const SEGMENT = 2 ** 20
const SEGMENTS_KEPT = 3

export class Fence {
  readonly #start: number
  #last: number

  constructor(start: number) {
    this.#start = start
    this.#last = start
  }

  /** Above what was issued; nothing is where nothing was. */
  isAhead(token: number): boolean {
    return token > this.#last && this.#last > this.#start
  }

  get last(): number {
    return this.#last
  }

  next(): number {
    this.#last += 1
    return this.#last
  }
}

/** Makes the fences of one store, over all its lives. */
export class Fences {
  #floor = 0
  #fences: Fence[] = []

  /** A new life: what was issued before stays below all that comes. */
  restart(): void {
    this.#floor = Math.max(this.#floor, ...this.#fences.map((fence) => fence.last + 1))
    this.#fences = []
  }

  make(now: number): Fence {
    const fence = new Fence(Math.ceil(Math.max(now * 1024, this.#floor) / SEGMENT) * SEGMENT)
    this.#fences.push(fence)
    return fence
  }
}

/** The tokens that were acknowledged, one bit each, for the last segments begun (D24). */
export class AckedTokens {
  readonly #fence: Fence
  readonly #bits = new Map<number, Uint8Array>()

  constructor(fence: Fence) {
    this.#fence = fence
  }

  record(token: number): void {
    const segment = Math.floor(token / SEGMENT)
    let bits = this.#bits.get(segment)
    if (bits === undefined) {
      bits = new Uint8Array(SEGMENT / 8)
      this.#bits.set(segment, bits)
      for (const old of this.#bits.keys()) if (old < this.#oldest()) this.#bits.delete(old)
    }
    const bit = token % SEGMENT
    bits[bit >> 3] = (bits[bit >> 3] ?? 0) | (1 << (bit & 7))
  }

  has(token: number): boolean {
    const segment = Math.floor(token / SEGMENT)
    const bit = token % SEGMENT
    return segment >= this.#oldest() && ((this.#bits.get(segment)?.[bit >> 3] ?? 0) & (1 << (bit & 7))) !== 0
  }

  #oldest(): number {
    return Math.floor(this.#fence.last / SEGMENT) - SEGMENTS_KEPT + 1
  }
}
