/**
 * @module operator/fleetworkerset/scale/memory
 * Stores what a term of leadership remembers of the workload of a set. It limits the rate of calls, and decides
 * nothing.
 */
import type { ScaleProblem } from '../conditions.ts'
import type { WorkloadRead } from './workload.ts'

/** What a term remembers of the workload of a set. */
export interface ScaleMemory {
  workload: { readonly read: WorkloadRead; readonly input: string; readonly atMs: number } | undefined
  wroteMs: number
  advancedMs: number
  /** Since when a scale-in waits, and whether that was reported. */
  waiting: { readonly sinceMs: number; isReported: boolean } | undefined
  /** When the first `replicas` of the set may be written again, and why that was not permitted. */
  readonly first: { nextMs: number; problem: ScaleProblem | undefined }
}

export const newScaleMemory = (): ScaleMemory => ({
  workload: undefined,
  wroteMs: -Infinity,
  advancedMs: -Infinity,
  waiting: undefined,
  first: { nextMs: -Infinity, problem: undefined },
})
