/**
 * @module master/queue/inspect
 * Serves the queue and its dead letters, and replays dead tasks (D9, D29, D50, D56). Bodies are inserted into the
 * response as the stored text.
 */
import {
  API_PREFIX,
  ClearedBody,
  DEFAULT_N,
  DeadBody,
  MAX_SHOWN_GROUPS,
  NBody,
  nQuery,
  QueueBody,
  ReplayedBody,
  SelectBody,
  SelectedBody,
} from '../../protocol/index.ts'
import type { QueueRow, QueueTicket, Tasks } from '../../storage/index.ts'
import type { CatalogEntry } from '../../automation/index.ts'
import { requirePermission } from '../auth/index.ts'
import { route, type Route } from '../http/index.ts'
import type { Inspections, InspectionBody } from '../inspections/index.ts'
import { pauseBody } from './counts.ts'
import { deadText } from './dead-text.ts'
import { groupBody } from './groups.ts'
import type { Replays } from './replays.ts'
import type { TypeQueue } from './type-queue.ts'

/** Tasks whose bodies one step reads: the limit of lists in the store. */
const BODIES_PER_PIECE = 500
const AUTOMATION = `${API_PREFIX}/automations/{type}`
const DEAD = `${AUTOMATION}/dead`

export interface InspectDeps {
  readonly tasks: Tasks
  readonly inspections: Inspections
  readonly queueOf: (type: string) => TypeQueue
  readonly replays: Replays
}

const OF_ANY_GROUP = { group: null, before: null } as const
const NO_PATTERN = async (): Promise<null> => null

export function inspectRoutes(deps: InspectDeps): readonly Route[] {
  return [queueRoute(deps), deadRoute(deps), replayRoute(deps), selectRoute(deps), clearRoute(deps)]
}

function queueRoute({ tasks, inspections }: InspectDeps): Route {
  return route({
    method: 'GET',
    path: `${AUTOMATION}/queue`,
    access: 'scoped',
    needs: 'read',
    query: nQuery(DEFAULT_N.queue),
    response: QueueBody,
    summary: 'The next pending tasks, in the order in which they will be reserved.',
    handle: (request) =>
      inspections.respond(request, (out) => writeQueue(out, tasks, request.entry, request.query.n ?? DEFAULT_N.queue)),
  })
}

function deadRoute({ tasks, inspections }: InspectDeps): Route {
  return route({
    method: 'GET',
    path: DEAD,
    access: 'scoped',
    needs: 'read',
    query: nQuery(DEFAULT_N.dead),
    response: DeadBody,
    summary: 'The dead-letter queue, oldest death first.',
    handle: (request) =>
      inspections.respond(request, (out) =>
        writeDead(out, tasks, request.params.type, request.query.n ?? DEFAULT_N.dead),
      ),
  })
}

function replayRoute({ queueOf, replays }: InspectDeps): Route {
  return route({
    method: 'POST',
    path: `${DEAD}/replay`,
    access: 'scoped',
    needs: 'operate',
    audit: 'dead.replay',
    body: NBody,
    bodyMayBeAbsent: true,
    response: ReplayedBody,
    example: { n: 10 },
    summary: 'Puts dead tasks back into the normal tier, oldest death first, with their attempts reset.',
    handle: async ({ params, body }) => {
      let replayed = 0
      await replays.run(params.type, OF_ANY_GROUP, NO_PATTERN, async (id) => {
        replayed = await queueOf(params.type).replay(body.n ?? DEFAULT_N.dead, id)
        return replayed
      })
      return { body: { replayed }, audit: { count: replayed } }
    },
  })
}

function selectRoute({ queueOf, replays }: InspectDeps): Route {
  return route({
    method: 'POST',
    path: `${DEAD}/select`,
    access: 'scoped',
    needs: ['operate', 'purge'],
    audit: 'dead.select',
    body: SelectBody,
    response: SelectedBody,
    example: { action: 'replay', task_ids: ['order-7'] },
    summary: 'Replays or removes the dead tasks with the given ids; one outcome per id, in order.',
    handle: async ({ params, principal, body: { action, task_ids: ids } }) => {
      requirePermission(principal, action === 'remove' ? 'purge' : 'operate', params.type)
      const apply = (replay?: string) => queueOf(params.type).applyToDead(action, ids, replay)
      let selected: Awaited<ReturnType<typeof apply>> = []
      if (action === 'remove') selected = await apply()
      else
        await replays.run(params.type, OF_ANY_GROUP, NO_PATTERN, async (id) => {
          selected = await apply(id)
          return selected.filter((each) => each === 'replayed').length
        })
      const count = selected.filter((each) => each !== 'not_dead').length
      return {
        body: { results: ids.map((id, at) => ({ task_id: id, outcome: selected[at] })) },
        audit: { action: `dead.${action}`, count },
      }
    },
  })
}

function clearRoute({ tasks }: InspectDeps): Route {
  return route({
    method: 'DELETE',
    path: DEAD,
    access: 'scoped',
    needs: 'purge',
    audit: 'dead.clear',
    response: ClearedBody,
    summary: 'Removes all dead tasks; there is no undo.',
    handle: async ({ params }) => {
      const cleared = await tasks.clearDead(params.type)
      return { body: { cleared }, audit: { count: cleared } }
    },
  })
}

/** Writes the queue as one read returned it. Tasks that left the queue before their body was read are omitted. */
async function writeQueue(
  out: InspectionBody,
  tasks: Tasks,
  { type, groups = null }: CatalogEntry,
  n: number,
): Promise<void> {
  const { length, items, rest = [], paused } = await out.read(() => tasks.queue(type, n, out.room))
  const pauseText = paused === undefined ? '' : `"paused":${JSON.stringify(pauseBody(paused))},`
  out.text(`{"length":${length},${pauseText}`)
  if (groups !== null) {
    const rows = await out.read(() => tasks.groups(type, MAX_SHOWN_GROUPS))
    out.text(`"groups":${JSON.stringify(rows.map(groupBody))},`)
  }
  out.text('"items":[')
  out.items(items.map(queueText))
  for (let from = 0; from < rest.length && out.room > 0;) {
    const part = rest.slice(from, from + BODIES_PER_PIECE)
    const bodies = await out.read(() =>
      tasks.bodies(
        type,
        part.map(({ id }) => id),
        out.room,
      ),
    )
    out.items(bodies.flatMap((body, at) => (body === null ? [] : queueText({ ...(part[at] as QueueTicket), body }))))
    from += bodies.length
  }
  out.text(']}')
}

async function writeDead(out: InspectionBody, tasks: Tasks, type: string, n: number): Promise<void> {
  let page = await out.read(() => tasks.dead(type, n, out.room))
  out.text(`{"length":${page.length},"items":[`)
  for (let left = n; ;) {
    out.items(page.items.map(deadText))
    left -= page.items.length
    const { next } = page
    if (next === undefined || left <= 0 || out.room === 0) break
    page = await out.read(() => tasks.dead(type, left, out.room, next))
  }
  out.text(']}')
}

function queueText({ id, attempt, body }: QueueRow): string {
  return `{"id":${JSON.stringify(id)},"attempt":${attempt},${body.slice(1)}`
}
