/**
 * @module automation/testing/task-seeds
 * Converts an author's tasks into tasks of the store, after the checks of a submit.
 */
import { compileValidator, TaskBody } from '../../protocol/index.ts'
import type { CatalogEntry } from '../index.ts'
import type { NewTask, Tier } from '../../storage/index.ts'

const validateTask = compileValidator(TaskBody)
const NAMES = new Set(['id', 'payload', 'priority', 'maxAttempts', 'labels', 'groupKey'])
/** Names of the fields in the messages of the master's check. */
const WIRE = { task_id: 'id', max_attempts: 'maxAttempts', group_key: 'groupKey' } as const

interface Seed {
  readonly id: string
  readonly payload: unknown
  readonly priority?: number
  readonly maxAttempts?: number
  readonly labels?: Readonly<Record<string, string>>
  readonly groupKey?: string
}

export function newTasks(
  seeds: readonly unknown[],
  entry: CatalogEntry,
  known: ReadonlySet<string>,
  nowMs: number,
): { readonly tasks: readonly NewTask[]; readonly problems: readonly string[] } {
  const taken = new Set(known)
  const tasks: NewTask[] = []
  const problems: string[] = []
  for (const [index, seed] of seeds.entries()) {
    const given = Object(seed) as Partial<Seed>
    const whole: Seed = { ...given, id: given.id ?? freeId(taken), payload: given.payload }
    const faults = [...faultsOf(whole, entry), ...(taken.has(whole.id) ? [`/id: "${whole.id}" is another task's`] : [])]
    problems.push(...faults.map((fault) => `tasks[${index}]${fault}`))
    taken.add(whole.id)
    if (faults.length === 0) tasks.push(storedTask(whole, nowMs))
  }
  return { tasks, problems }
}

function freeId(taken: ReadonlySet<string>): string {
  let n = taken.size + 1
  while (taken.has(`task-${n}`)) n += 1
  return `task-${n}`
}

function faultsOf(
  { id, payload, priority, maxAttempts, labels, groupKey, ...others }: Seed,
  entry: CatalogEntry,
): readonly string[] {
  const unknown = Object.keys(others).map((name) => `/${name}: is no field of a task; known: ${[...NAMES].join(', ')}`)
  const body = {
    task_id: id,
    payload,
    ...(priority !== undefined && { priority }),
    ...(maxAttempts !== undefined && { max_attempts: maxAttempts }),
    ...(labels !== undefined && { labels }),
    ...(groupKey !== undefined && { group_key: groupKey }),
  }
  const shape = validateTask(body).map(({ path, message }) => `${ownPath(path)}: ${message}`)
  if (unknown.length + shape.length > 0) return [...unknown, ...shape]
  return (entry.validatePayload?.(payload) ?? []).map(({ path, message }) => `/payload${path}: ${message}`)
}

const ownPath = (path: string): string =>
  path.replace(/^\/(task_id|max_attempts|group_key)/, (_, name: keyof typeof WIRE) => `/${WIRE[name]}`)

function storedTask(
  {
    id,
    payload,
    priority = 0,
    maxAttempts = null,
    labels,
    groupKey,
  }: Omit<Seed, 'maxAttempts'> & { readonly maxAttempts?: number | null },
  nowMs: number,
): NewTask {
  const group = groupKey === undefined ? '' : `"group_key":${JSON.stringify(groupKey)},`
  const extras = group + (labels === undefined ? '' : `"labels":${JSON.stringify(labels)},`)
  const body = `{${extras}"payload":${JSON.stringify(payload)},"priority":${priority},"submitted_at":${nowMs / 1_000}}`
  return { id, ownId: true, key: null, tier: tierOf(priority), ttlMs: null, maxAttempts, submittedAtMs: nowMs, body }
}

function tierOf(priority: number): Tier {
  if (priority > 0) return 0
  return priority === 0 ? 1 : 2
}
