/**
 * @module operator/fleetworker/converge
 * Brings the worker's config in line with one live resource:
 *
 *   owner? ──▶ record ──▶ claim may be ours? ──▶ judge ──▶ equal, or to be left ──────────────────────┐
 *                                                  └─▶ read the resource again ──▶ claim ──▶ remember │
 *                                                        new secret fields ──▶ PATCH with If-Match ───┴─▶ drain ──▶ finding
 *
 * What was decided on may be old by the time of the write, on either side. The API server is asked once more before, and
 * the master refuses a PATCH against another generation; either way it begins again.
 * @see D15, D31, D43
 */
import type { JsonObject } from '../../protocol/index.ts'
import { judgeClaim, type CatalogType, type ClaimVerdict, type Registered } from '../fleet/index.ts'
import { isBehind, KubeError } from '../kube/index.ts'
import { Contest } from './contest.ts'
import { holdsSecret, secretsSet } from './desired.ts'
import { found, NO_DRIFT, PARKED_MS, quiet, refused, unseen, updating, type Finding, type Pass } from './findings.ts'
import { judge, type Judged } from './judge.ts'
import { rejectedDigest, type Parked } from './memory.ts'
import { conflictMessage, otherOwnerOf } from './ownership.ts'
import { hasMoved, isHandsOff, mayWriteConfig, saysInForce } from './policy.ts'
import { eventTargetOf, readAgain } from './resource.ts'
import { givenBack, takenOver, writeAhead, type SecretMemory } from './secrets.ts'

/** At once, but behind the edits that were not looked at yet; and what nobody edited behind the whole round. */
const SECOND_LOOK_MS = 1
const EDITED = 80
/** The reasons under which a refusal of the master is reported. */
const REFUSALS = ['Rejected', 'ConfigInvalid'] as const
const UNEDITED = -100

export async function converge(pass: Pass): Promise<Finding | 'again'> {
  const { deps, entry, resource } = pass
  const other = otherOwnerOf(resource, deps.cache, deps.permits)
  if (other !== undefined) {
    const back = await giveBack(pass)
    return 'synced' in back
      ? back
      : found(
          'OwnershipConflict',
          conflictMessage(resource, other),
          { kind: 'terminal' },
          { memory: back, drift: NO_DRIFT },
        )
  }
  const seen = await look(pass)
  if ('synced' in seen) return seen
  entry.missing = undefined
  const type = deps.table.catalog(resource.spec.type)
  if (type === undefined) return quiet({ kind: 'ok' }, seen) // The table tells when it knows.
  if (isHandsOff(resource.spec)) return observe(pass, seen, type)
  const verdict = verdictOf(pass, seen)
  if (verdict === 'robbed' || verdict === 'foreign') return claimedByOthers(seen)
  const owned = withSecretsOfOthers(pass, seen, type)
  const judged = await judge(owned, seen, type)
  const finding = 'synced' in judged ? judged : await act(owned, seen, judged, verdict)
  return finding === 'again' ? finding : drained(pass, finding)
}

/**
 * While the worker is not this resource's yet, secret fields that are set were set by others. They count as sent by it, so
 * that those which it does not name are reset in the same PATCH that brings its own targets (D64).
 */
function withSecretsOfOthers(pass: Pass, { epoch, record }: Registered, type: CatalogType): Pass {
  const { entry, standing } = pass
  const isOwn = standing.epoch === epoch && record.managed_by === entry.claim
  return isOwn ? pass : { ...pass, standing: takenOver(standing, secretsSet(record.config as JsonObject, type)) }
}

/** The record as the table has it; asked for where that is known to be old. */
export async function look(pass: Pass): Promise<Registered | Finding> {
  const { deps, entry, signal } = pass
  const seen = deps.table.get(entry.worker.type, entry.worker.workerId)
  if (seen.kind !== 'registered') return unseen(seen, pass)
  if (!seen.isStale && !entry.isUnsure) return seen
  const answer = await deps.master.get(entry.worker, signal)
  if (answer.kind !== 'ok') return refused(answer, pass)
  entry.isUnsure = false
  return answer.value
}

