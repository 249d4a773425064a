/** All checks of a run. */
import type { CreateCheck } from './invariant.ts'
import { checkTasks } from './tasks.ts'

export const CHECKS: readonly CreateCheck[] = [checkTasks]
