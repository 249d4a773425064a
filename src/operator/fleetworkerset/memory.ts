/**
 * @module operator/fleetworkerset/memory
 * Stores what one term of leadership remembers of each set beside its status. Nothing here must survive: losing it may
 * cost a few calls, never correctness. There is one entry per uid.
 */
import { type ObjectKey, keyOf } from '../kube/index.ts'
import type { Random } from '../../runtime/index.ts'
import { ValueDigest } from '../config/index.ts'
import { RevertThrottle } from '../fleetworker/index.ts'
import type { WorkerRow } from '../fleet/index.ts'
import type { SetContext } from './context.ts'
import type { Counters } from './gates/index.ts'
import type { FoundMember, Member } from './members.ts'
import { newScaleMemory, type ScaleMemory } from './scale/memory.ts'
import { claimForSet, ruleNameOf, type FleetWorkerSetObject } from './resource.ts'
import type { BegunRollout, ChangedFields } from './report.ts'
import type { RolloutStatus } from './rollout-schema.ts'
import { SourceVersions } from './source-versions.ts'
import { rankOf } from './stages.ts'

/** A refusal that the same input would meet again. */
interface RefusedInput {
  readonly input: string
  readonly message: string
}

export interface SetState {
  readonly uid: string
  readonly type: string
  readonly claim: string
  readonly ruleName: string
  /** Versions at which values of sources changed. */
  readonly sources: SourceVersions
  /** The revision that the master was sent in this term, with the epoch of the store. */
  stored: string | undefined
  /** The hash of the schema that the revision was compared with last. */
  schema: string | undefined
  /** The revision that the history has, with the limit of the history. */
  recorded: string | undefined
  /** The revision that the master refused, with the hash of the schema. */
  refused: (RefusedInput & { readonly untilMs: number }) | undefined
  /** The enrolment rule that the master has, as text; empty if none. `undefined`: not known. */
  rule: string | undefined
  /** Configs that the master refused for a single worker, by its id. */
  readonly refusals: Map<string, RefusedInput>
  /** Since when an online worker owes the acknowledgement of a generation. */
  readonly owing: Map<string, { readonly configGen: number; readonly sinceMs: number }>
  /** Fields that differ, of workers that are only observed, by the config that was compared. */
  readonly differences: Map<string, { readonly input: string; readonly changed: readonly string[] }>
  /** Workers on which the set had its claim. */
  readonly held: Set<string>
  /** The members of the last pass. */
  members: readonly Member[]
  readonly throttles: Map<string, RevertThrottle>
  /** How far the rollout was, and since when. */
  progress: { readonly at: string; readonly sinceMs: number } | undefined
  /** The phase of the rollout, and since when. */
  phase: { readonly key: string; readonly sinceMs: number } | undefined
  /** Workers that have failed in the present stage. */
  failing: { readonly key: string; readonly ids: Set<string> } | undefined
  /** Counters of each revision, and when they were read. */
  tallies: { readonly readMs: number; readonly byRevision: ReadonlyMap<string, Counters> } | undefined
  /** How many members the set had before the master lost its store. */
  memberCount: number
  /** Since when the rollout waits for workers, because the master has lost its store. */
  returning: { readonly epoch: string; readonly sinceMs: number } | undefined
  /** The order of workers in the rollout of a revision. */
  ranks: { readonly revision: string; readonly byId: Map<string, string> } | undefined
  /** The last attempt that began in this term, and the fields that it changes. */
  begun: BegunRollout | undefined
  changed: ChangedFields | undefined
  /** Says which configs the workers have in a rollout that has updated some of them. */
  mixed: string | undefined
  /** When the last status was put. */
  reportedMs: number
  readonly scale: ScaleMemory
}

export class SetMemory {
  readonly #entries = new Map<ObjectKey, SetState>()
  #memberCounts: ReadonlyMap<string, number> = new Map()
  /** Namespaces in which the API server refuses the history. */
  readonly #withoutHistory = new Set<string>()
  readonly #digest: ValueDigest

  constructor(random: Random) {
    this.#digest = new ValueDigest(random)
  }

