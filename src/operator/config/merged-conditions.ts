/**
 * @module operator/config/merged-conditions
 * Converts computed conditions into the list of a status. Existing conditions keep their position and new ones are
 * appended, as server-side apply merges them. Otherwise the status would always differ from the written one and be
 * written again without end.
 */
import { CONTROL_RUNS } from '../../runtime/index.ts'
import { interned } from '../interned.ts'
import { MAX_MESSAGE_CHARS, type Condition, type ConditionStatus } from './schema.ts'

export interface ConditionState {
  readonly reason: string
  readonly message: string
  readonly status: ConditionStatus
}

export interface ConditionContext {
  readonly generation: number
  /** The time by the master's clock. */
  readonly nowMs: number
  /** Conditions of the current status. */
  readonly before: readonly Condition[]
}

/** @param found Types with their states; `undefined`: the condition is absent. */
export function mergedConditions(
  found: readonly (readonly [type: string, state: ConditionState | undefined])[],
  context: ConditionContext,
): readonly Condition[] {
  const existing = context.before.map(({ type }) => type)
  const place = ({ type }: Condition): number => (existing.includes(type) ? existing.indexOf(type) : existing.length)
  return found
    .flatMap(([type, state]) => (state === undefined ? [] : [conditionOf(type, state, context)]))
    .toSorted((a, b) => place(a) - place(b))
}

function conditionOf(
  type: string,
  { status, reason, message }: ConditionState,
  { before, generation, nowMs }: ConditionContext,
): Condition {
  const old = before.find((each) => each.type === type)
  const lastTransitionTime = old?.status === status ? old.lastTransitionTime : kubeTime(nowMs)
  return {
    type,
    status,
    observedGeneration: generation,
    lastTransitionTime,
    reason,
    message: cleanText(message, MAX_MESSAGE_CHARS),
  }
}

/** Cuts to at most `max` characters on one line; text that was cut ends in an ellipsis. */
export function cleanText(text: string, max: number): string {
  const cleaned = text.toWellFormed().replaceAll(CONTROL_RUNS, ' ').trim()
  if (cleaned.length <= max) return interned(cleaned)
  const characters = [...cleaned]
  return interned(characters.length <= max ? cleaned : `${characters.slice(0, max - 1).join('')}…`)
}

/** RFC 3339 in whole seconds, as metav1.Time. */
export const kubeTime = (ms: number): string => interned(new Date(ms).toISOString().replace(/\.\d+Z$/, 'Z'))
