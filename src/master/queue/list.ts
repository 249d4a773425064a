/**
 * @module master/queue/list
 * Lists tasks by place, worker, label and text, page by page (D116). The store reads rows; the filters run here, on
 * text that the byte rate of inspections has paced, so a filter never occupies the store.
 */
import {
  API_PREFIX,
  invalid,
  MAX_RESPONSE_BYTES,
  TASK_PAGE,
  TaskListBody,
  TaskListQuery,
  toSeconds,
} from '../../protocol/index.ts'
import { isListCursor, type ListedTask, type TaskPlace, type Tasks } from '../../storage/index.ts'
import { route, type Route } from '../http/index.ts'
import type { InspectionBody, Inspections } from '../inspections/index.ts'
import { RUN_ITEMS } from './batcher.ts'

/** Without `place`, they are listed in this order. */
const PLACES: readonly TaskPlace[] = ['pending', 'in_flight', 'scheduled', 'dead']
/** Reads of the store that one request makes at most: a page of cancelled tasks has no rows. */
const MAX_READS = 50

export interface ListDeps {
  readonly tasks: Pick<Tasks, 'list'>
  readonly inspections: Inspections
}

export function listRoute({ tasks, inspections }: ListDeps): Route {
  return route({
    method: 'GET',
    path: `${API_PREFIX}/automations/{type}/tasks`,
    access: 'scoped',
    needs: 'read',
    query: TaskListQuery,
    response: TaskListBody,
    summary:
      'The tasks of one place, or of all, that have all labels and contain the text in id or JSON, ignoring case. ' +
      'With worker_id, only those that this worker has in flight. ' +
      'Examines up to 5,000 tasks; cursor continues behind them, and is null at the end.',
    handle: (request) => {
      const { type } = request.params
      const list = new TaskList(tasks, type, request.query)
      return inspections.respond(request, (out) => list.write(out))
    },
  })
}

/** Where a page begins: behind `after`, and `skip` rows further. */
interface Position {
  readonly place: TaskPlace
  readonly after: string | null
  readonly skip: number
}

/** One request for a list. */
class TaskList {
  readonly #tasks: Pick<Tasks, 'list'>
  readonly #type: string
  readonly #places: readonly TaskPlace[]
  readonly #limit: number
  /** `null` if every task is wanted. */
  readonly #filter: ((task: ListedTask) => boolean) | null
  /** `null` behind the last task. */
  #position: Position | null
  #listed = 0
  #examined = 0
  #bytes = 0

  constructor(tasks: Pick<Tasks, 'list'>, type: string, query: TaskListQuery) {
    const { worker_id: worker, limit = TASK_PAGE.limit, cursor } = query
    const place = query.place ?? (worker === undefined ? undefined : 'in_flight')
    this.#tasks = tasks
    this.#type = type
    this.#places = place === undefined ? PLACES : [place]
    this.#limit = limit
    this.#filter = filterOf(query)
    this.#position = cursor === undefined ? this.#startOf(0) : this.#positionOf(cursor)
  }

  async write(out: InspectionBody): Promise<void> {
    out.text('{"items":[')
    for (let reads = 0; reads < MAX_READS && this.#canContinue(out); reads += 1) await this.#readPage(out)
    const cursor = this.#position === null ? 'null' : JSON.stringify(cursorOf(this.#position))
    out.text(`],"cursor":${cursor},"examined":${this.#examined}}`)
  }

  #canContinue({ room }: InspectionBody): boolean {
    const isAtBound = this.#examined >= TASK_PAGE.maxExamined || this.#bytes >= MAX_RESPONSE_BYTES
    return this.#position !== null && this.#listed < this.#limit && !isAtBound && room > 0
  }