  of(set: FleetWorkerSetObject): SetState {
    const { metadata, spec } = set
    const key = keyOf(metadata)
    const known = this.#entries.get(key)
    if (known?.uid === metadata.uid) return known
    const state: SetState = {
      uid: metadata.uid,
      type: spec.type,
      claim: claimForSet(set),
      ruleName: ruleNameOf(set),
      sources: new SourceVersions((text) => this.#digest.of(text)),
      stored: undefined,
      schema: undefined,
      recorded: undefined,
      refused: undefined,
      rule: undefined,
      refusals: new Map(),
      owing: new Map(),
      differences: new Map(),
      held: new Set(),
      members: [],
      throttles: new Map(),
      progress: undefined,
      phase: undefined,
      failing: undefined,
      tallies: undefined,
      memberCount: this.#memberCounts.get(metadata.uid) ?? set.status?.workers?.matched ?? 0,
      returning: undefined,
      ranks: undefined,
      begun: undefined,
      changed: undefined,
      mixed: undefined,
      reportedMs: -Infinity,
      scale: newScaleMemory(),
    }
    this.#entries.set(key, state)
    return state
  }

  /** Forgets what workers had, because the master has lost state. */
  clear(): void {
    this.#memberCounts = new Map([...this.#entries.values()].map(({ uid, memberCount }) => [uid, memberCount]))
    this.#entries.clear()
  }

  /** Notes that the API server refuses the history. @returns whether that is new in this namespace. */
  refusesHistory(namespace: string): boolean {
    const isNew = !this.#withoutHistory.has(namespace)
    this.#withoutHistory.add(namespace)
    return isNew
  }

  /** Drops the entry of a deleted set and returns it. */
  forget(key: ObjectKey): SetState | undefined {
    const entry = this.#entries.get(key)
    this.#entries.delete(key)
    return entry
  }
}

/** @returns how long an online worker has owed the acknowledgement of its config, in milliseconds. */
export function owedForMs({ owing }: SetState, { record }: WorkerRow, nowMs: number): number {
  const known = owing.get(record.worker_id)
  if (known?.configGen === record.config_gen) return nowMs - known.sinceMs
  owing.set(record.worker_id, { configGen: record.config_gen, sinceMs: nowMs })
  return 0
}

/** Drops what is remembered of workers that are no members any more, and of debts that are paid. */
export function prune(
  { differences, held, owing, refusals, throttles }: SetState,
  members: readonly FoundMember[],
): void {
  for (const map of [owing, refusals, differences, throttles, held]) dropOthers(map, members)
  if (owing.size === 0) return
  for (const { id, row } of members) {
    const { applied_config_gen: applied, config_gen: gen, connected } = row.record
    if (!connected || applied === gen) owing.delete(id)
  }
}

/** Usually there are no others, which costs no copy of the ids to find out. */
function dropOthers(
  remembered: Pick<Map<string, unknown>, 'delete' | 'has' | 'keys' | 'size'>,
  members: readonly FoundMember[],
): void {
  if (remembered.size === 0) return
  const known = members.reduce((count, { id }) => count + Number(remembered.has(id)), 0)
  if (known === remembered.size) return
  const ids = new Set(members.map(({ id }) => id))
  for (const id of remembered.keys()) if (!ids.has(id)) remembered.delete(id)
}

export const throttleOf = ({ throttles }: SetState, workerId: string): RevertThrottle => {
  const known = throttles.get(workerId) ?? new RevertThrottle()
  throttles.set(workerId, known)
  return known
}

/** After an outage of this length a wait begins again, since workers could do nothing meanwhile. */
const OUTAGE_MS = 60_000

/**
 * How long the rollout has been in its phase, in milliseconds. It runs on the monotonic clock; the time in the status
 * is used only when the operator has restarted.
 */
export function phaseMsOf(
  { deps: { clock, table }, state }: Pick<SetContext, 'deps' | 'state'>,
  { attempt, epoch, phase, revision, since, stage }: RolloutStatus,
): number {
  const key = `${revision}/${attempt}/${stage}/${phase} ${epoch}`
  const nowMs = clock.monotonicMs()
  if (state.phase?.key !== key) {
    const ageMs = table.masterNowMs() - Date.parse(since)
    state.phase = { key, sinceMs: nowMs - Math.max(ageMs, 0) }
  }
  if (table.unavailableMs >= OUTAGE_MS) state.phase = { key, sinceMs: nowMs }
  return nowMs - state.phase.sinceMs
}

/** Longer than a worker waits before it connects again. */
const RETURN_MS = 60_000

/**
 * How much longer a rollout waits before it begins again after the master has lost its store, in milliseconds. The
 * master knows only the workers that have registered since, and without the others the first one would complete the
 * rollout.
 */
export function returnMsOf(
  { deps: { clock }, state }: Pick<SetContext, 'deps' | 'state'>,
  epoch: string,
  members: number,
): number {
  const nowMs = clock.monotonicMs()
  if (state.returning?.epoch !== epoch) state.returning = { epoch, sinceMs: nowMs }
  return members >= state.memberCount ? 0 : Math.max(state.returning.sinceMs + RETURN_MS - nowMs, 0)
}

/**
 * How long the rollout has made no progress, in milliseconds.
 * @param at Text that is another one after each progress.
 */
export function progressMsOf(state: SetState, at: string, nowMs: number): number {
  if (state.progress?.at !== at) state.progress = { at, sinceMs: nowMs }
  return nowMs - state.progress.sinceMs
}

/** The place of a worker in the rollout of a revision; computed once. */
export function rankIn(state: SetState, uid: string, revision: string, id: string): string {
  if (state.ranks?.revision !== revision) state.ranks = { revision, byId: new Map() }
  const known = state.ranks.byId.get(id) ?? rankOf(uid, revision, id)
  state.ranks.byId.set(id, known)
  return known
}