function verdictOf({ deps, entry, standing: { epoch, generation = 0 } }: Pass, seen: Registered): ClaimVerdict {
  return judgeClaim({
    managedBy: seen.record.managed_by,
    own: entry.claim,
    isLive: (claim) => deps.cache.byIndex('claim', claim).length > 0,
    watches: deps.watches,
    heldBefore: epoch !== undefined && !deps.table.hasForgotten(seen, { epoch, generation }), // A store that was put back shows claims from before.
  })
}

function claimedByOthers(worker: Registered): Finding {
  const { record } = worker
  const message = `the config is managed by ${record.managed_by}; delete that, or release its claim: DELETE /api/v1/automations/${record.automation_type}/workers/${record.worker_id}/claim`
  return found('OwnershipConflict', message, { kind: 'terminal' }, { worker, drift: NO_DRIFT })
}

/** @returns what is remembered then, or why the claim could not be given back. */
export async function giveBack(pass: Pass): Promise<SecretMemory | Finding> {
  const { deps, entry, signal, standing } = pass
  const seen = deps.table.get(entry.worker.type, entry.worker.workerId)
  if (seen.kind === 'registered' && seen.record.managed_by === entry.claim) {
    const answer = await deps.master.release(entry.worker, entry.claim, signal)
    if (answer.kind !== 'ok' && answer.kind !== 'not_registered') return refused(answer, pass, seen)
  }
  return standing.epoch === undefined ? standing : givenBack(standing)
}

/** Suspended, or only observed: what differs is reported. */
async function observe(pass: Pass, seen: Registered, type: CatalogType): Promise<Finding> {
  const memory = await giveBack(pass)
  if ('synced' in memory) return memory
  const judged = await judge(withSecretsOfOthers({ ...pass, standing: memory }, seen, type), seen, type)
  if ('synced' in judged) return { ...judged, memory }
  return tolerated(pass, seen, judged, { ...memory, generation: seen.record.config_gen })
}

function tolerated(
  { before, deps }: Pass,
  worker: Registered,
  { difference: { paths } }: Judged,
  memory: SecretMemory,
): Finding {
  if (paths.length === 0)
    return found('InSync', 'the config is in force', { kind: 'ok' }, { worker, memory, drift: NO_DRIFT })
  if (before.drift === undefined) deps.onDrift('tolerated')
  const by = worker.record.config_changed_by
  return found(
    'DriftTolerated',
    `the config was in force and was changed since${by === null ? '' : `, last by ${by}`}`,
    { kind: 'ok' },
    { worker, memory, drift: { paths, by } },
  )
}

async function act(pass: Pass, seen: Registered, judged: Judged, verdict: ClaimVerdict): Promise<Finding | 'again'> {
  const { entry, standing, resource, before, deps } = pass
  const isEqual = Object.keys(judged.difference.patch).length === 0
  const isForgotten = hasForgotten(pass, seen)
  const mayWrite = mayWriteConfig({
    spec: resource.spec,
    wasInForce: saysInForce(before, resource.metadata.generation),
    hasMoved: hasMoved(judged.desired, standing),
    isForgotten,
  })
  const blocked = isEqual || !mayWrite ? undefined : obstacle(pass, seen, judged, isForgotten)
  const writes = !isEqual && mayWrite && blocked === undefined
  if (writes || verdict !== 'ours') {
    if (deps.memory.isFirstLook(entry))
      return quiet({ kind: 'ok', againAfterMs: SECOND_LOOK_MS, priority: isBehind(resource) ? EDITED : UNEDITED }, seen)
    const current = await isCurrent(pass)
    if (current !== true) return current
  }
  if (verdict !== 'ours') {
    const answer = await deps.master.claim(entry.worker, entry.claim, pass.signal)
    if (answer.kind !== 'ok') return refused(answer, pass, seen)
  }
  if (blocked !== undefined) return blocked
  if (isEqual) return inForce(pass, seen, judged)
  return writes
    ? write(pass, seen, judged, isForgotten)
    : tolerated(pass, seen, judged, toleratedMemory(pass, seen, judged))
}

