/**
 * @module master/acknowledgements/routes
 * The routes of acknowledgements: an admin has seen an item of the attention list, and hides it for a while for
 * everybody. The master stores them and does nothing else with them: readers compute the list, and decide whether an
 * item is worse than when it was acknowledged.
 *
 * They are stored as reports (storage/contract/rollouts.ts) of `attention/TYPE`, which is not the name of a type.
 * @see D171
 */
import {
  AcknowledgeBody,
  Acknowledgement,
  AcknowledgementsBody,
  API_PREFIX,
  FleetError,
  invalid,
  isItemName,
  MAX_ROLLOUTS,
  toSeconds,
  UnacknowledgedBody,
} from '../../protocol/index.ts'
import type { RolloutHead } from '../../storage/index.ts'
import { actorOf, covers } from '../auth/index.ts'
import type { MasterDeps, Part } from '../deps.ts'
import { route, type Route } from '../http/index.ts'

const ITEM = `${API_PREFIX}/automations/{type}/acknowledgements/{item}`
const READS = { 'muster-actor': 'Who acknowledges: 1 to 128 printable ASCII characters, shown with the item.' }

type AcknowledgementDeps = Pick<MasterDeps, 'backend' | 'catalog' | 'clock'>

export function createAcknowledgements(deps: AcknowledgementDeps): Part {
  return { routes: [listRoute(deps), putRoute(deps), deleteRoute(deps)] }
}

function listRoute({ backend, catalog, clock }: AcknowledgementDeps): Route {
  return route({
    method: 'GET',
    path: `${API_PREFIX}/acknowledgements`,
    access: 'scoped',
    needs: 'read',
    summary: 'The acknowledged items of the attention list, of each type that the token covers.',
    response: AcknowledgementsBody,
    handle: async ({ principal }) => {
      const types = [...catalog.keys()].filter((type) => covers(principal, type))
      return { body: { acknowledgements: await readAcknowledgements(backend, types, toSeconds(clock.wallMs())) } }
    },
  })
}

/** @returns the acknowledgements of these types that have not ended. */
export async function readAcknowledgements(
  backend: MasterDeps['backend'],
  types: readonly string[],
  nowSeconds: number,
): Promise<Acknowledgement[]> {
  const acknowledgements = (await backend.rollouts.heads(types.map(spaceOf))).flat().map(acknowledgementOf)
  return acknowledgements.filter((each) => !hasEnded(each, nowSeconds))
}

function putRoute(deps: AcknowledgementDeps): Route {
  return route({
    method: 'PUT',
    path: ITEM,
    access: 'scoped',
    needs: 'operate',
    audit: 'attention.acknowledge',
    summary: 'Hides an item of the attention list for everybody, for a time or until it gets worse.',
    body: AcknowledgeBody,
    bodyMayBeAbsent: true,
    response: Acknowledgement,
    reads: READS,
    example: { note: 'the vendor is informed', seconds: 3600, count: 1, mark: 'connect ECONNREFUSED' },
    handle: async ({ entry: { type }, params, principal, header, body }) => {
      const item = itemOf(params['item'])
      const atMs = deps.clock.wallMs()
      const { note, seconds, count, mark, until_change: untilChange } = body
      const acknowledgement: Acknowledgement = {
        type,
        item,
        note: note ?? null,
        actor: actorOf(principal, header('muster-actor')),
        acknowledged_at: toSeconds(atMs),
        until: typeof seconds === 'number' ? toSeconds(atMs + Math.round(seconds * 1_000)) : null,
        until_change: untilChange ?? false,
        count: count ?? 0,
        mark: mark ?? null,
      }
      await store(deps, acknowledgement, atMs)
      return { body: acknowledgement }
    },
  })
}

function deleteRoute({ backend }: AcknowledgementDeps): Route {
  return route({
    method: 'DELETE',
    path: ITEM,
    access: 'scoped',
    needs: 'operate',
    audit: 'attention.restore',
    summary: 'Ends an acknowledgement: the item is listed again.',
    response: UnacknowledgedBody,
    handle: async ({ entry: { type }, params }) => {
      const item = itemOf(params['item'])
      const removed = await backend.rollouts.remove(spaceOf(type), item)
      if (removed === null) throw new FleetError('NOT_FOUND', `${JSON.stringify(item)} of ${type} is not acknowledged`)
      return { body: { item, removed: true } }
    },
  })
}

/** A name that no type has, because of its slash. */
const spaceOf = (type: string): string => `attention/${type}`

/** @throws {FleetError} INVALID */
function itemOf(item = ''): string {
  if (isItemName(item)) return item
  const message = 'must be 1 to 128 characters: a-z, 0-9, "_", "." and "-", the first one a letter or a digit'
  throw invalid('/item', message, 'name', {})
}

const acknowledgementOf = ({ head }: RolloutHead): Acknowledgement => JSON.parse(head) as Acknowledgement

const hasEnded = ({ until }: Acknowledgement, nowSeconds: number): boolean => until !== null && until <= nowSeconds

/** Removes those that have ended if there is no space. @throws {FleetError} INVALID */
async function store({ backend }: AcknowledgementDeps, acknowledgement: Acknowledgement, atMs: number): Promise<void> {
  const space = spaceOf(acknowledgement.type)
  const report = { name: acknowledgement.item, head: JSON.stringify(acknowledgement), body: '', reportedAtMs: atMs }
  if ((await backend.rollouts.put(space, report)) !== 'full') return
  for (const stored of (await backend.rollouts.heads([space])).flat())
    if (hasEnded(acknowledgementOf(stored), toSeconds(atMs))) await backend.rollouts.remove(space, stored.name)
  if ((await backend.rollouts.put(space, report)) !== 'full') return
  const message = `type ${acknowledgement.type} has ${MAX_ROLLOUTS} acknowledgements, the maximum; remove one first`
  throw invalid('/item', message, 'maxItems', { limit: MAX_ROLLOUTS })
}
