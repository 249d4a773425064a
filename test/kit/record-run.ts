/**
 * Adds a run to `test/reliability/runs.jsonl` and rewrites RESULTS.md, if RECORD=1. A long test calls it at
 * its end:
 *
 *   recordRun({ layer: 'L3', command: 'SOAK=1 npm test -- test/durability', count: 1_000, counted: 'crash points …' })
 */
import { execFileSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'

const REPORT = fileURLToPath(new URL('../../hack/reliability-report.mjs', import.meta.url))

/** The fields are those of the head of `hack/reliability-report.mjs`. */
interface ReliabilityRun {
  readonly layer: 'L1' | 'L2' | 'L3' | 'L4' | 'L5' | 'L6' | 'L7' | 'disk' | 'controls' | 'mutants' | 'versions' | 'soak'
  readonly command: string
  readonly count: number
  readonly counted: string
  readonly seedBase?: number | string | null
  readonly mustHappen?: Readonly<Record<string, number>>
  readonly found?: number
  readonly skipped?: readonly string[]
  readonly figures?: Readonly<Record<string, number | string>>
  /** Only if the run belongs to another commit than the checked-out one. */
  readonly commit?: string
}

/** @throws {Error} for a wrong field; its message names the field. */
export function recordRun(run: ReliabilityRun): void {
  if (process.env['RECORD'] !== '1') return
  execFileSync(process.execPath, [REPORT, '--add', JSON.stringify(run)], { stdio: ['ignore', 'ignore', 'pipe'] })
}
