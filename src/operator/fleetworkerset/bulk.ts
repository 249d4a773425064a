/**
 * @module operator/fleetworkerset/bulk
 * Sends the bulk calls of a set. The revision is stored before the first worker is written, so a config that the master
 * refuses touches no worker. Each item names the config and the manager that its worker must have: a change of another
 * client is never overwritten unseen, but read, and decided upon again.
 */
import { ROLLOUT_BOUNDS, type BulkResult, type FieldError } from '../../protocol/index.ts'
import type { BulkChange } from '../fleet/index.ts'
import { policyOf } from '../fleetworker/index.ts'
import { readOldValues, readValues, type SetConfig } from './config.ts'
import { quietResult, refusedSet, setResult, type SetContext, type SetResult } from './context.ts'
import { configOfRevision, recordRevision } from './history.ts'
import { epochOf, type FoundMember, type Member } from './members.ts'
import { throttleOf, type SetState } from './memory.ts'

/** The master changes 200 workers in one step; a call of this many takes some tens of milliseconds. */
export const MAX_ITEMS = 500
/** A refused revision is sent again after this time, or after a change of the schema. */
const REFUSED_MS = 30 * 60_000

/**
 * Writes at most {@link MAX_ITEMS} members that have the same goal.
 *
 * @returns why nothing more can be written now; `lost`: the master has the current revision no more; `undefined`: look
 *   again, and continue.
 */
export async function writeMembers(
  context: SetContext,
  config: SetConfig,
  members: readonly Member[],
): Promise<SetResult | 'lost' | undefined> {
  const { deps, set, signal, state } = context
  const stopped = await prepare(context, config, members)
  if (stopped !== undefined) return stopped
  const response = await deps.revisions.apply(set.spec.type, changeOf(context, members, false), signal)
  if (response.kind === 'not_registered') {
    state.stored = undefined // The master has dropped the revision.
    if (goalOf(members) === config.revision) return quietResult({ kind: 'retry' })
    return restoreRevision(context, config, goalOf(members))
  }
  if (response.kind !== 'ok') return refusedSet(response, context)
  const isUnclear = response.value
    .map((result, index) => learn(context, members[index] as Member, result))
    .includes('unclear')
  return isUnclear ? quietResult({ kind: 'retry' }) : undefined
}

export type Drift =
  | { readonly kind: 'stopped'; readonly result: SetResult }
  | {
      readonly kind: 'drift'
      readonly workers: readonly string[]
      readonly paths: readonly string[]
      readonly isContested: boolean
    }

/** Finds out by dry runs which fields of these members differ. An unchanged config is not compared twice. */
export async function compareMembers(
  context: SetContext,
  config: SetConfig,
  members: readonly Member[],
): Promise<Drift> {
  const { deps, set, signal, state } = context
  const isKnown = (member: Member): boolean => state.differences.get(member.id)?.input === inputOf(member, member.goal)
  for (;;) {
    const unknown = members.filter((member) => !isKnown(member))
    const next = unknown.filter(({ goal }) => goal === unknown[0]?.goal).slice(0, MAX_ITEMS)
    if (next.length === 0) break
    const stopped = await prepare(context, config, next)
    if (stopped !== undefined) return { kind: 'stopped', result: stopped }
    const response = await deps.revisions.apply(set.spec.type, changeOf(context, next, true), signal)
    if (response.kind !== 'ok') return { kind: 'stopped', result: refusedSet(response, context) }
    for (const [index, result] of response.value.entries()) {
      const member = next[index] as Member
      const changed = 'changed' in result ? result.changed : []
      state.differences.set(member.id, { input: inputOf(member, member.goal), changed })
    }
  }
  const drifted = members.filter(({ id }) => (state.differences.get(id)?.changed.length ?? 0) > 0)
  return {
    kind: 'drift',
    workers: drifted.map(({ id }) => id),
    paths: [...new Set(drifted.flatMap(({ id }) => state.differences.get(id)?.changed ?? []))].map(
      (name) => `/${name}`,
    ),
    isContested: policyOf(set.spec) === 'Enforce' && drifted.length > 0,
  }
}

/** @returns why the master refused a revision for the member; `undefined` if it did not, or something has changed. */
export function refusalFor({ refusals }: SetState, member: FoundMember, revision: string): string | undefined {
  const known = refusals.get(member.id)
  if (known === undefined) return undefined
  return known.input === refusedInput(member, revision) ? known.message : undefined
}

/** Another revision than that of the spec was stored when it was rolled out. */
const prepare = async (
  context: SetContext,
  config: SetConfig,
  members: readonly Member[],
): Promise<SetResult | undefined> =>
  goalOf(members) === config.revision ? storeRevision(context, config, epochOf(members)) : undefined

