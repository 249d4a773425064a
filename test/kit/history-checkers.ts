/**
 * Checkers of a history: each is a pure function from all calls to the sentences that describe its violations. A call
 * without a result may or may not have had its effect, and a checker accepts both.
 */
import type { Call, LeaseOf, Operation } from './history.ts'
import { checkGroups, checkLabels, checkOutcomes, checkUniqueKeys } from './task-checkers.ts'

/** Returns one sentence for each violation. */
export type Checker = (calls: readonly Call[]) => readonly string[]

function callsOf<O extends Operation>(calls: readonly Call[], ...operations: readonly O[]): readonly Call<O>[] {
  return calls.filter((call): call is Call<O> => (operations as readonly Operation[]).includes(call.operation))
}

interface TaskFate {
  /** The end of the first acknowledged submit. */
  submitted: number
  /** The end of the first acknowledged ack, and its token. */
  acked: number
  token: number
  /** The start of the first ack or cancel that may have had an effect. */
  endTried: number
  /** The end of the first cancel that succeeded. */
  cancelled: number
}

const isEffective = (call: Call<'ack'>, index: number): boolean =>
  call.result === undefined || call.result[index] === 'ok'

function fatesOf(calls: readonly Call[]): ReadonlyMap<string, TaskFate> {
  const fates = new Map<string, TaskFate>()
  const fateOf = (id: string): TaskFate => {
    const never = { submitted: Infinity, acked: Infinity, token: 0, endTried: Infinity, cancelled: Infinity }
    const fate: TaskFate = fates.get(id) ?? never
    fates.set(id, fate)
    return fate
  }
  for (const call of callsOf(calls, 'submit'))
    for (const id of call.result ?? []) fateOf(id).submitted = Math.min(fateOf(id).submitted, call.end)
  for (const call of callsOf(calls, 'ack'))
    for (const [i, { id, token }] of call.args.leases.entries()) {
      const fate = fateOf(id)
      if (!isEffective(call, i)) continue
      fate.endTried = Math.min(fate.endTried, call.start)
      if (call.end < fate.acked) Object.assign(fate, { acked: call.end, token })
    }
  for (const call of callsOf(calls, 'cancel'))
    for (const [i, id] of call.args.ids.entries()) {
      const fate = fateOf(id)
      if (call.result !== undefined && call.result[i] !== 'cancelled') continue
      fate.endTried = Math.min(fate.endTried, call.start)
      if (call.result !== undefined) fate.cancelled = Math.min(fate.cancelled, call.end)
    }
  return fates
}

/** A cancelled task is not delivered, not stored, and no settle of it succeeds (G28). */
export const checkCancels: Checker = (calls) => {
  const fates = fatesOf(calls)
  const violations: string[] = []
  const isAfter = (id: string, { start }: Call): boolean => (fates.get(id)?.cancelled ?? Infinity) < start
  for (const call of callsOf(calls, 'reserve'))
    for (const { id } of call.result ?? [])
      if (isAfter(id, call)) violations.push(`${id} was delivered after its cancel`)
  for (const call of callsOf(calls, 'locate'))
    for (const [i, id] of call.args.ids.entries())
      if (isAfter(id, call) && call.result?.[i] != null) violations.push(`${id} was cancelled and is ${call.result[i]}`)
  for (const call of callsOf(calls, 'ack', 'nack', 'release'))
    for (const [i, { id }] of call.args.leases.entries()) {
      const isDone = call.result !== undefined && call.result[i] !== 'lease_lost' && call.result[i] !== 'not_issued'
      if (isDone && isAfter(id, call)) violations.push(`the ${call.operation} of ${id} succeeded after its cancel`)
    }
  return violations
}

/** A task is in the store from its submit to its ack or cancel, and is not delivered after the ack (G1, G2). */
export const checkTasks: Checker = (calls) => {
  const fates = fatesOf(calls)
  const violations: string[] = []
  for (const call of callsOf(calls, 'reserve'))
    for (const { id } of call.result ?? [])
      if ((fates.get(id)?.acked ?? Infinity) < call.start) violations.push(`${id} was delivered after its ack`)
  for (const call of callsOf(calls, 'locate'))
    for (const [i, id] of call.args.ids.entries()) {
      const fate = fates.get(id)
      if (fate === undefined || call.result === undefined) continue
      const place = call.result[i] ?? null
      const isLost = place === null && fate.submitted < call.start && fate.endTried > call.end
      if (isLost) violations.push(`${id} was submitted and is lost`)
      if (place !== null && fate.acked < call.start) violations.push(`${id} was acked and is still ${place}`)
    }
  for (const call of callsOf(calls, 'ack'))
    for (const [i, { id, token }] of call.args.leases.entries()) {
      const fate = fates.get(id)
      const isRepeat = fate !== undefined && fate.acked < call.start && fate.token === token
      if (isRepeat && call.result !== undefined && call.result[i] !== 'ok')
        violations.push(`the ack of ${id} is not remembered`)
    }
  return violations
}

