/** Lists all checks of a run. */
import { checkBounds } from './bounds.ts'
import { checkConfigs } from './configs.ts'
import { checkDeliveries } from './deliveries.ts'
import { checkDrains } from './drains.ts'
import { checkEvents } from './events.ts'
import { checkGroups } from './groups.ts'
import { checkHosts } from './hosts.ts'
import type { CreateCheck } from './invariant.ts'
import { checkKeys } from './keys.ts'
import { checkLiveness } from './liveness.ts'
import { checkOperator } from './operator.ts'
import { checkOutcomes } from './outcomes.ts'
import { checkPauses } from './pauses.ts'
import { checkResponses } from './responses.ts'
import { checkSecrets } from './secrets.ts'
import { checkSettles } from './settles.ts'
import { checkStreams } from './streams.ts'
import { checkTaskFields } from './task-fields.ts'
import { checkTasks } from './tasks.ts'
import { checkUniqueKeys } from './unique-keys.ts'

export const CHECKS: readonly CreateCheck[] = [
  checkTasks,
  checkKeys,
  checkUniqueKeys,
  checkGroups,
  checkPauses,
  checkOutcomes,
  checkTaskFields,
  checkConfigs,
  checkStreams,
  checkEvents,
  checkSettles,
  checkDrains,
  checkDeliveries,
  checkHosts,
  checkBounds,
  checkResponses,
  checkLiveness,
  checkOperator,
  checkSecrets,
]
