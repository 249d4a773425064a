/**
 * Runs a row: its subjects alternate, A-B-A-B, for all rounds. Each measurement begins with a collected heap, and
 * waits, for a limited time, until a calibration loop is as fast as at its best.
 */
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

setFlagsFromString('--expose-gc')
const collectGarbage = runInNewContext('gc')

/** A subject that is not available on this machine: skipped by name, not a failure. */
export class Unavailable extends Error {}

const SUBJECT_MS = 240_000
const TOLERANCE = 1.1
const TRIES = 5
const PAUSE_MS = 300

/** Milliseconds of a fixed amount of work. */
function calibration() {
  const began = performance.now()
  let sum = 0
  for (let i = 0; i < 20_000_000; i += 1) sum = (Math.imul(sum, 31) + i) | 0
  return Number.isInteger(sum) ? performance.now() - began : NaN // The compiler would remove an unused result.
}

/** How steady the machine was during the run. */
export const calm = { measured: 0, restless: 0, bestMs: Infinity }

/** Prepares each measurement. */
export async function settle() {
  collectGarbage()
  calm.measured += 1
  for (let tried = 1; tried <= TRIES; tried += 1) {
    const ms = calibration()
    calm.bestMs = Math.min(calm.bestMs, ms)
    if (ms <= calm.bestMs * TOLERANCE) return
    await new Promise((resolve) => setTimeout(resolve, PAUSE_MS))
  }
  calm.restless += 1
}

async function withinTime(work) {
  let timer
  const late = new Promise((_, reject) => {
    timer = setTimeout(() => reject(new Error(`gave up after ${SUBJECT_MS / 1_000} s`)), SUBJECT_MS)
  })
  try {
    return await Promise.race([work, late])
  } finally {
    clearTimeout(timer)
  }
}

/**
 * Creates the helpers of subjects, per round. `once(key, work)` returns the same result for all calls with the same key
 * in one round, so that rows that share a measurement (adding, processing, both) make it once.
 */
export function createBench({ scale, directory, rounds, before }) {
  const made = Array.from({ length: rounds + 1 }, () => new Map())
  return (round) => ({
    scale,
    directory,
    before,
    count: (n) => Math.max(1_000, Math.round((n * scale) / 1_000) * 1_000),
    once(key, work) {
      const known = made[round].get(key) ?? work()
      made[round].set(key, known)
      return known
    },
  })
}

/**
 * @returns `{ row, figures, skipped, failed }`, by subject. A failed subject is not run again, and has no figures.
 * `row.rounds` limits the rounds of slow rows.
 */
export async function runRow(row, { benchOf, rounds, onFigures, before = settle }) {
  const result = { row, figures: {}, skipped: {}, failed: {} }
  for (let round = 1; round <= Math.min(rounds, row.rounds ?? rounds); round += 1) {
    for (const [name, subject] of Object.entries(row.subjects)) {
      if (result.skipped[name] !== undefined || result.failed[name] !== undefined) continue
      try {
        await before()
        const figures = await withinTime(subject(benchOf(round)))
        ;(result.figures[name] ??= []).push(figures)
        onFigures(round, name, figures)
      } catch (error) {
        const kind = error instanceof Unavailable ? 'skipped' : 'failed'
        result[kind][name] = error.message
        delete result.figures[name]
        onFigures(round, name, { [kind]: error.message })
      }
    }
  }
  return result
}
