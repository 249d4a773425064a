/** @module storage/name-order  Orders enrolment rules and rollout reports in the same way on all backends. */
import { compareText } from '../runtime/index.ts'

/** The order of `enrolments.list`, `rollouts.list` and `rollouts.heads`. */
export const byName = (a: { readonly name: string }, b: { readonly name: string }): number =>
  compareText(a.name, b.name)
