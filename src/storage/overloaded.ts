import { FleetError } from '../protocol/index.ts'

/** The error of a change that was not sent, because too many changes are waiting for the store. Safe to retry. */
export const storeOverloaded = (): FleetError =>
  new FleetError('STORAGE_OVERLOADED', 'too many changes are waiting for the store; try again', {
    retryAfterSeconds: 1,
    outcome: 'not_sent',
  })
