/**
 * @module master/queue/body-text
 * Writes the text that the store keeps of a task, with its fields in the order that the contract demands (NewTask), and
 * reads its group.
 */
import { withRetryDefaults, type TaskBody } from '../../protocol/index.ts'
import type { TraceHeaders } from '../../runtime/index.ts'

/** What the text has beside the fields of the body. */
export interface TextParts {
  /** The payload with its numbers as they were sent (D75). */
  readonly exactPayload: unknown
  /** The trace of the request, for a task without its own. */
  readonly trace: TraceHeaders | undefined
  readonly retainMs: number
  readonly notBeforeMs: number | undefined
  readonly priority: number
  readonly submittedAtMs: number
}

export function bodyText(
  body: TaskBody,
  { exactPayload, trace, retainMs, notBeforeMs, priority, submittedAtMs }: TextParts,
): string {
  const retain = retainMs === 0 ? '' : `"retain_seconds":${retainMs / 1_000},`
  const names = fieldText('unique_key', body.unique_key) + fieldText('group_key', body.group_key)
  const delay = notBeforeMs === undefined ? '' : `"not_before":${notBeforeMs / 1_000},`
  return (
    `{${retain}${names}${extrasText(body, trace)}"payload":${JSON.stringify(exactPayload)},"priority":${priority},` +
    `${delay}"submitted_at":${submittedAtMs / 1_000}}`
  )
}

/** Writes the fields that the store returns and never uses for a decision (D113). Most tasks have none. */
function extrasText({ labels, retry, traceparent, tracestate }: TaskBody, trace: TraceHeaders | undefined): string {
  const own = typeof traceparent === 'string' ? { traceparent, tracestate } : trace
  let text =
    own === undefined ? '' : fieldText('traceparent', own.traceparent) + fieldText('tracestate', own.tracestate)
  if (typeof retry === 'object' && retry !== null) text = fieldText('retry', withRetryDefaults(retry)) + text
  return fieldText('labels', labels) + text
}

const fieldText = (name: string, value: unknown): string =>
  value === undefined || value === null ? '' : `"${name}":${JSON.stringify(value)},`

/** A JSON string. */
const STRING = String.raw`"(?:[^"\\]|\\.)*"`
const GROUP_KEY = new RegExp(`^\\{(?:"retain_seconds":[^,]+,)?(?:"unique_key":${STRING},)?"group_key":(${STRING}),`)

/** Reads the group of a task from the head of its text; null if it has none. The payload is not parsed. */
export function groupKeyIn(text: string): string | null {
  const [, group] = GROUP_KEY.exec(text) ?? []
  return group === undefined ? null : (JSON.parse(group) as string)
}