/** Within its window, an idempotency key stands for one task (G7). */
export const checkKeys: Checker = (calls) => {
  const ids = new Map<string, Set<string>>()
  for (const { args, result } of callsOf(calls, 'submit'))
    for (const [i, { key }] of args.tasks.entries()) {
      if (key === null || result === undefined) continue
      ids.set(key, (ids.get(key) ?? new Set()).add(result[i] ?? ''))
    }
  return [...ids].filter(([, each]) => each.size > 1).map(([key, each]) => `key ${key} made tasks ${[...each].join()}`)
}

/** Each token is greater than all tokens before it (G5), and a task or item has one live lease (G4). */
export const checkLeases: Checker = (calls) => [
  ...leaseViolations(callsOf(calls, 'reserve'), callsOf(calls, 'ack', 'nack', 'release')),
  ...leaseViolations(callsOf(calls, 'claim'), callsOf(calls, 'release_items')),
]

function leaseViolations(
  takes: readonly Call<'reserve' | 'claim'>[],
  returns: readonly Call<'ack' | 'nack' | 'release' | 'release_items'>[],
): readonly string[] {
  const violations: string[] = []
  const returned = new Map<number, number>()
  for (const { args, start } of returns)
    for (const { token } of args.leases) returned.set(token, Math.min(returned.get(token) ?? Infinity, start))
  const tokens = new Set<number>()
  const holders = new Map<string, LeaseOf & { readonly end: number }>()
  for (const { result = [], start, end } of takes) {
    const newest = Math.max(0, ...takes.filter((other) => other.end < start).flatMap(tokensOf))
    for (const lease of result) {
      const { id, token } = lease
      if (tokens.has(token)) violations.push(`token ${token} was issued twice`)
      else if (token <= newest) violations.push(`token ${token} was issued after ${newest}`)
      const holder = holders.get(id)
      const isHeld = holder !== undefined && holder.end < start && (returned.get(holder.token) ?? Infinity) > end
      if (isHeld) violations.push(`${id} was leased again during its lease`)
      tokens.add(token)
      holders.set(id, { ...lease, end })
    }
  }
  return violations
}

const tokensOf = ({ result = [] }: Call<'reserve' | 'claim'>): readonly number[] => result.map(({ token }) => token)

/** The generation of a config rises, and no acknowledged change of it is lost (G15). */
export const checkConfig: Checker = (calls) => {
  const violations: string[] = []
  const configs = new Map<number, string>()
  const puts = callsOf(calls, 'put_config')
  const stored = puts.map(({ result, end }) => ({ gen: result ?? 0, end }))
  const newestBefore = (start: number): number =>
    Math.max(0, ...stored.filter(({ end }) => end < start).map(({ gen }) => gen))
  for (const { args, result, start } of puts) {
    if (result === undefined || result === null) continue
    if (configs.has(result)) violations.push(`generation ${result} was issued twice`)
    else if (result <= newestBefore(start)) violations.push(`generation ${result} is older than ${newestBefore(start)}`)
    configs.set(result, args.config)
  }
  for (const { result, start } of callsOf(calls, 'get_config')) {
    if (result === undefined) continue
    const newest = newestBefore(start)
    const gen = result?.gen ?? 0
    if (gen < newest) violations.push(`generation ${newest} is lost, ${gen} is stored`)
    const config = configs.get(gen)
    if (config !== undefined && config !== result?.config) violations.push(`generation ${gen} has another config`)
  }
  return violations
}

/** A value that one client sets to ascending numbers does not fall behind an acknowledged one (G1). */
export const checkValue: Checker = (calls) => {
  const sets = callsOf(calls, 'set')
  return callsOf(calls, 'get').flatMap(({ result, start, end }) => {
    if (result === undefined) return []
    const least = Math.max(0, ...sets.filter((set) => set.end < start).map(({ args }) => args.value))
    const most = Math.max(0, ...sets.filter((set) => set.start < end).map(({ args }) => args.value))
    if (result < least) return [`the value ${least} is lost, ${result} is stored`]
    return result > most ? [`the value ${result} was never set`] : []
  })
}

