/**
 * Checkers of what tasks may have beside payload and priority: groups, unique keys, labels, a retained outcome. Each
 * describes the calls of one queue, as those of `history-checkers.ts`.
 */
import type { Call, HistoryTask, LeaseOf, Operation } from './history.ts'

/** Most leases of a group of the queue `grouped`. */
export const MAX_IN_FLIGHT = 2

type Checker = (calls: readonly Call[]) => readonly string[]

function callsOf<O extends Operation>(calls: readonly Call[], ...operations: readonly O[]): readonly Call<O>[] {
  return calls.filter((call): call is Call<O> => (operations as readonly Operation[]).includes(call.operation))
}

const tasksOf = (calls: readonly Call[]): ReadonlyMap<string, HistoryTask> =>
  new Map(callsOf(calls, 'submit').flatMap(({ args }) => args.tasks.map((task) => [task.id, task])))

/** When a lease may have ended first: the start of a settle of its token, or of a cancel of its task. */
function returnsOf(calls: readonly Call[]): (lease: LeaseOf) => number {
  const [tokens, ids] = [new Map<number, number>(), new Map<string, number>()]
  for (const { args, start } of callsOf(calls, 'ack', 'nack', 'release'))
    for (const { token } of args.leases) tokens.set(token, Math.min(tokens.get(token) ?? Infinity, start))
  for (const { args, start } of callsOf(calls, 'cancel'))
    for (const id of args.ids) ids.set(id, Math.min(ids.get(id) ?? Infinity, start))
  return ({ id, token }) => Math.min(tokens.get(token) ?? Infinity, ids.get(id) ?? Infinity)
}

/** A group never has more than MAX_IN_FLIGHT leases (G30). No lease of a history ends by its deadline. */
export const checkGroups: Checker = (calls) => {
  const tasks = tasksOf(calls)
  const returnedAt = returnsOf(calls)
  const groupOf = ({ id }: LeaseOf): string | undefined => tasks.get(id)?.group
  const taken = callsOf(calls, 'reserve').flatMap(({ result = [], start, end }) =>
    result.map((lease) => ({ lease, start, end, group: groupOf(lease), returned: returnedAt(lease) })),
  )
  const violations = new Set<string>()
  for (const { start, end, group } of taken) {
    if (group === undefined) continue
    const held = taken.filter(
      (other) => other.group === group && (other.start === start || (other.end < start && other.returned > end)),
    )
    if (held.length > MAX_IN_FLIGHT) violations.add(`group ${group} had ${held.length} leases`)
  }
  return [...violations]
}

/** At most one task with a unique key is stored; the key of a dead task is free. */
export const checkUniqueKeys: Checker = (calls) => {
  const tasks = tasksOf(calls)
  return callsOf(calls, 'locate').flatMap(({ args, result = [] }) => {
    const holders = new Map<string, string[]>()
    for (const [i, id] of args.ids.entries()) {
      const key = tasks.get(id)?.unique
      if (key === undefined || result[i] == null || result[i] === 'dead') continue
      holders.set(key, [...(holders.get(key) ?? []), id])
    }
    return [...holders].filter(([, ids]) => ids.length > 1).map(([key, ids]) => `${ids.join()} share the key ${key}`)
  })
}

/** A lease has the labels of its task. */
export const checkLabels: Checker = (calls) => {
  const tasks = tasksOf(calls)
  return callsOf(calls, 'reserve').flatMap(({ result = [] }) =>
    result.flatMap(({ id, labels }) => {
      const submitted = tasks.get(id)?.labels
      return labels === submitted ? [] : [`${id} was leased with the labels ${labels}, not ${submitted}`]
    }),
  )
}

/** A retained task that has ended has one outcome, and others have none (G29). */
export const checkOutcomes: Checker = (calls) => {
  const tasks = tasksOf(calls)
  const ends = new Map<string, { readonly kind: 'done' | 'cancelled'; readonly end: number }>()
  const tried = new Map<string, number>()
  const note = (kind: 'done' | 'cancelled', id: string, { start, end }: Call, result: string | undefined): void => {
    if (result === undefined || result === 'ok' || result === 'cancelled')
      tried.set(id, Math.min(tried.get(id) ?? Infinity, start))
    if (result !== undefined && (result === 'ok' || result === 'cancelled') && !ends.has(id))
      ends.set(id, { kind, end })
  }
  for (const call of callsOf(calls, 'ack'))
    for (const [i, { id }] of call.args.leases.entries()) note('done', id, call, call.result?.[i])
  for (const call of callsOf(calls, 'cancel'))
    for (const [i, id] of call.args.ids.entries()) note('cancelled', id, call, call.result?.[i])
  return callsOf(calls, 'describe').flatMap(({ args, result, start, end }) =>
    args.ids.flatMap((id, i) => {
      if (result === undefined || tasks.get(id)?.isRetained !== true) return []
      const [seen, ended] = [result[i] ?? null, ends.get(id)]
      if (ended !== undefined && ended.end < start && seen !== ended.kind)
        return [`${id} is ${ended.kind}, and its outcome is lost: ${seen}`]
      const isEarly = (seen === 'done' || seen === 'cancelled') && (tried.get(id) ?? Infinity) > end
      return isEarly ? [`${id} has the outcome ${seen}, and has not ended`] : []
    }),
  )
}
