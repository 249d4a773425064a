/** The conformance table: what the contract claims, row by row, and what shows it. */
import { CHANNEL } from './channel.ts'
import { DECISIONS } from './decisions.ts'
import { ENDPOINTS } from './endpoints.ts'
import { LIFECYCLES } from './lifecycles.ts'
import { RESOURCES } from './resources.ts'
import type { Row } from './row.ts'

export const TABLE: readonly Row[] = [...RESOURCES, ...LIFECYCLES, ...ENDPOINTS, ...CHANNEL, ...DECISIONS]
export { by, pending, type Row } from './row.ts'
