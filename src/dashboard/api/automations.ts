/**
 * @module dashboard/api/automations
 * Loads the installed automations that this token may see: all of them for an admin token, otherwise one request per
 * type.
 */
import type { AutomationDescriptor, CatalogEntryBody, GroupsFields, JsonSchema } from '../../protocol/index.ts'
import type { Api } from './client.ts'
import type { Rights } from './me.ts'
import { isProblem, Problem } from './problem.ts'

export interface Automation {
  readonly type: string
  readonly kind: CatalogEntryBody['kind']
  /** Name of the implementing class; null unless the token is an admin token. */
  readonly className: string | null
  readonly configSchema: JsonSchema
  readonly payloadSchema: JsonSchema | null
  readonly outputSchema: JsonSchema | null
  /** The bounds of each group of tasks (D119); null if tasks may not have a group. */
  readonly groups: GroupsFields | null
  readonly pools: readonly { readonly name: string; readonly payload: JsonSchema; readonly tags: JsonSchema }[]
}

export interface Installed {
  readonly automations: readonly Automation[]
  /** Types in the token's scope that are not installed. */
  readonly missing: readonly string[]
}

export const isBatch = ({ kind }: Automation): boolean => kind === 'BatchAutomation'

function toAutomation(entry: CatalogEntryBody, descriptor?: AutomationDescriptor): Automation {
  return {
    type: entry.type,
    kind: entry.kind,
    className: descriptor?.class ?? null,
    configSchema: descriptor?.config_schema ?? entry.config,
    payloadSchema: entry.queue?.payload ?? null,
    outputSchema: entry.stream?.payload ?? null,
    groups: entry.queue?.groups ?? null,
    pools: Object.entries(entry.pools ?? {}).map(([name, { payload, tags }]) => ({ name, payload, tags })),
  }
}

export async function loadInstalled(api: Api, me: Rights, signal: AbortSignal): Promise<Installed> {
  if (me.role === 'admin') return { automations: byType(await loadAll(api, signal)), missing: [] }
  const types = me.automations.includes('*') ? await allTypes(api, signal) : me.automations
  const found = await Promise.all(types.map((type) => loadOne(api, type, signal)))
  const automations = found.filter((each) => each !== null)
  return { automations: byType(automations), missing: types.filter((_, index) => found[index] === null) }
}

async function loadAll(api: Api, signal: AbortSignal): Promise<readonly Automation[]> {
  const [descriptors, catalog] = await Promise.all([
    api.get<readonly AutomationDescriptor[]>(['automations'], {}, signal),
    api.get<Readonly<Record<string, CatalogEntryBody>>>(['catalog'], {}, signal),
  ])
  const descriptorOf = new Map(descriptors.body.map((each) => [each.type, each]))
  return Object.values(catalog.body).map((entry) => toAutomation(entry, descriptorOf.get(entry.type)))
}

async function loadOne(api: Api, type: string, signal: AbortSignal): Promise<Automation | null> {
  try {
    return toAutomation((await api.get<CatalogEntryBody>(['catalog', type], {}, signal)).body)
  } catch (error) {
    if (isProblem(error, 404)) return null
    throw error
  }
}

/**
 * Returns the types of a token that is scoped to all types. It may not read the list of automations, but the overview
 * contains every type it covers (D48, D61).
 * @throws {Problem} if the master has no overview endpoint.
 */
async function allTypes(api: Api, signal: AbortSignal): Promise<readonly string[]> {
  try {
    const { body } = await api.get<{ automations: Readonly<Record<string, unknown>> }>(['overview'], {}, signal)
    return Object.keys(body.automations)
  } catch (error) {
    if (isProblem(error, 404))
      throw new Problem(
        'this token covers all types, which this master lists for admin tokens only; sign in with an admin token',
      )
    throw error
  }
}

const byType = (automations: readonly Automation[]): readonly Automation[] =>
  automations.toSorted((a, b) => (a.type < b.type ? -1 : 1))
