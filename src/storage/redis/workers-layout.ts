/**
 * @module storage/redis/workers-layout
 * The registry of one automation type T as Redis holds it, under the hash tag `{a:T}`, which it shares with the tasks
 * (tasks-layout.ts): a reserve reads `g` and `dr`, so no drain slips in between. One hash a field rather than one a
 * worker: a batch then reads and writes each field of all its workers in one inner call.
 *
 *   ix     ZSET of all ids, score 0: pages by the bytes of the id
 *   desc   id → `registered ms:instance:hardware`          g     id → generation of the config; the worker exists
 *   st     id → `state:since ms:applied gen:error`         cfg   id → `changed ms:actor:config`
 *   sn     id → last seen, ms                              cs    id → newest stats frame
 *          `+` before it: the process ended in an orderly way (D142). A register of any release overwrites it
 *   conn   id → connection, while there is one             mb    id → managed by, if the worker is managed
 *   dr     id → what a drain applies to: '' the process that registers next, `i<instance>`, `c<conn>`; absent: no drain
 *          (D6)
 *   da     id → `since:ms:actor`, the request of a drain that began with this `since` of `st` (D195)
 *   dp     id → `seen:ms:1 if it was draining:ms:actor of that drain:by:code:reason`, how the last connection ended;
 *          valid while `sn` has this time and there is no connection (D195)
 *   lb     id → labels, if the worker sent some (D136). A release before D136 neither writes nor removes them, so a
 *          worker that registers at such a master keeps those that it sent last
 *   rv     id → `gen:revision/variant`, the label of the last bulk change, and the generation that it wrote
 *   ru     revision → `workers that use it:first use ms:last use ms:created ms:managed by:actor`, for each stored one
 *   ro     ZSET of the revisions in the order in which they were stored    rd   revision → config
 *   en     enrolment rule → `revision/variant:managed by`, and '' → the version, `last change ms.changes`
 *   eb     enrolment rule → its body
 *   rh     rollout report → `reported, ms:head`                rb     rollout report → its body
 *   oh     operation → `version:number of parts:head`      ob     `operation/number` → that part
 *   rt     revision → its tally as JSON, once something was added; a release before D138 does not delete it
 *   ul     `ms of a step:place in the ring` → `number of the step:{"p":peaks,"s":sums}` (rollup-steps.ts)
 *   gone   ZSET of the forgotten ids by their last generation (D46)
 *   sr:<id>   LIST of stats frames, oldest first           ch:<id>   LIST of config changes, newest first
 *
 * Releases before D132 do not know `rv`: a worker that one of them forgets keeps its label, and counts in `ru`, until
 * it registers again.
 *
 * In `desc`, `cfg` and history rows the last field is opaque text and runs to the end, so the ones before it must be
 * free of colons: instance and actor are escaped. `st` holds what was reported; a record with a drain reads DRAINING.
 * Its applied generation is empty before the first state frame, its error `e<text>` or empty.
 */
import {
  bulkText,
  cutError,
  historyContent,
  labelOf,
  type BulkConfig,
  type RevisionRow,
  type WorkerReport,
  type ConfigPut,
  type ConnectionEnd,
  type Departure,
  type DrainRequest,
  type ConfigRow,
  type Enrolment,
  type HistoryRow,
  type RecordedStatus,
  type WorkerRow,
} from '../index.ts'
import type { WorkerState } from '../../protocol/index.ts'
import { key } from './keys.ts'

const ENDED = '+'

export const ringKey = (type: string, id: string): string => key('a', type, `sr:${id}`)
export const historyKey = (type: string, id: string): string => key('a', type, `ch:${id}`)
export const rulesKey = (type: string): string => key('a', type, 'en')

/** Free of colons, and another text for every other one. */
export const escaped = (text: string): string => text.replaceAll(/[%:]/g, (char) => (char === '%' ? '%25' : '%3a'))
const unescaped = (text: string): string => text.replaceAll(/%25|%3a/g, (code) => (code === '%25' ? '%' : ':'))

/** The first `n` fields, and whatever follows as one. */
function fields(text: string, n: number): string[] {
  const found: string[] = []
  let from = 0
  for (let i = 0; i < n; i += 1) {
    const colon = text.indexOf(':', from)
    found.push(text.slice(from, colon))
    from = colon + 1
  }
  return [...found, text.slice(from)]
}

/** What a beat says of the state, as `st` holds it behind the time. */
export function reportOf({ gen, lastError }: NonNullable<WorkerReport['state']>): string {
  return `${gen}:${lastError === null ? '' : `e${cutError(lastError)}`}`
}

/** What a record says of its worker, from state, applied generation and error as `st` holds them. */
export function reportedOf(text: string): RecordedStatus {
  const [state, applied = '', error = ''] = fields(text, 2)
  return {
    state: state as WorkerState,
    lastError: error === '' ? null : error.slice(1),
    appliedGen: applied === '' ? null : Number(applied),
  }
}

/** How a connection ended, as `dp` has it at its end. */
export const endText = (end: ConnectionEnd | undefined): string =>
  end === undefined ? '' : `${end.by}:${end.code}:${end.reason}`

const requestOf = (ms: string, actor: string): DrainRequest => ({ atMs: Number(ms), actor: unescaped(actor) })