/** A secret that differs stays so until it is sent: the generation that told of it is not judged. */
function toleratedMemory(
  { standing }: Pass,
  { epoch, record }: Registered,
  { acts: { due, forgotten } }: Judged,
): SecretMemory {
  return {
    ...standing,
    epoch: standing.epoch ?? epoch,
    ...(due.size + forgotten.size === 0 && { generation: record.config_gen }),
  }
}

function hasForgotten({ deps, standing: { epoch, generation = 0 } }: Pass, seen: Registered): boolean {
  return (
    epoch !== undefined && (deps.table.hasForgotten(seen, { epoch, generation }) || seen.record.managed_by === null)
  )
}

/** The same refusal would come again, or the same field be fought over. */
function obstacle(
  pass: Pass,
  worker: Registered,
  { inputs, difference: { paths } }: Judged,
  isForgotten: boolean,
): Finding | undefined {
  const { deps, entry } = pass
  const nowMs = deps.clock.monotonicMs()
  const parked = (entry.parked ??= parkedBefore(pass, inputs, nowMs))
  if (parked?.inputs === inputs && nowMs < parked.untilMs)
    return found(parked.reason, parked.message, { kind: 'terminal' }, { worker, drift: NO_DRIFT })
  const contest = isForgotten || entry.inForce !== inputs ? undefined : entry.contest?.at(nowMs)
  if (contest === undefined || nowMs >= contest.nextMs) return undefined
  const by = worker.record.config_changed_by
  return found(
    'ContestedField',
    contestMessage(contest.path, by),
    { kind: 'ok', againAfterMs: contest.nextMs - nowMs },
    { worker, drift: { paths, by } },
  )
}

/** What an earlier term of leadership, or an earlier process, was refused: its status says so. */
function parkedBefore({ before, resource }: Pass, inputs: string, nowMs: number): Parked | undefined {
  if (before.config?.rejected !== rejectedDigest(inputs)) return undefined
  const synced = before.conditions?.find(({ type }) => type === 'Synced')
  const isOfThis = synced?.observedGeneration === resource.metadata.generation
  const reason = REFUSALS.find((each) => each === synced?.reason)
  return isOfThis && reason !== undefined
    ? { inputs, reason, message: synced?.message ?? '', untilMs: nowMs + PARKED_MS }
    : undefined
}

const contestMessage = (path: string, by: string | null): string =>
  `${path} is changed back again and again${by === null ? '' : ` by ${by}`}; end that, or name the path in spec.ignoreDifferences`

function inForce({ deps, entry }: Pass, worker: Registered, { inputs, desired: { versions } }: Judged): Finding {
  const nowMs = deps.clock.monotonicMs()
  entry.inForce = inputs
  entry.parked = undefined
  const more = {
    worker,
    memory: { epoch: worker.epoch, generation: worker.record.config_gen, sources: versions },
    drift: NO_DRIFT,
  }
  const contest = entry.contest?.at(nowMs)
  if (contest !== undefined)
    return found(
      'ContestedField',
      contestMessage(contest.path, contest.by),
      { kind: 'ok', againAfterMs: contest.quietMs - nowMs },
      more,
    )
  return found('InSync', `the config is in force as generation ${worker.record.config_gen}`, { kind: 'ok' }, more)
}

/** Whether the resource is still what was decided on, as the API server has it. */
async function isCurrent({ deps, resource: { metadata }, resource, signal }: Pass): Promise<true | Finding | 'again'> {
  const { cache, leadership, transport } = deps
  if (!leadership.mayWrite() && !(await leadership.confirm(signal))) return quiet({ kind: 'retry' })
  const { now } = await readAgain(resource, transport, signal)
  if (now === undefined) return quiet({ kind: 'retry' }) // The watch is about to tell.
  if (now.metadata.generation === metadata.generation && now.metadata.deletionTimestamp === metadata.deletionTimestamp)
    return true
  cache.answered(now)
  return 'again'
}

