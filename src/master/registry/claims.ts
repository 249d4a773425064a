/**
 * @module master/registry/claims
 * Who manages the config of a worker, in words that mean nothing here (D31, D51). A claim is shown and nothing more: it
 * keeps nobody from a PATCH and changes no generation. One that changes nothing is no event either, so whoever manages
 * a worker may repeat its claim as often as it likes.
 */
import { API_PREFIX, ClaimBody, WorkerBody } from '../../protocol/index.ts'
import type { Backend, Ref, WorkerRow } from '../../storage/index.ts'
import { RawJson, route, type Answer, type Route } from '../http/route.ts'
import type { CatalogEntry } from '../../automation/index.ts'
import type { Announce } from './events.ts'
import { recordText } from './record.ts'
import { unknownWorker } from './refusals.ts'

const CLAIM = `${API_PREFIX}/automations/{type}/workers/{id}/claim`

export function claimRoutes({ workers }: Backend, announce: Announce): readonly Route[] {
  const claim = async ({ type, id }: Ref, entry: CatalogEntry, managedBy: string | null): Promise<Answer> => {
    const ref = { type, id }
    let row = await known(workers, ref)
    if (row.managedBy !== managedBy) {
      await workers.manage([{ ...ref, managedBy }])
      row = await known(workers, ref)
      announce('worker.claimed', ref, { managed_by: managedBy })
    }
    return { body: new RawJson(recordText(row, entry, undefined)) }
  }
  return [
    route({
      method: 'PUT',
      path: CLAIM,
      access: 'scoped',
      summary: 'Says who manages the config of a worker, in the place of whoever did.',
      body: ClaimBody,
      response: WorkerBody,
      example: { managed_by: 'kubernetes:default/worker-1' },
      handle: ({ params, entry, body }) => claim(params, entry, body.managed_by),
    }),
    route({
      method: 'DELETE',
      path: CLAIM,
      access: 'scoped',
      summary: 'Nobody manages the config any more.',
      response: WorkerBody,
      handle: ({ params, entry }) => claim(params, entry, null),
    }),
  ]
}

/** @throws {FleetError} NOT_FOUND */
async function known(workers: Backend['workers'], ref: Ref): Promise<WorkerRow> {
  const [row] = await workers.get([ref])
  if (row === null || row === undefined) throw unknownWorker(ref)
  return row
}
