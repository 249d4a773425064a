/** @module master/queue/new-task  Creates the task of the store from a task body of the API. */
import { compileValidator, TaskBody, type FieldError } from '../../protocol/index.ts'
import type { CatalogEntry } from '../../automation/index.ts'
import type { Clock, Random } from '../../runtime/index.ts'
import type { NewTask, Tier } from '../../storage/index.ts'

const validateTask = compileValidator(TaskBody)

/** All faults of a task body, including its payload (422). Pointers start at the task body. */
export function taskFaults(body: unknown, entry: CatalogEntry): readonly FieldError[] {
  const faults = validateTask(body)
  const { payload } = Object(body) as { payload?: unknown }
  return isObject(payload) ? [...faults, ...payloadFaults(payload, entry)] : faults
}

/** Faults of the payload only, for a body that was already checked. */
export function payloadFaults(payload: unknown, entry: CatalogEntry): readonly FieldError[] {
  return (entry.validatePayload?.(payload) ?? []).map((fault) => ({ ...fault, path: `/payload${fault.path}` }))
}

/** @param exactPayload The payload with its numbers as they were sent (D75). */
export function newTask(body: TaskBody, exactPayload: unknown, clock: Clock, random: Random): NewTask {
  const { task_id: ownId, ttl_seconds: ttlSeconds = null } = body
  const priority = body.priority ?? 0
  const submitted = clock.wallMs()
  return {
    id: ownId ?? timedUuid(submitted, random),
    ownId: typeof ownId === 'string',
    key: body.idempotency_key ?? null,
    tier: tierOf(priority),
    ttlMs: ttlSeconds === null ? null : ttlSeconds * 1_000,
    maxAttempts: body.max_attempts ?? null,
    submittedAtMs: submitted,
    body: `{"payload":${JSON.stringify(exactPayload)},"priority":${priority},"submitted_at":${submitted / 1_000}}`,
  }
}

/**
 * A UUID of version 7 (RFC 9562), as hex. It begins with the time in ms, so that tasks of the same moment share pages
 * of an index. With random ids, each task had to write its own page at submit and again at ack.
 */
function timedUuid(ms: number, random: Random): string {
  const drawn = random.uuid()
  const time = Math.floor(ms).toString(16).padStart(12, '0')
  return `${time}7${drawn.slice(15, 18)}${drawn.slice(19, 23)}${drawn.slice(24)}`
}

function tierOf(priority: number): Tier {
  if (priority > 0) return 0
  return priority === 0 ? 1 : 2
}

const isObject = (value: unknown): boolean => typeof value === 'object' && value !== null && !Array.isArray(value)
