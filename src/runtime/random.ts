/**
 * @module runtime/random
 * The port through which everything else draws randomness, so that a simulated run repeats from its seed.
 */
import { randomBytes, randomUUID } from 'node:crypto'

export interface Random {
  /** A number in [0, 1). */
  unit(): number
  /** `n` random bytes, fit for tokens. */
  bytes(n: number): Uint8Array
  /** A random UUID in its dashed form. */
  uuid(): string
}

/** Randomness of the operating system. */
export const systemRandom: Random = {
  unit: () => Math.random(),
  bytes: (n) => randomBytes(n),
  uuid: () => randomUUID(),
}

/** Repeatable randomness for tests: the same seed draws the same sequence (mulberry32). */
export function seededRandom(seed: number): Random {
  let state = seed >>> 0
  const u32 = (): number => {
    state = (state + 0x6d2b79f5) >>> 0
    let t = Math.imul(state ^ (state >>> 15), 1 | state)
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t
    return (t ^ (t >>> 14)) >>> 0
  }
  const bytes = (n: number): Uint8Array => Uint8Array.from({ length: n }, () => u32() & 0xff)
  const uuid = (): string => {
    const hex = Buffer.from(bytes(16)).toString('hex')
    return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-4${hex.slice(13, 16)}-a${hex.slice(17, 20)}-${hex.slice(20)}`
  }
  return { unit: () => u32() / 2 ** 32, bytes, uuid }
}
