/**
 * @module master/registry/claims
 * Serves claims: a text that names the manager of a worker's config (D31, D51). The master does not interpret it. A
 * claim prevents no PATCH and changes no generation. A claim that changes nothing publishes no event, so the manager of
 * a worker may repeat its claim.
 *
 *   existing claim ── none, or the same ──▶ done
 *       └── another ── the caller is its holder (Muster-Actor), an admin, or uses force ──▶ replaced, else 409 (D66)
 */
import { API_PREFIX, ClaimBody, ClaimQuery, FleetError, WorkerBody } from '../../protocol/index.ts'
import type { Backend, Ref, WorkerRow } from '../../storage/index.ts'
import { RawJson, route, type HandlerResult, type Route, type RouteRequest } from '../http/index.ts'
import type { Announce } from './events.ts'
import { recordText } from './record.ts'
import { unknownWorker } from './unknown-worker.ts'

const CLAIM = `${API_PREFIX}/automations/{type}/workers/{id}/claim`
const READS = {
  'muster-actor':
    'Name of the caller. The holder of a claim, whose name is the text of the claim, may replace or delete it.',
}

type ClaimRequest = Pick<
  RouteRequest<unknown, { readonly force?: boolean }>,
  'params' | 'entry' | 'principal' | 'header' | 'query'
>

export function claimRoutes({ workers }: Backend, announce: Announce): readonly Route[] {
  const claim = async (request: ClaimRequest, managedBy: string | null): Promise<HandlerResult> => {
    const ref = { type: request.params.type, id: request.params.id }
    let row = await known(workers, ref)
    if (row.managedBy !== managedBy) {
      if (row.managedBy !== null && !mayReplace(row.managedBy, request)) throw claimed(ref, row.managedBy)
      await workers.manage([{ ...ref, managedBy }])
      row = await known(workers, ref)
      announce('worker.claimed', ref, { managed_by: managedBy })
    }
    return { body: new RawJson(recordText(row, request.entry, undefined)) }
  }
  return [
    route({
      method: 'PUT',
      path: CLAIM,
      access: 'scoped',
      needs: 'configure',
      audit: 'worker.claim',
      summary:
        'Records who manages the config of a worker. Only the holder of a claim, an admin, or force=true replaces it.',
      query: ClaimQuery,
      body: ClaimBody,
      response: WorkerBody,
      refuses: ['CLAIMED'],
      reads: READS,
      example: { managed_by: 'kubernetes:default/worker-1' },
      handle: (request) => claim(request, request.body.managed_by),
    }),
    route({
      method: 'DELETE',
      path: CLAIM,
      access: 'scoped',
      needs: 'configure',
      audit: 'worker.unclaim',
      summary: 'Removes the claim on the config of a worker. Only its holder, an admin, or force=true removes it.',
      query: ClaimQuery,
      response: WorkerBody,
      refuses: ['CLAIMED'],
      reads: READS,
      handle: (request) => claim(request, null),
    }),
  ]
}

const mayReplace = (holder: string, { header, principal, query }: ClaimRequest): boolean =>
  principal.role === 'admin' || query.force === true || header('muster-actor') === holder

function claimed({ id }: Ref, managedBy: string): FleetError {
  return new FleetError(
    'CLAIMED',
    `the config of worker ${JSON.stringify(id)} is managed by ${JSON.stringify(managedBy)}; ` +
      'use an admin token, or add ?force=true to replace the claim',
  )
}

/** @throws {FleetError} NOT_FOUND */
async function known(workers: Backend['workers'], ref: Ref): Promise<WorkerRow> {
  const [row] = await workers.get([ref])
  if (row === null || row === undefined) throw unknownWorker(ref)
  return row
}
