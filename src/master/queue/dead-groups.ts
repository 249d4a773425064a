/**
 * @module master/queue/dead-groups
 * Serves the groups of dead tasks, and replays and removes dead tasks by group (D157, D158). Also replays a dead task
 * with another payload (D159).
 */
import {
  API_PREFIX,
  DeadGroupsBody,
  DEFAULT_N,
  FleetError,
  invalid,
  MAX_DEAD_PER_REQUEST,
  NewestDeadBody,
  NewestDeadQuery,
  RemovedGroupBody,
  RemoveGroupBody,
  ReplayedEditedBody,
  ReplayedGroupBody,
  ReplayEditedBody,
  ReplayGroupBody,
  toMs,
  toSeconds,
  type DeadGroupBody,
} from '../../protocol/index.ts'
import type { CatalogEntry } from '../../automation/index.ts'
import { errorPattern, isListCursor, OTHER_GROUP, type DeadGroup, type Tasks } from '../../storage/index.ts'
import { route, type Route } from '../http/index.ts'
import type { Inspections } from '../inspections/index.ts'
import { deadText } from './dead-text.ts'
import { payloadFaults } from './new-task.ts'
import { replaysRoute, type Replays } from './replays.ts'
import type { TypeQueue } from './type-queue.ts'

const DEAD = `${API_PREFIX}/automations/{type}/dead`
const GROUP = `${DEAD}/groups/{group}`
/** Dead tasks of an earlier release that one step puts into groups, and the steps of one request. */
const REPAIR_STEP = 500
const REPAIR_STEPS = 20

export interface DeadGroupDeps {
  readonly tasks: Tasks
  readonly inspections: Inspections
  readonly queueOf: (type: string) => TypeQueue
  readonly replays: Replays
}

export function deadGroupRoutes(deps: DeadGroupDeps): readonly Route[] {
  return [
    groupsRoute(deps),
    newestRoute(deps),
    replayRoute(deps),
    replaysRoute(deps.replays),
    removeRoute(deps),
    editRoute(deps),
  ]
}

function groupsRoute({ tasks }: DeadGroupDeps): Route {
  return route({
    method: 'GET',
    path: `${DEAD}/groups`,
    access: 'scoped',
    needs: 'read',
    response: DeadGroupsBody,
    summary: 'The dead tasks, grouped by the pattern of their errors, newest death first.',
    handle: async ({ params: { type } }) => ({ body: await readDeadGroups(tasks, type) }),
  })
}

/** Reads the groups of dead tasks of a type, newest death first. */
export async function readDeadGroups(tasks: Tasks, type: string): Promise<DeadGroupsBody> {
  const isComplete = await repairDeadGroups(tasks, type)
  const groups = await tasks.deadGroups(type)
  const last = Math.max(...groups.map(({ lastDiedAtMs }) => lastDiedAtMs))
  const asOf = groups.length === 0 ? null : toSeconds(last + 1)
  return { complete: isComplete, as_of: asOf, groups: groups.map(groupBody) }
}

function newestRoute({ tasks, inspections }: DeadGroupDeps): Route {
  return route({
    method: 'GET',
    path: `${DEAD}/newest`,
    access: 'scoped',
    needs: 'read',
    query: NewestDeadQuery,
    response: NewestDeadBody,
    summary: 'The dead tasks of a group, or all of them, newest death first. cursor continues behind them.',
    handle: (request) => {
      const { n = DEFAULT_N.dead, group = null, cursor = null } = request.query
      if (cursor !== null && !isListCursor(cursor))
        throw invalid('/cursor', 'must be the cursor of a page of this list', 'cursor')
      return inspections.respond(request, async (out) => {
        const page = await out.read(() => tasks.newestDead(request.params.type, group, cursor, n, out.room))
        out.text('{"items":[')
        out.items(page.items.map(deadText))
        out.text(`],"cursor":${JSON.stringify(page.next)}}`)
      })
    },
  })
}

function replayRoute({ tasks, queueOf, replays }: DeadGroupDeps): Route {
  return route({
    method: 'POST',
    path: `${GROUP}/replay`,
    access: 'scoped',
    needs: 'operate',
    audit: 'dead.replay',
    body: ReplayGroupBody,
    response: ReplayedGroupBody,
    example: { before: 1_750_000_000, per_second: 10 },
    summary:
      'Replays the tasks of a group that died before a moment, up to 10,000 in one request, oldest death first. ' +
      'With per_second they are scheduled, and go back to their own tiers when they are due.',
    handle: async ({ params, body }) => {
      const group = groupOf(params)
      await repairDeadGroups(tasks, params.type)
      const { before, per_second: perSecond, delay_seconds: delaySeconds } = body
      const pace =
        typeof perSecond === 'number'
          ? { delayMs: Math.round((delaySeconds ?? 0) * 1_000), intervalMs: 1_000 / perSecond }
          : undefined
      let result = { done: 0, isComplete: true, delayMs: 0 }
      const pattern = (): Promise<string | null> => patternOf(tasks, params.type, group)
      await replays.run(params.type, { group, before }, pattern, async (replay) => {
        const of = { group, action: 'replay', diedBeforeMs: toMs(before), pace, replay } as const
        result = await queueOf(params.type).applyToDeadGroup(of, MAX_DEAD_PER_REQUEST)
        return result.done
      })
      const { done, isComplete, delayMs } = result
      return {
        body: { replayed: done, more: !isComplete, delay_seconds: delayMs / 1_000 },
        audit: { count: done },
      }
    },
  })
}