  async #readPage(out: InspectionBody): Promise<void> {
    const position = this.#position
    if (position === null) return
    const { place, after, skip } = position
    const wanted = this.#filter === null ? Math.min(RUN_ITEMS, skip + this.#limit - this.#listed) : RUN_ITEMS
    const { rows, next } = await out.read(() => this.#tasks.list(this.#type, place, after, wanted, out.room))
    const texts: string[] = []
    let at = Math.min(skip, rows.length)
    let skipped = 0
    for (; at < rows.length && this.#canTake(texts.length); at += 1) {
      const task = rows[at] as ListedTask
      this.#examined += 1
      this.#bytes += task.body.length
      if (this.#filter?.(task) !== false) texts.push(taskText(place, task))
      else skipped += task.body.length
    }
    this.#listed += texts.length
    out.skip(rows.length - texts.length, skipped)
    out.items(texts)
    if (at < rows.length) this.#position = { place, after, skip: at }
    else if (next === null) this.#position = this.#startOf(this.#places.indexOf(place) + 1)
    else this.#position = { place, after: next, skip: Math.max(0, skip - rows.length) }
  }

  #canTake(more: number): boolean {
    return this.#listed + more < this.#limit && this.#examined < TASK_PAGE.maxExamined
  }

  #startOf(index: number): Position | null {
    const place = this.#places[index]
    return place === undefined ? null : { place, after: null, skip: 0 }
  }

  /** @throws {FleetError} INVALID if it is no cursor of this list. */
  #positionOf(cursor: string): Position {
    const [name, after = '', skip = '', ...more] = cursor.split('.')
    const place = this.#places.find((each) => each === name)
    const isForm = more.length === 0 && (after === '' || isListCursor(after)) && /^\d{1,6}$/.test(skip)
    if (place === undefined || !isForm) throw invalid('/cursor', 'must be the cursor of a page of this list', 'cursor')
    return { place, after: after === '' ? null : after, skip: Number(skip) }
  }
}

const cursorOf = ({ place, after, skip }: Position): string => `${place}.${after ?? ''}.${skip}`

/**
 * Creates the filter of a query. A label is searched in the text before the text is parsed, because most tasks do not
 * match.
 *
 * @throws {FleetError} INVALID if a label is not `key:value`.
 */
function filterOf({ label = [], text, worker_id: holder }: TaskListQuery): ((task: ListedTask) => boolean) | null {
  if (label.length === 0 && text === undefined && holder === undefined) return null
  const labels = label.map(splitLabel)
  const wanted = text?.toLowerCase()
  const inJson = wanted === undefined ? '' : JSON.stringify(wanted).slice(1, -1)
  return ({ id, body, worker }) => {
    if (holder !== undefined && worker !== holder) return false
    const hasLabels = labels.every(([key, value]) => body.includes(`${JSON.stringify(key)}:${JSON.stringify(value)}`))
    if (!hasLabels || (labels.length > 0 && !isLabelled(body, labels))) return false
    if (wanted === undefined) return true
    return id.toLowerCase().includes(wanted) || body.toLowerCase().includes(inJson)
  }
}

function isLabelled(body: string, wanted: readonly (readonly [string, string])[]): boolean {
  const { labels } = JSON.parse(body) as { labels?: Record<string, string> }
  return labels !== undefined && wanted.every(([key, value]) => Object.hasOwn(labels, key) && labels[key] === value)
}

function splitLabel(label: string): readonly [string, string] {
  const colon = label.indexOf(':')
  if (colon < 1) throw invalid('/label', 'must be key:value', 'label')
  return [label.slice(0, colon), label.slice(colon + 1)]
}

function taskText(place: TaskPlace, { id, attempt, atMs, worker, error, body }: ListedTask): string {
  const head = `{"task_id":${JSON.stringify(id)},"place":"${place}","attempt":${attempt},`
  const seconds = toSeconds(atMs ?? 0)
  const facts: Readonly<Record<TaskPlace, string>> = {
    pending: '',
    in_flight: `"worker_id":${JSON.stringify(worker)},"lease_expires_at":${seconds},`,
    scheduled: `"due_at":${seconds},`,
    dead: `"error":${JSON.stringify(error)},"finished_at":${seconds},`,
  }
  return head + facts[place] + body.slice(1)
}
