/** @module master/registry/unknown-worker  The 404 of a worker that is not registered. */
import { FleetError } from '../../protocol/index.ts'
import type { Ref } from '../../storage/index.ts'

export function unknownWorker({ type, id }: Ref): FleetError {
  return new FleetError(
    'NOT_FOUND',
    `no worker ${JSON.stringify(id)} of type ${type} is registered; a worker appears here when it registers`,
  )
}
