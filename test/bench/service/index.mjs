/**
 * The rows of the service level, in the order of the table: everything goes through REST, RPC and the control channel
 * of the built command. `rounds` limits the number of rounds of slow rows.
 */
import { backlog } from './backlog.mjs'
import { clientSubmit } from './client-submit.mjs'
import { recovered, retried } from './failures.mjs'
import { idleWorker, reconnectStorm, reportingWorker, reports } from './idle-fleet.mjs'
import { lanes } from './lanes.mjs'
import { configNotified } from './notify.mjs'
import { outputsBatched, outputsEmitted, outputsSingle, pop100 } from './outputs.mjs'
import { pickup500, pickup2000, pickup5000 } from './pickup.mjs'
import { submitBatches, submitSingle } from './submit.mjs'
import { systemTasks, systemTasksSingle } from './system-tasks.mjs'

export const rows = [
  systemTasks,
  systemTasksSingle,
  submitSingle,
  submitBatches,
  clientSubmit,
  pickup500,
  pickup2000,
  pickup5000,
  ...lanes,
  outputsSingle,
  outputsBatched,
  outputsEmitted,
  pop100,
  configNotified,
  retried,
  recovered,
  idleWorker,
  reportingWorker,
  reports,
  reconnectStorm,
  backlog,
]
