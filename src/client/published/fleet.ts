/**
 * @module client/published/fleet
 * Implements the log reads, groups of dead tasks and operations of one automation type for the published client.
 */
import type {
  JsonObject,
  OperationBody,
  OperationPreviewBody,
  OperationShown,
  WorkerLogsBody,
} from '../../protocol/index.ts'
import { apiPath, type Query } from '../address.ts'
import type { ApiCaller } from '../api-caller.ts'
import { DeadGroupRoutes } from '../dead-group-routes.ts'
import { Operations as OperationRoutes } from '../operations.ts'
import type { DeadGroups, LogPage, LogsOptions, Operation, Operations } from './fleet-api.ts'
import { bodyOf, faultsOf } from './muster-error.ts'
import { dateOf, secondsOf, shown, wire } from './shown.ts'
import { deadTask } from './task-shapes.ts'

/**
 * Returns log entries of a worker.
 * @param caller Sends the request.
 * @param workerId The ID of the worker.
 * @param options Which entries. `signal` aborts.
 */
export async function readLogs(
  caller: ApiCaller,
  type: string,
  workerId: string,
  { signal, ...query }: LogsOptions = {},
): Promise<LogPage> {
  const path = apiPath(['automations', type, 'workers', workerId, 'logs'], wire(query) as Query)
  const page = await bodyOf(caller.call<WorkerLogsBody>({ method: 'GET', path }, { signal }))
  const { entries, ...rest } = shown(page)
  return { ...rest, entries: entries.map(({ ts, ...entry }) => ({ ...shown(entry), at: dateOf(ts) })) }
}

/** Returns the calls for groups of dead tasks of a type. @param caller Sends the requests. */
export function deadGroupsOf<Payload>(type: string, caller: ApiCaller): DeadGroups<Payload> {
  const routes = new DeadGroupRoutes(caller)
  return {
    async groups(options) {
      const { groups, ...list } = await bodyOf(routes.list(type, options))
      return { ...shown(list), groups: groups.map((group) => ({ ...shown(group), example: shown(group.example) })) }
    },
    async newest({ limit, ...options } = {}) {
      const { items, cursor } = await bodyOf(routes.newest(type, { n: limit, ...options }))
      return { items: items.map((item) => deadTask<Payload>(item)), cursor }
    },
    async replayGroup(group, { before, perSecond, delaySeconds, signal }) {
      const replay = { before: secondsOf(before), perSecond, delaySeconds }
      return shown(await bodyOf(routes.replay(type, group, replay, { signal })))
    },
    deleteGroup: (group, before, options) => bodyOf(routes.remove(type, group, secondsOf(before), options)),
    async replayEdited({ id, diedAt }, payload, options) {
      const edited = { diedAt: secondsOf(diedAt), payload: payload as JsonObject }
      return (await bodyOf(routes.replayEdited(type, id, edited, options))).outcome === 'replayed'
    },
    replays: async (options) => (await bodyOf(routes.replays(type, options))).replays.map((replay) => shown(replay)),
  }
}

/** Returns the calls for operations of a type. @param caller Sends the requests. */
export function operationsOf(type: string, caller: ApiCaller): Operations {
  const routes = new OperationRoutes(caller)
  const operation = async (call: Promise<{ readonly body: OperationShown }>): Promise<Operation> =>
    operationOf(await bodyOf(call))
  return {
    async preview(change, options) {
      const preview = shown(await bodyOf(routes.preview(type, wire(change) as OperationPreviewBody, options)))
      const { generations, managed, refusedBecause } = preview
      return {
        ...preview,
        generations: generations.map((each) => shown(each)),
        managed: managed.map((each) => shown(each)),
        refusedBecause: refusedBecause.map(({ detail, workers }) => ({
          detail: typeof detail === 'string' ? detail : faultsOf(detail),
          workers,
        })),
      }
    },
    create: (change, options) => operation(routes.create(type, wire(change) as OperationBody, options)),
    get: (name, options) => operation(routes.get(type, name, options)),
    results: async (name, options) =>
      (await bodyOf(routes.results(type, name, options))).results.map((result) => shown(result)),
    cancel: (name, options) => operation(routes.cancel(type, name, options)),
    undo: (name, options) => operation(routes.undo(type, name, options)),
  }
}

/** Returns an operation as the client shows it. */
export function operationOf(body: OperationShown): Operation {
  return { ...shown(body), failures: body.failures.map((failure) => shown(failure)) }
}