/** A counter has every acknowledged addition, and none that was not called (G1). */
export const checkCounter: Checker = (calls) => {
  const adds = callsOf(calls, 'add')
  const sum = (some: readonly Call<'add'>[]): number => some.reduce((total, { args }) => total + args.delta, 0)
  return callsOf(calls, 'add', 'count').flatMap(({ operation, args, result, start, end }) => {
    if (result === undefined) return []
    const own = operation === 'add' ? (args?.delta ?? 0) : 0
    const least = sum(adds.filter((add) => add.end < start)) + own
    const most = sum(adds.filter((add) => add.start <= end))
    return result < least || result > most ? [`the counter is ${result}, expected ${least} to ${most}`] : []
  })
}

/** Entries are popped in order, each at most once, and none that was pushed is lost (G1, G10). */
export const checkStream: Checker = (calls) => {
  const violations: string[] = []
  const pops = callsOf(calls, 'pop')
  const isKnown = new Set(callsOf(calls, 'push').flatMap(({ args }) => args.entries))
  const popped = new Set<number>()
  let last = 0
  for (const entry of pops.toSorted((a, b) => a.end - b.end).flatMap(({ result = [] }) => result)) {
    if (popped.has(entry)) violations.push(`entry ${entry} was popped twice`)
    else if (entry < last) violations.push(`entry ${entry} was popped after ${last}`)
    if (!isKnown.has(entry)) violations.push(`entry ${entry} was never pushed`)
    popped.add(entry)
    last = Math.max(last, entry)
  }
  // A pop without a result may have removed up to `limit` entries. A pop of less than `limit` emptied the stream.
  const mayMiss = pops.filter(({ result }) => result === undefined).reduce((sum, { args }) => sum + args.limit, 0)
  const emptied = Math.max(0, ...pops.filter(isLastPop).map(({ start }) => start))
  const isDue = (end: number, entry: number): boolean => entry < last || end < emptied
  const missing = callsOf(calls, 'push')
    .filter(({ result }) => result !== undefined)
    .flatMap(({ args, end }) => args.entries.filter((entry) => isDue(end, entry) && !popped.has(entry)))
  if (missing.length > mayMiss) violations.push(`entries ${missing.slice(0, 10).join()} are lost`)
  return violations
}

const isLastPop = ({ args, result }: Call<'pop'>): boolean => result !== undefined && result.length < args.limit

/** An item is in its pool from its put to its removal (G1). */
export const checkPool: Checker = (calls) => {
  const puts = callsOf(calls, 'put_items')
  const removals = callsOf(calls, 'remove_items')
  return callsOf(calls, 'list_items').flatMap(({ result, start, end }) => {
    if (result === undefined) return []
    const listed = new Set(result)
    const isTried = new Set(removals.filter((call) => call.start < end).flatMap(({ args }) => args.ids))
    const isRemoved = new Set(removals.filter((call) => call.end < start).flatMap(({ args }) => args.ids))
    const stored = puts.filter((call) => call.end < start).flatMap(({ args }) => args.ids)
    return [
      ...stored.filter((id) => !listed.has(id) && !isTried.has(id)).map((id) => `item ${id} is lost`),
      ...result.filter((id) => isRemoved.has(id)).map((id) => `item ${id} was removed and is back`),
    ]
  })
}

/** Checks each queue alone: a queue has its own ids, keys and tokens. */
const ofEachQueue =
  (check: Checker): Checker =>
  (calls) =>
    [...new Set(calls.map(({ client }) => queueOf(client)))].flatMap((queue) =>
      check(calls.filter(({ client }) => queueOf(client) === queue)),
    )

/** The queue that a client uses: the part of its name behind a slash. */
export const queueOf = (client: string): string => client.split('/')[1] ?? ''

const CHECKERS: readonly Checker[] = [
  ...[checkTasks, checkCancels, checkKeys, checkLeases, checkGroups, checkUniqueKeys, checkLabels, checkOutcomes].map(
    ofEachQueue,
  ),
  checkConfig,
  checkValue,
  checkCounter,
  checkStream,
  checkPool,
]

/** Runs all checkers. */
export const checkHistory: Checker = (calls) => CHECKERS.flatMap((check) => check(calls))