/** @param since The present `since` of the record. */
function drainRequestOf(text: string | null, since: string | undefined): DrainRequest | undefined {
  if (text === null) return undefined
  const [validSince, ms = '', actor = ''] = fields(text, 2)
  return validSince === since ? requestOf(ms, actor) : undefined
}

/** @param seenMs The present time in `sn`. */
function departureOf(text: string | null, seenMs: number): Departure | undefined {
  if (text === null) return undefined
  const [seen, ms, draining, drainMs = '', actor = '', by, code, reason = ''] = fields(text, 7)
  if (Number(seen) !== seenMs) return undefined
  return {
    atMs: Number(ms),
    wasDraining: draining === '1',
    drain: drainMs === '' ? null : requestOf(drainMs, actor),
    by: by as Departure['by'],
    code: Number(code),
    reason,
  }
}

export function configRow(gen: string, cfg: string): ConfigRow {
  const [changed = '', actor = '', config = ''] = fields(cfg, 2)
  const isSet = changed !== ''
  return {
    gen: Number(gen),
    config,
    changedAtMs: isSet ? Number(changed) : null,
    actor: isSet ? unescaped(actor) : null,
  }
}

/** A history row without its time, which the script puts in front. `changed` is JSON of one line. */
export function historyText({ expectGen, actor, changed, config }: ConfigPut): string {
  return `${expectGen + 1}:${escaped(actor)}:${JSON.stringify(changed)}\n${config}`
}

export function historyRow(text: string): HistoryRow {
  const [ts = '', gen = '', actor = '', rest = ''] = fields(text, 3)
  const lineEnd = rest.indexOf('\n')
  return {
    gen: Number(gen),
    changedAtMs: Number(ts),
    actor: unescaped(actor),
    changed: JSON.parse(rest.slice(0, lineEnd)) as string[],
    ...historyContent(rest.slice(lineEnd + 1)),
  }
}

/** The history row of a bulk change without its time, generation and actor, which the script puts in front. */
export const bulkHistoryText = (revision: string, { changed, patch }: BulkConfig): string =>
  `${JSON.stringify(changed)}\n${bulkText(revision, patch)}`

/** The label as it reads for a config of this generation; `null` if there is none. */
export function labelText(stored: string | null, gen: string): string | null {
  if (stored === null) return null
  const [writtenForGen = '', label = ''] = fields(stored, 1)
  const slash = label.indexOf('/')
  return labelOf(label.slice(0, slash), label.slice(slash + 1), Number(writtenForGen), Number(gen))
}

export function revisionRow(name: string, use: string): Omit<RevisionRow, 'tally'> {
  const [workers, first, last, created, managedBy = '', actor = ''] = fields(use, 5)
  const timeOf = (text = ''): number | null => (text === '' ? null : Number(text))
  return {
    name,
    managedBy: managedBy === '' ? null : unescaped(managedBy),
    actor: unescaped(actor),
    createdAtMs: Number(created),
    workers: Number(workers),
    firstUsedAtMs: timeOf(first),
    lastUsedAtMs: timeOf(last),
  }
}

/** A rule as `en` has it. */
export const ruleText = ({ revision, variant, managedBy }: Enrolment): string =>
  `${revision}/${escaped(variant)}:${managedBy ?? ''}`

export function ruleOf(text: string): Enrolment {
  const slash = text.indexOf('/')
  const [variant = '', managedBy = ''] = fields(text.slice(slash + 1), 1)
  return {
    revision: text.slice(0, slash),
    variant: unescaped(variant),
    managedBy: managedBy === '' ? null : managedBy,
  }
}

/** One worker as the reading scripts return it, null where the field is absent. */
export interface StoredWorker {
  readonly g: string | null
  readonly cfg: string | null
  readonly desc: string | null
  readonly st: string | null
  readonly sn: string | null
  readonly conn: string | null
  readonly dr: string | null
  readonly mb: string | null
  readonly cs: string | null
  readonly lb: string | null
  readonly rv: string | null
  readonly da: string | null
  readonly dp: string | null
}

export function workerRow(
  type: string,
  id: string,
  stored: StoredWorker,
  isConnected: (conn: string) => boolean,
): WorkerRow | null {
  const { g, cfg, desc, st, sn, conn, dr, mb, cs, lb, rv, da, dp } = stored
  if (g === null || cfg === null || desc === null || st === null) return null
  const [registered, , hardware = ''] = fields(desc, 2)
  const [state, since, rest = ''] = fields(st, 2)
  const draining = dr !== null
  const drainRequest = draining ? drainRequestOf(da, since) : undefined
  const departure = conn === null ? departureOf(dp, Number(sn)) : undefined
  return {
    type,
    id,
    conn,
    connected: conn !== null && isConnected(conn),
    ended: conn === null && sn?.startsWith(ENDED) === true,
    registeredAtMs: Number(registered),
    hardware,
    labels: lb,
    ...reportedOf(`${draining ? 'DRAINING' : state}:${rest}`),
    stateSinceMs: Number(since),
    lastSeenAtMs: Number(sn),
    draining,
    ...(drainRequest !== undefined && { drainRequest }),
    ...(departure !== undefined && { departure }),
    managedBy: mb,
    config: configRow(g, cfg),
    configRevision: labelText(rv, g),
    stats: cs,
  }
}
