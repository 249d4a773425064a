/** Draws the numbers of a plan. */
import type { Random } from '../../src/runtime/index.ts'

/** The calm phase is undisturbed for this long first, so that everything has recovered. */
export const RECOVERED_MS = 75_000

export const between = (random: Random, min: number, max: number): number => min + (max - min) * random.unit()
/** A whole number from `min` to `max`. */
export const whole = (random: Random, min: number, max: number): number => Math.floor(between(random, min, max + 1))
export const pick = <T>(random: Random, from: readonly T[]): T => from[Math.floor(random.unit() * from.length)] as T
