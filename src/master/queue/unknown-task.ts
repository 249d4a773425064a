/** @module master/queue/unknown-task  Creates the error for a task that is not stored. */
import { FleetError } from '../../protocol/index.ts'

export const unknownTask = (type: string, id: string): FleetError =>
  new FleetError(
    'NOT_FOUND',
    `no task "${id}" of type "${type}" exists: it finished and its outcome is not kept, was cancelled, or was never ` +
      'submitted',
  )
