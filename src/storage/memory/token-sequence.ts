/**
 * @module storage/memory/token-sequence
 * Issues fencing tokens: one sequence per automation type, pool or lock namespace, never the same number twice. A new
 * sequence starts at a multiple of 2^20 that is at least now · 1,024 and above all tokens issued before the last open.
 */
import { fingerprintOf } from '../index.ts'

export const SEGMENT = 2 ** 20
const SEGMENTS_KEPT = 3

export class TokenSequence {
  readonly #start: number
  #last: number

  constructor(start: number) {
    this.#start = start
    this.#last = start
  }

  /** Whether the token is above all issued ones; false before the first one was issued. */
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

  /** Continues at the next start of a sequence. */
  raise(now: number): void {
    this.#last = startAbove(now, this.#last + 1)
  }
}

/** Creates the token sequences of one store, and keeps them growing when the store is opened again. */
export class TokenSequences {
  #floor = 0
  readonly #fences = new Set<TokenSequence>()

  /** Starts over: later sequences begin above every token issued so far. */
  restart(): void {
    for (const fence of this.#fences) this.retire(fence)
  }

  /** Ends a counter: what it issued stays below all that later ones issue. */
  retire(fence: TokenSequence): void {
    this.#floor = Math.max(this.#floor, fence.last + 1)
    this.#fences.delete(fence)
  }

  make(now: number): TokenSequence {
    const fence = new TokenSequence(startAbove(now, this.#floor))
    this.#fences.add(fence)
    return fence
  }

  /** Lets all sequences continue above every token that may have been issued until now. */
  raise(now: number): void {
    for (const fence of this.#fences) fence.raise(now)
  }
}

/** A multiple of SEGMENT that is at least `floor` and at least `now` · 1,024. */
const startAbove = (now: number, floor: number): number => Math.ceil(Math.max(now * 1024, floor) / SEGMENT) * SEGMENT

/** Tokens whose fingerprints lie in one array, made when the first of them is acknowledged. */
const CHUNK = 4_096

/** Remembers acknowledged tokens with a fingerprint of their task, for the newest segments (D24, D80). */
export class AckedTokens {
  readonly #fence: TokenSequence
  readonly #chunks = new Map<number, Uint32Array>()

  constructor(fence: TokenSequence) {
    this.#fence = fence
  }

  record(token: number, id: string): void {
    const at = Math.floor(token / CHUNK)
    let prints = this.#chunks.get(at)
    if (prints === undefined) {
      prints = new Uint32Array(CHUNK)
      this.#chunks.set(at, prints)
      for (const old of this.#chunks.keys()) if (old * CHUNK < this.#oldest()) this.#chunks.delete(old)
    }
    prints[token % CHUNK] = fingerprintOf(id)
  }

  has(token: number, id: string): boolean {
    return token >= this.#oldest() && this.#chunks.get(Math.floor(token / CHUNK))?.[token % CHUNK] === fingerprintOf(id)
  }

  /** The first token of the oldest segment that is kept. */
  #oldest(): number {
    return (Math.floor(this.#fence.last / SEGMENT) - SEGMENTS_KEPT + 1) * SEGMENT
  }
}
