/**
 * @module master/queue/inspect
 * Looking into a queue and its dead letters, and putting dead tasks back (D9, D29, D48, D50, D56). Bodies are spliced
 * into the answer as the text they are stored as.
 */
import { Type } from 'typebox'
import {
  API_PREFIX,
  ClearedBody,
  DEFAULT_N,
  DeadBody,
  FleetError,
  NBody,
  nQuery,
  QUEUE_SAMPLES,
  QueueBody,
  QueueSample,
  QueueStatsQuery,
  ReplayedBody,
  SelectBody,
  SelectedBody,
  TaskPlace,
} from '../../protocol/index.ts'
import type { DeadRow, QueueRow, Tasks } from '../../storage/index.ts'
import { RawJson, route, type Route } from '../http/route.ts'
import type { Samples } from './samples.ts'
import type { TypeQueue } from './type-queue.ts'

const AUTOMATION = `${API_PREFIX}/automations/{type}`

export interface InspectPorts {
  readonly tasks: Tasks
  readonly samples: Pick<Samples, 'read'>
  readonly queueOf: (type: string) => TypeQueue
}

export function inspectRoutes(ports: InspectPorts): readonly Route[] {
  return [...queueRoutes(ports), ...deadRoutes(ports)]
}

function queueRoutes({ tasks, samples }: InspectPorts): readonly Route[] {
  return [
    route({
      method: 'GET',
      path: `${AUTOMATION}/tasks/{task_id}`,
      access: 'scoped',
      response: TaskPlace,
      summary: 'Where a task is: pending, in_flight, scheduled or dead.',
      handle: async ({ params }) => ({ body: await placeOf(tasks, params.type, params['task_id'] ?? '') }),
    }),
    route({
      method: 'GET',
      path: `${AUTOMATION}/queue`,
      access: 'scoped',
      query: nQuery(DEFAULT_N.queue),
      response: QueueBody,
      summary: 'The next pending tasks, in the order in which they will be taken.',
      handle: async ({ params, query }) => {
        const { length, items } = await tasks.queue(params.type, query.n ?? DEFAULT_N.queue)
        return { body: new RawJson(`{"length":${length},"items":[${items.map(queueText).join(',')}]}`) }
      },
    }),
    route({
      method: 'GET',
      path: `${AUTOMATION}/queue/stats`,
      access: 'scoped',
      query: QueueStatsQuery,
      response: Type.Array(QueueSample),
      summary:
        'How many tasks there were, every 15 s of the last hour, oldest first; empty where this master just started.',
      handle: ({ params, query }) => ({
        body: samples.read(params.type, query.since ?? 0, query.limit ?? QUEUE_SAMPLES),
      }),
    }),
  ]
}

function deadRoutes({ tasks, queueOf }: InspectPorts): readonly Route[] {
  return [
    route({
      method: 'GET',
      path: `${AUTOMATION}/dead`,
      access: 'scoped',
      query: nQuery(DEFAULT_N.dead),
      response: DeadBody,
      summary: 'The dead-letter queue, oldest death first.',
      handle: async ({ params, query }) => {
        const { length, items } = await tasks.dead(params.type, query.n ?? DEFAULT_N.dead)
        return { body: new RawJson(`{"length":${length},"items":[${items.map(deadText).join(',')}]}`) }
      },
    }),
    route({
      method: 'POST',
      path: `${AUTOMATION}/dead/replay`,
      access: 'scoped',
      body: NBody,
      bodyMayBeAbsent: true,
      response: ReplayedBody,
      example: { n: 10 },
      summary: 'Puts dead tasks back into the normal tier, oldest death first, as if never tried.',
      handle: async ({ params, body }) => ({
        body: { replayed: await queueOf(params.type).replay(body.n ?? DEFAULT_N.dead) },
      }),
    }),
    route({
      method: 'POST',
      path: `${AUTOMATION}/dead/select`,
      access: 'scoped',
      body: SelectBody,
      response: SelectedBody,
      example: { action: 'replay', task_ids: ['order-7'] },
      summary: 'Replays or removes the dead tasks that are named, and no other; one outcome each, in order.',
      handle: async ({ params, body: { action, task_ids: ids } }) => {
        const outcomes = await queueOf(params.type).select(action, ids)
        return { body: { results: ids.map((id, at) => ({ task_id: id, outcome: outcomes[at] })) } }
      },
    }),
    route({
      method: 'DELETE',
      path: `${AUTOMATION}/dead`,
      access: 'scoped',
      response: ClearedBody,
      summary: 'Removes all dead tasks; there is no undo.',
      handle: async ({ params }) => ({ body: { cleared: await tasks.clearDead(params.type) } }),
    }),
  ]
}

async function placeOf(tasks: Tasks, type: string, id: string): Promise<object> {
  const [place = null] = await tasks.locate(type, [id])
  if (place === null)
    throw new FleetError(
      'NOT_FOUND',
      `no task "${id}" of type "${type}" is held: it is done, was dropped, or never was`,
    )
  return { task_id: id, place }
}

function queueText({ id, attempt, body }: QueueRow): string {
  return `{"id":${JSON.stringify(id)},"attempt":${attempt},${body.slice(1)}`
}

function deadText({ id, attempt, maxAttempts, lastError, diedAt, body }: DeadRow): string {
  const fields = `"id":${JSON.stringify(id)},"attempt":${attempt},"max_attempts":${maxAttempts},"last_error":${JSON.stringify(lastError)},"died_at":${diedAt / 1_000}`
  return `{${fields},${body.slice(1)}`
}