async function write(pass: Pass, seen: Registered, judged: Judged, isForgotten: boolean): Promise<Finding | 'again'> {
  const { deps, entry, signal, standing } = pass
  const held: SecretMemory = { ...standing, epoch: standing.epoch ?? seen.epoch }
  if (isFirstSent(pass, judged))
    return {
      ...updating({ kind: 'retry' }, seen, {
        ...held,
        sources: writeAhead(held.sources, judged.desired, judged.difference.patch),
      }),
      isAhead: true,
    }
  const { patch } = judged.difference
  const answer = await deps.master.patch(
    entry.worker,
    patch,
    { epoch: seen.epoch, configGen: seen.record.config_gen },
    entry.claim,
    signal,
  )
  if (answer.kind === 'stale') {
    entry.isUnsure = true
    return (await deps.leadership.confirm(signal)) ? 'again' : quiet({ kind: 'retry' }, seen)
  }
  if (answer.kind !== 'ok') return { memory: held, ...refused(answer, pass, seen, judged.inputs) }
  noteWritten(pass, seen, judged, isForgotten)
  return inForce(pass, written(pass, seen, answer.value.config_gen), judged)
}

/** A secret that the status does not name yet: it is named there before it is sent. */
function isFirstSent({ resource }: Pass, { acts, difference: { patch }, type }: Judged): boolean {
  const named = new Set(resource.status?.config?.sources?.map(({ field }) => field))
  return [...acts.due].some((field) => Object.hasOwn(patch, field) && holdsSecret(field, type) && !named.has(field))
}

function noteWritten(
  { deps, entry, resource }: Pass,
  { record }: Registered,
  { type, desired: { named }, difference: { patch, paths }, inputs }: Judged,
  isForgotten: boolean,
): void {
  entry.patchedMs = deps.table.masterNowMs()
  const secret = Object.entries(patch).filter(([field]) => holdsSecret(field, type))
  for (const [field, value] of secret) (entry.digests ??= new Map()).set(field, deps.memory.digest(value))
  const inline = secret
    .filter(([field]) => Object.hasOwn(resource.spec.config ?? {}, field) && Object.hasOwn(named, field))
    .map(([field]) => field)
  if (inline.length > 0)
    deps.events.record(
      eventTargetOf(resource),
      'Warning',
      'SecretInSpec',
      `spec.config contains a secret in plain text: ${inline.join(', ')}; move it to a Secret and reference it in spec.configFrom`,
    )
  if (entry.inForce !== inputs || isForgotten) return
  const nowMs = deps.clock.monotonicMs()
  const contest = (entry.contest ??= new Contest())
  const wasContested = contest.at(nowMs) !== undefined
  contest.reverted(paths, record.config_changed_by, nowMs)
  deps.onDrift(!wasContested && contest.at(nowMs) !== undefined ? 'contested' : 'reverted')
}

/** The worker as it is after a PATCH of ours, whether or not the table shows it already. */
function written({ deps, entry }: Pass, seen: Registered, configGen: number): Registered {
  const now = deps.table.get(entry.worker.type, entry.worker.workerId)
  const { record, ...rest } = now.kind === 'registered' ? now : seen
  return { ...rest, record: { ...record, config_gen: configGen } }
}

/** Tells a process that is there to end, as often as one comes (D6). */
async function drained(pass: Pass, finding: Finding): Promise<Finding> {
  const { deps, entry, resource, signal } = pass
  const { worker } = finding
  if (resource.spec.drain !== true || worker?.record.connected !== true || worker.record.draining) return finding
  const late: Finding = { ...finding, outcome: { kind: 'retry' } }
  try {
    if ((await isCurrent(pass)) !== true) return late
  } catch (error) {
    if (error instanceof KubeError) return late // What was written before shall be told.
    throw error
  }
  const answer = await deps.master.drain(entry.worker, entry.claim, signal)
  if (answer.kind !== 'ok') return late
  const now = await deps.master.get(entry.worker, signal)
  return now.kind === 'ok' ? { ...finding, worker: now.value } : late
}
