/** Lists the rows of the conformance kit. */
import type { Row } from '../row.ts'
import { CONFIG } from './config.ts'
import { CONNECT, LATER_CONNECT } from './connect.ts'
import { ENDS } from './ends.ts'
import { LOGS } from './logs.ts'
import { OUTPUT } from './output.ts'
import { STREAMS } from './streams.ts'
import { LATER_TASKS, TASKS } from './tasks.ts'
import { TOLERANCE } from './tolerance.ts'

export const ROWS: readonly Row[] = [
  ...CONNECT,
  ...CONFIG,
  ...TASKS,
  ...ENDS,
  ...OUTPUT,
  ...TOLERANCE,
  ...LATER_TASKS,
  ...STREAMS,
  ...LATER_CONNECT,
  ...LOGS,
]
