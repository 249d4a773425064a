/**
 * @module master/queue/outcomes
 * Serves the state of tasks: their place, and what was retained of finished ones (D29, D110, D111). Results are
 * inserted into the response as the stored text.
 */
import type { CatalogEntry } from '../../automation/index.ts'
import {
  API_PREFIX,
  AwaitBody,
  AwaitedBody,
  MAX_RESPONSE_BYTES,
  RESPONSE_PIECE_BYTES,
  TaskPlace,
  toSeconds,
  WaitQuery,
} from '../../protocol/index.ts'
import { charsOfState, type Outcome, type TaskPlace as Place, type TaskState, type Tasks } from '../../storage/index.ts'
import { RawJson, route, type Route } from '../http/index.ts'
import { RUN_ITEMS } from './batcher.ts'
import { groupKeyIn } from './body-text.ts'
import { historyText } from './run-history.ts'
import type { TaskWaits } from './task-waits.ts'
import { unknownTask } from './unknown-task.ts'

const TASKS = `${API_PREFIX}/automations/{type}/tasks`

export function outcomeRoutes(waits: TaskWaits, tasks: Pick<Tasks, 'bodies'>): readonly Route[] {
  return [stateRoute(waits, tasks), awaitRoute(waits)]
}

/** Reads the states of any number of tasks, about 1 MiB in one step of the store. The list ends early at 32 MiB. */
export async function describeAll(
  tasks: Tasks,
  type: string,
  ids: readonly string[],
): Promise<readonly (TaskState | null)[]> {
  const states: (TaskState | null)[] = []
  let left = MAX_RESPONSE_BYTES
  while (states.length < ids.length && left > 0) {
    const part = ids.slice(states.length, states.length + RUN_ITEMS)
    const found = await tasks.describe(type, part, Math.min(left, RESPONSE_PIECE_BYTES))
    states.push(...found)
    left -= found.reduce((sum, state) => sum + charsOfState(state), 0)
  }
  return states
}

/** Finds any number of tasks. */
export async function locateAll(
  tasks: Tasks,
  type: string,
  ids: readonly string[],
): Promise<readonly (Place | null)[]> {
  const places: (Place | null)[] = []
  for (let from = 0; from < ids.length; from += RUN_ITEMS)
    places.push(...(await tasks.locate(type, ids.slice(from, from + RUN_ITEMS))))
  return places
}

function stateRoute(waits: TaskWaits, tasks: Pick<Tasks, 'bodies'>): Route {
  return route({
    method: 'GET',
    path: `${TASKS}/{task_id}`,
    access: 'scoped',
    isHot: true,
    needs: ['read', 'submit'],
    long: true,
    query: WaitQuery,
    response: TaskPlace,
    summary:
      'Where a task is: pending, in_flight, scheduled, dead; done, expired or cancelled if its outcome is retained. ' +
      'With wait_seconds, returns when the task has finished, or after that time.',
    handle: async ({ params, entry, query, signal }) => {
      const id = params['task_id'] ?? ''
      const [state = null] = await waits.wait(params.type, [id], (query.wait_seconds ?? 0) * 1_000, signal)
      if (state === null) throw unknownTask(params.type, id)
      const group = isStored(state) ? await groupOf(tasks, entry, id) : null
      return { body: new RawJson(stateText(id, state, group)) }
    },
  })
}

function awaitRoute(waits: TaskWaits): Route {
  return route({
    method: 'POST',
    path: `${TASKS}/await`,
    access: 'scoped',
    needs: ['read', 'submit'],
    long: true,
    body: AwaitBody,
    response: AwaitedBody,
    refuses: ['OVERLOADED'],
    example: { task_ids: ['order-7', 'order-8'], wait_seconds: 20 },
    summary:
      'The states of up to 1,000 tasks, in order; place is null for an unknown one. Returns when at least one has ' +
      'finished or is unknown, or after wait_seconds.',
    handle: async ({ params: { type }, body: { task_ids: ids, wait_seconds: waitSeconds }, signal }) => {
      const states = await waits.wait(type, ids, (waitSeconds ?? 0) * 1_000, signal)
      const results = states.map((state, at) => stateText(ids[at] ?? '', state))
      return { body: new RawJson(`{"results":[${results.join(',')}]}`) }
    },
  })
}

/**
 * The state of a task as JSON; `place` is null for an unknown one.
 * @param group That of a task that is not finished.
 */
export function stateText(id: string, state: TaskState | null, group: string | null = null): string {
  const head = `{"task_id":${JSON.stringify(id)},"place":`
  if (state === null) return `${head}null}`
  switch (state.kind) {
    case 'stored':
      return `${head}"${state.place}"${groupText(group)}${historyText(state)}}`
    case 'dead': {
      const { attempt, lastError, diedAtMs } = state
      const error = `"error":${JSON.stringify(lastError)}`
      return `${head}"dead","attempt":${attempt},${error},"finished_at":${toSeconds(diedAtMs)}${historyText(state)}}`
    }
    case 'done':
    case 'expired':
    case 'cancelled':
      return `${head}"${state.kind}",${outcomeText(state)}${historyText(state)}}`
  }
}

const isStored = ({ kind }: TaskState): boolean => kind === 'stored'

const groupText = (group: string | null): string => (group === null ? '' : `,"group_key":${JSON.stringify(group)}`)

/** Reads the group of a task that is not finished; null if it has none, or has finished meanwhile. */
async function groupOf(
  tasks: Pick<Tasks, 'bodies'>,
  { type, groups = null }: CatalogEntry,
  id: string,
): Promise<string | null> {
  if (groups === null) return null
  const [body = null] = await tasks.bodies(type, [id])
  return body === null ? null : groupKeyIn(body)
}

function outcomeText({ kind, attempt, worker, actor, result, finishedAtMs, retainedUntilMs }: Outcome): string {
  const times = `"finished_at":${toSeconds(finishedAtMs)},"retained_until":${toSeconds(retainedUntilMs)}`
  if (kind === 'expired') return `"attempt":${attempt},${times}`
  if (kind === 'cancelled') return `"actor":${JSON.stringify(actor)},${times}`
  const omitted = result?.kind === 'too_large' ? ',"result_omitted":"too_large"' : ''
  const value = result?.kind === 'json' ? result.text : 'null'
  return `"attempt":${attempt},"worker_id":${JSON.stringify(worker)},${times},"result":${value}${omitted}`
}
