/** @module storage/sqlite/engine-inspect  TaskInspection finds, lists and counts tasks. It changes nothing. */
import { MAX_COUNTED_DUE, MAX_RESPONSE_BYTES } from '../../protocol/index.ts'
import {
  charsOfState,
  lastingPause,
  pausedOf,
  takeWithin,
  totalsOf,
  type Counts,
  type QueuePage,
  type QueueRow,
  type QueueTicket,
  type Sync,
  type TaskPlace,
  type TaskState,
  type Tasks,
} from '../index.ts'
import type { Database } from './driver.ts'
import type { TokenSequences } from './token-sequences.ts'
import { KIND, type Names } from './names.ts'
import { PLACE, pendingOf, type Queue, type Queues } from './queues.ts'
import type { RetainedOutcomes } from './retained-outcomes.ts'
import { historyIn, isCleared, type TaskDeps, type TaskRow, type TaskRows } from './task-rows.ts'
import type { Transaction } from './transaction.ts'

/** By number of the place. */
const PLACES: readonly TaskPlace[] = ['pending', 'in_flight', 'scheduled', 'dead']
const NO_TOTALS = { submitted: 0, acked: 0, nacked: 0, died: 0 } as const
const NO_TASKS: Counts = {
  tiers: [0, 0, 0],
  scheduled: 0,
  inFlight: 0,
  dead: 0,
  oldestSubmittedAtMs: null,
  totals: NO_TOTALS,
}

type TicketRow = QueueTicket & { readonly pk: number }

function statementsOf(db: Database) {
  return {
    pending: db.prepare<[number, number], TicketRow>(
      'SELECT id, attempt, pk FROM task WHERE type = ? AND place = 0 ORDER BY tier, ord LIMIT ?',
    ),
    body: db.prepare<[number], string>('SELECT body FROM body WHERE pk = ?').pluck(),
    firstSubmitted: db
      .prepare<[number, number], number>(
        'SELECT submitted FROM task WHERE type = ? AND place = 0 AND tier = ? ORDER BY ord LIMIT 1',
      )
      .pluck(),
    due: db
      .prepare<[number, number, number], number>(
        'SELECT count(*) FROM (SELECT 1 FROM task WHERE type = ? AND place = 2 AND due <= ? LIMIT ?)',
      )
      .pluck(),
  }
}

export class TaskInspection implements Pick<
  Sync<Tasks>,
  'locate' | 'queue' | 'bodies' | 'describe' | 'counts' | 'countDue'
