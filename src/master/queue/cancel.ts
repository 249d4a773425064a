/**
 * @module master/queue/cancel
 * Cancels tasks by id (D109). A task that is in flight loses its lease in the same step; its worker stops the run when
 * it extends the lease the next time.
 */
import {
  API_PREFIX,
  CancelledBody,
  CancelSelectedBody,
  CancelSelectionBody,
  type CancelOutcome,
} from '../../protocol/index.ts'
import type { CancelResult } from '../../storage/index.ts'
import type { MasterReleases } from '../master-releases.ts'
import { actorOf } from '../auth/index.ts'
import { route, type Route } from '../http/index.ts'
import type { TypeQueue } from './type-queue.ts'
import { unknownTask } from './unknown-task.ts'

const TASKS = `${API_PREFIX}/automations/{type}/tasks`

export interface CancelDeps {
  /** What the live masters implement. If left out, there is no other master. */
  readonly releases?: MasterReleases | undefined
  readonly queueOf: (type: string) => TypeQueue
}

export function cancelRoutes(deps: CancelDeps): readonly Route[] {
  return [cancelRoute(deps), selectRoute(deps)]
}

function cancelRoute({ queueOf, releases }: CancelDeps): Route {
  return route({
    method: 'DELETE',
    path: `${TASKS}/{task_id}`,
    access: 'scoped',
    needs: 'operate',
    audit: 'task.cancel',
    response: CancelledBody,
    summary:
      'Cancels a task that is pending, scheduled or in flight. A dead task, and a retained outcome, stay as they are.',
    handle: async ({ params, principal, header }) => {
      const { type, task_id: id = '' } = params
      releases?.require('cancel')
      const [result] = await queueOf(type).cancel([id], actorOf(principal, header('muster-actor')))
      return { body: cancelledBody(type, id, result), audit: { count: result?.kind === 'cancelled' ? 1 : 0 } }
    },
  })
}

function selectRoute({ queueOf, releases }: CancelDeps): Route {
  return route({
    method: 'POST',
    path: `${TASKS}/select`,
    access: 'scoped',
    needs: 'operate',
    audit: 'task.cancel',
    body: CancelSelectionBody,
    response: CancelSelectedBody,
    example: { action: 'cancel', task_ids: ['order-7'] },
    summary: 'Cancels the tasks with the given ids; one outcome per id, in order.',
    handle: async ({ params, principal, header, body: { task_ids: ids } }) => {
      releases?.require('cancel')
      const results = await queueOf(params.type).cancel(ids, actorOf(principal, header('muster-actor')))
      const outcomes = results.map(outcomeOf)
      return {
        body: { results: ids.map((id, at) => ({ task_id: id, outcome: outcomes[at] })) },
        audit: { count: results.filter(({ kind }) => kind === 'cancelled').length },
      }
    },
  })
}

/** @throws {FleetError} NOT_FOUND */
function cancelledBody(type: string, id: string, result: CancelResult | undefined): CancelledBody {
  if (result === undefined || result.kind === 'not_found') throw unknownTask(type, id)
  if (result.kind === 'finished') return { task_id: id, outcome: result.as }
  if (result.kind === 'dead') return { task_id: id, outcome: 'dead' }
  return { task_id: id, outcome: 'cancelled', was: result.was }
}

const outcomeOf = (result: CancelResult): CancelOutcome => (result.kind === 'finished' ? result.as : result.kind)