function removeRoute({ tasks, queueOf }: DeadGroupDeps): Route {
  return route({
    method: 'POST',
    path: `${GROUP}/remove`,
    access: 'scoped',
    needs: 'purge',
    audit: 'dead.remove',
    body: RemoveGroupBody,
    response: RemovedGroupBody,
    example: { before: 1_750_000_000 },
    summary: 'Removes the tasks of a group that died before a moment, up to 10,000 in one request; there is no undo.',
    handle: async ({ params, body: { before } }) => {
      const group = groupOf(params)
      await repairDeadGroups(tasks, params.type)
      const { done, isComplete } = await queueOf(params.type).applyToDeadGroup(
        { group, action: 'remove', diedBeforeMs: toMs(before) },
        MAX_DEAD_PER_REQUEST,
      )
      return { body: { removed: done, more: !isComplete }, audit: { count: done } }
    },
  })
}

function editRoute({ tasks, queueOf }: DeadGroupDeps): Route {
  return route({
    method: 'POST',
    path: `${DEAD}/tasks/{task_id}/replay`,
    access: 'scoped',
    needs: ['operate'],
    audit: 'dead.replay',
    body: ReplayEditedBody,
    keepsNumbers: true,
    response: ReplayedEditedBody,
    example: { died_at: 1_750_000_000, payload: { url: 'https://example.com/' } },
    summary: 'Replays a dead task with another payload, if it has not died again since died_at.',
    handle: async ({ params, entry, body, exactBody }) => {
      checkPayload(body.payload, entry)
      const id = params['task_id'] ?? ''
      const diedAtMs = toMs(body.died_at)
      const stored = await tasks.deadTask(params.type, id)
      const isReplayed =
        stored !== null &&
        (await queueOf(params.type).replayEdited(id, diedAtMs, withPayload(stored.body, exactBody.payload)))
      return {
        body: { task_id: id, outcome: isReplayed ? 'replayed' : 'not_dead' },
        audit: { count: isReplayed ? 1 : 0 },
      }
    },
  })
}

/** Puts tasks into groups that an earlier release has moved to the dead letters. @returns whether none is left. */
export async function repairDeadGroups(tasks: Tasks, type: string): Promise<boolean> {
  for (let step = 0; step < REPAIR_STEPS; step += 1) if (!(await tasks.groupDead(type, REPAIR_STEP))) return true
  return false
}

/** @returns null for a group that is gone, and for the one with the errors that have no group of their own. */
export async function patternOf(tasks: Tasks, type: string, group: string): Promise<string | null> {
  const found = (await tasks.deadGroups(type)).find((each) => each.group === group)
  return found === undefined ? null : groupBody(found).pattern
}

function groupBody(row: DeadGroup): DeadGroupBody {
  const { group, count, firstDiedAtMs, lastDiedAtMs, trend, workers, example } = row
  return {
    group,
    pattern: group === OTHER_GROUP ? null : errorPattern(example.lastError),
    count,
    first_died_at: toSeconds(firstDiedAtMs),
    last_died_at: toSeconds(lastDiedAtMs),
    trend: [...trend],
    workers: [...workers],
    example: { task_id: example.id, error: example.lastError },
  }
}

/** @throws {FleetError} NOT_FOUND for a text that no group has. */
function groupOf(params: Readonly<Record<string, string>>): string {
  const group = params['group'] ?? ''
  if (!/^[\da-f]{16}$/.test(group)) throw new FleetError('NOT_FOUND', `there is no group of dead tasks "${group}"`)
  return group
}

/** @throws {FleetError} INVALID with all faults. */
function checkPayload(payload: unknown, entry: CatalogEntry): void {
  const faults = payloadFaults(payload, entry)
  if (faults.length > 0) throw new FleetError('INVALID', faults)
}

/** The text of a task with another payload. The fields keep their order, which the store demands. */
function withPayload(text: string, payload: unknown): string {
  return JSON.stringify({ ...(JSON.parse(text) as object), payload })
}
