/**
 * @module master/queue/find
 * Finds a task by its id in the queues of all types (D116).
 */
import { Type } from 'typebox'
import { API_PREFIX, FoundTask } from '../../protocol/index.ts'
import type { TaskState } from '../../storage/index.ts'
import { covers } from '../auth/index.ts'
import { RawJson, route, type Route } from '../http/index.ts'
import { stateText } from './outcomes.ts'

/** Types that one call reads in parallel. */
const TYPES_IN_PARALLEL = 8

export interface FindDeps {
  /** The types with a queue. */
  readonly types: () => readonly string[]
  readonly describe: (type: string, ids: readonly string[]) => Promise<readonly (TaskState | null)[]>
}

export function findRoute({ types, describe }: FindDeps): Route {
  return route({
    method: 'GET',
    path: `${API_PREFIX}/tasks/{task_id}`,
    access: 'scoped',
    needs: 'read',
    response: Type.Array(FoundTask),
    summary:
      'Where the tasks with this id are, of all types that the token covers, ordered by type; empty if it is unknown.',
    handle: async ({ params, principal }) => {
      const id = params['task_id'] ?? ''
      const covered = types()
        .filter((type) => covers(principal, type))
        .toSorted()
      const found: string[] = []
      for (let from = 0; from < covered.length; from += TYPES_IN_PARALLEL) {
        const part = covered.slice(from, from + TYPES_IN_PARALLEL)
        const states = await Promise.all(part.map((type) => describe(type, [id])))
        found.push(...part.flatMap((type, at) => foundText(type, id, states[at]?.[0] ?? null)))
      }
      return { body: new RawJson(`[${found.join(',')}]`) }
    },
  })
}

/** The state of a task with its type in front; nothing if the task is unknown. */
function foundText(type: string, id: string, state: TaskState | null): readonly string[] {
  if (state === null) return []
  return [`{"automation_type":${JSON.stringify(type)},${stateText(id, state).slice(1)}`]
}
