/** The conformance table: the claims of the contract, row by row, with the tests that show them. */
import { ADDITIONS } from './additions.ts'
import { CHANNEL } from './channel.ts'
import { DECISIONS } from './decisions.ts'
import { DIAGNOSIS } from './diagnosis.ts'
import { ENDPOINTS } from './endpoints.ts'
import { FLEETS } from './fleets.ts'
import { LIFECYCLES } from './lifecycles.ts'
import { OPERATIONS } from './operations.ts'
import { RESOURCES } from './resources.ts'
import type { Row } from './row.ts'
import { TASK_CONTROL } from './task-control.ts'
import { WIRE } from './wire.ts'

export const TABLE: readonly Row[] = [
  ...RESOURCES,
  ...LIFECYCLES,
  ...ENDPOINTS,
  ...CHANNEL,
  ...DECISIONS,
  ...WIRE,
  ...ADDITIONS,
  ...TASK_CONTROL,
  ...FLEETS,
  ...DIAGNOSIS,
  ...OPERATIONS,
]
export { by, pending, type Row } from './row.ts'