> {
  readonly #txn: Transaction
  readonly #names: Names
  readonly #sequences: TokenSequences
  readonly #queues: Queues
  readonly #rows: TaskRows
  readonly #outcomes: RetainedOutcomes
  readonly #sql: ReturnType<typeof statementsOf>

  constructor({ db, txn, names, outcomes, sequences, queues, rows }: TaskDeps) {
    this.#outcomes = outcomes
    this.#txn = txn
    this.#names = names
    this.#sequences = sequences
    this.#queues = queues
    this.#rows = rows
    this.#sql = statementsOf(db)
  }

  locate(typeName: string, ids: readonly string[]): readonly (TaskPlace | null)[] {
    const type = this.#names.find(KIND.type, typeName)
    if (type === undefined) return ids.map(() => null)
    const deadCut = this.#sequences.deadCutOf(type)
    return ids.map((id) => {
      const row = this.#rows.find(type, id)
      return row === undefined || isCleared(row, deadCut) ? null : (PLACES[row.place] ?? null)
    })
  }

  queue(typeName: string, n: number, bytes = MAX_RESPONSE_BYTES): QueuePage {
    const queue = this.#find(typeName)
    if (queue === undefined) return { length: 0, items: [] }
    const tickets = this.#sql.pending.all(queue.type, n)
    const items = takeWithin(this.#withBodies(tickets), ({ id, body }) => id.length + body.length, bytes)
    const rest = tickets.slice(items.length).map(({ id, attempt }) => ({ id, attempt }))
    return { length: pendingOf(queue), items, ...(rest.length > 0 && { rest }), ...this.#pausedOf(queue) }
  }

  bodies(typeName: string, ids: readonly string[], bytes = MAX_RESPONSE_BYTES): readonly (string | null)[] {
    const type = this.#names.find(KIND.type, typeName)
    return takeWithin(this.#bodiesOf(type, ids), (body) => body?.length ?? 0, bytes)
  }

  describe(typeName: string, ids: readonly string[], bytes = MAX_RESPONSE_BYTES): readonly (TaskState | null)[] {
    const queue = this.#find(typeName)
    if (queue === undefined) return ids.map(() => null)
    return takeWithin(this.#statesOf(queue, ids), charsOfState, bytes)
  }

  *#statesOf(queue: Readonly<Queue>, ids: readonly string[]): Generator<TaskState | null> {
    const deadCut = this.#sequences.deadCutOf(queue.type)
    for (const id of ids) {
      const row = this.#rows.find(queue.type, id)
      if (row === undefined || isCleared(row, deadCut)) yield this.#outcomes.find(queue, id)
      else yield stateOf(row)
    }
  }

  counts(types: readonly string[]): readonly Counts[] {
    return types.map((type) => this.#countsOf(type))
  }

  countDue(typeName: string, withinMs: number): number {
    const queue = this.#find(typeName)
    return queue === undefined ? 0 : (this.#sql.due.get(queue.type, this.#txn.nowMs + withinMs, MAX_COUNTED_DUE) ?? 0)
  }

  #countsOf(typeName: string): Counts {
    const queue = this.#find(typeName)
    if (queue === undefined) return NO_TASKS
    const { submitted, acked, nacked, died } = this.#sequences.find(queue.type) ?? NO_TOTALS
    return {
      tiers: [...queue.pending],
      scheduled: queue.scheduled,
      inFlight: queue.inFlight,
      dead: queue.dead,
      oldestSubmittedAtMs: this.#oldestOf(queue),
      totals: totalsOf({ submitted, acked, nacked, died }, queue.cancelled),
      ...this.#pausedOf(queue),
      ...(queue.groups !== null && { groups: queue.groups.totals() }),
    }
  }

  #pausedOf({ pause }: Readonly<Queue>): Pick<Counts, 'paused'> {
    return pausedOf(lastingPause(pause, this.#txn.nowMs))
  }

  /** The earliest submit among the first pending tasks of the tiers; `null` if nothing is pending. */
  #oldestOf({ type, pending }: Readonly<Queue>): number | null {
    const times = pending.flatMap((count, tier) =>
      count === 0 ? [] : (this.#sql.firstSubmitted.get(type, tier) ?? []),
    )
    return times.length === 0 ? null : Math.min(...times)
  }

  #find(typeName: string): Readonly<Queue> | undefined {
    const type = this.#names.find(KIND.type, typeName)
    return type === undefined ? undefined : this.#queues.find(type)
  }

  *#withBodies(tickets: readonly TicketRow[]): Generator<QueueRow> {
    for (const { pk, id, attempt } of tickets) yield { id, attempt, body: this.#sql.body.get(pk) ?? '' }
  }

  *#bodiesOf(type: number | undefined, ids: readonly string[]): Generator<string | null> {
    for (const id of ids) {
      const row = type === undefined ? undefined : this.#rows.find(type, id)
      yield row === undefined || row.place === PLACE.dead ? null : (this.#sql.body.get(row.pk) ?? null)
    }
  }
}

function stateOf(row: TaskRow): TaskState {
  const { place, attempt, due, error } = row
  const name = PLACES[place]
  const history = historyIn(row)
  if (name !== undefined && name !== 'dead') return { kind: 'stored', place: name, ...history }
  return { kind: 'dead', attempt, diedAtMs: due ?? 0, lastError: error, ...history }
}
