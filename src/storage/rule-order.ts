/** @module storage/rule-order  Orders enrolment rules in the same way on all backends. */
import { compareText } from '../runtime/index.ts'
import type { EnrolmentRule } from './backend.ts'

/** The order of `enrolments.list`. */
export const byRuleName = (a: EnrolmentRule, b: EnrolmentRule): number => compareText(a.name, b.name)
