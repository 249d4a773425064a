/**
 * @module storage/name-order
 * Orders enrolment rules, rollout reports and operations in the same way on all backends.
 */
import { compareText } from '../runtime/index.ts'

/** The order of `enrolments.list`, `rollouts.list` and `rollouts.heads`. */
export const byName = (a: { readonly name: string }, b: { readonly name: string }): number =>
  compareText(a.name, b.name)

/** The order of `operations.heads`. */
export const byId = (a: { readonly id: string }, b: { readonly id: string }): number => compareText(a.id, b.id)