/** Stores the revision if this term has not done so yet. @returns why that is not possible. */
export async function storeRevision(
  context: SetContext,
  config: SetConfig,
  epoch: string,
): Promise<SetResult | undefined> {
  const { claim, deps, set, signal, state } = context
  const { catalog, revision } = config
  const stored = `${epoch} ${revision}`
  if (state.stored === stored) return undefined
  const refused = `${catalog.hash} ${revision}`
  if (state.refused?.input === refused && state.refused.untilMs > deps.clock.monotonicMs())
    return setResult('Rejected', state.refused.message, { kind: 'terminal' }, { refused: revision })
  const values = await readValues(context, config)
  if (values === undefined) return quietResult({ kind: 'retry' })
  if (values.kind === 'fault') return values.result
  const body = { config: values.config, managed_by: claim }
  const response = await deps.revisions.put(set.spec.type, revision, body, claim, signal)
  if (response.kind === 'ok') {
    state.stored = stored
    await recordRevision(context, config)
    return undefined
  }
  const result = refusedSet(response, context)
  if (response.kind !== 'rejected') return result
  const untilMs = deps.clock.monotonicMs() + REFUSED_MS
  state.refused = { input: refused, message: result.synced.message, untilMs }
  return { ...result, refused: revision }
}

/**
 * Stores the revision again when the schema of the type has changed in this term, because the master may not accept it
 * any more. That changes no worker. @returns why the revision cannot be used.
 */
export async function checkSchema(
  context: SetContext,
  config: SetConfig,
  epoch: string,
): Promise<SetResult | undefined> {
  const { state } = context
  const { hash } = config.catalog
  state.schema ??= hash
  if (state.schema === hash) return undefined
  state.stored = undefined
  const stopped = await storeRevision(context, config, epoch)
  if (stopped === undefined) state.schema = hash
  return stopped
}

/**
 * Stores an older revision again, because the master has lost its store: from the history, with the present values of
 * its sources. @returns `lost`: that is not possible; `undefined`: it is stored. @throws {KubeError}
 */
async function restoreRevision(
  context: SetContext,
  { catalog }: SetConfig,
  revision: string,
): Promise<SetResult | 'lost' | undefined> {
  const { claim, deps, set, signal } = context
  const old = await configOfRevision(context, revision)
  const values = old === undefined ? undefined : await readOldValues(context, old, catalog)
  if (values === undefined) return 'lost'
  const response = await deps.revisions.put(
    set.spec.type,
    revision,
    { config: values, managed_by: claim },
    claim,
    signal,
  )
  if (response.kind === 'rejected') return 'lost'
  return response.kind === 'ok' ? undefined : refusedSet(response, context)
}

const changeOf = ({ claim, set }: SetContext, members: readonly Member[], isDryRun: boolean): BulkChange => ({
  revision: goalOf(members),
  managedBy: claim,
  keep: set.spec.ignoreDifferences ?? [],
  isDryRun,
  items: members.map(({ id, row: { record, epoch }, target }) => ({
    workerId: id,
    epoch,
    configGen: record.config_gen,
    managedBy: record.managed_by,
    ...target,
  })),
})

const goalOf = ([first]: readonly Member[]): string => first?.goal ?? ''

/** Remembers the result for one worker. `unclear`: the same call may succeed later. */
function learn({ deps, lastStatus, state }: SetContext, member: Member, result: BulkResult): 'ok' | 'unclear' {
  const { id, row, standing } = member
  if (!('error' in result)) {
    state.refusals.delete(id)
    if (member.goal !== undefined && member.goal === lastStatus.rollout?.revision)
      noteChanged(state, member.goal, result.changed)
    const { config_changed_by: by } = row.record
    if (standing === 'changed') throttleOf(state, id).onRevert(result.changed, by, deps.clock.monotonicMs())
    return 'ok'
  }
  const { detail, status } = result.error
  if (status === 404 || status === 412) return 'ok' // The row says so already.
  if (status >= 500) return 'unclear'
  state.refusals.set(id, { input: refusedInput(member, member.goal), message: messageOf(detail) })
  return 'ok'
}

/** Remembers which fields a rollout changes. */
function noteChanged(state: SetState, revision: string, names: readonly string[]): void {
  if (state.changed?.revision !== revision) state.changed = { revision, names: new Set() }
  for (const name of names) if (state.changed.names.size < ROLLOUT_BOUNDS.changedFields) state.changed.names.add(name)
}

/** What a comparison depends on. */
const inputOf = ({ row: { record, epoch }, target }: FoundMember, goal: Member['goal']): string =>
  `${epoch}.${record.config_gen} ${goal}/${target.variant}`

/** What a refusal of one worker depends on: its config, what it was to get, and its manager. */
const refusedInput = (member: FoundMember, goal: Member['goal']): string =>
  `${inputOf(member, goal)} ${member.row.record.managed_by}`

const messageOf = (detail: string | readonly FieldError[]): string =>
  typeof detail === 'string' ? detail : detail.map(({ path, message }) => `${path}: ${message}`).join('; ')
