/**
 * @module automation/outcome
 * Converts the error of a run into an outcome. A plugin may throw any value, so each property is read defensively.
 * RetryIn and Permanent are recognised by name, because a plugin may have loaded another copy of this package.
 */
import { MAX_ERROR_CHARS, MAX_RETRY_IN_MS, toMs } from '../protocol/index.ts'
import { truncateError } from '../runtime/index.ts'
import type { Masker } from './mask.ts'

/** A failed run. `text` and `stack` contain no secrets; `text` has at most 4,096 characters. */
export interface Failure {
  /** Class of the error; 'Error' if it has none. */
  readonly name: string
  readonly text: string
  readonly stack: string | undefined
  readonly settle: { readonly retryInMs?: number; readonly permanent?: true }
}

/**
 * Describes what `run` threw.
 * @param thrown Any value.
 * @param masker Masks the secrets of the config of the run.
 */
export function failureOf(thrown: unknown, masker: Masker): Failure {
  const { name, message, stack, seconds } = readable(thrown)
  const text = truncateError(masker.text(message === '' ? name : message), MAX_ERROR_CHARS)
  return {
    name: name === '' ? 'Error' : name,
    text,
    stack: stack === undefined ? undefined : masker.text(stack),
    settle: settleOf(name, seconds),
  }
}

/** Converts the failure into an Error, which a span can record. */
export function toError({ name, text, stack }: Failure): Error {
  const error = Object.assign(new Error(text), { name })
  if (stack !== undefined) error.stack = stack
  return error
}

function settleOf(name: string, seconds: unknown): Failure['settle'] {
  if (name === 'Permanent') return { permanent: true }
  if (name !== 'RetryIn' || typeof seconds !== 'number' || !(seconds >= 0)) return {}
  return { retryInMs: Math.min(toMs(seconds), MAX_RETRY_IN_MS) }
}

interface Readable {
  readonly name: string
  readonly message: string
  readonly stack?: string | undefined
  readonly seconds?: unknown
}

function readable(thrown: unknown): Readable {
  try {
    if (typeof thrown !== 'object' || thrown === null || !('message' in thrown))
      return { name: '', message: `threw ${shown(thrown)}` }
    const { name, message, stack, seconds } = thrown as Record<string, unknown>
    return {
      name: typeof name === 'string' ? name : 'Error',
      message: String(message),
      stack: typeof stack === 'string' ? stack : undefined,
      seconds,
    }
  } catch {
    return { name: '', message: 'threw something that cannot be read' } // A getter or toString that throws.
  }
}

const shown = (thrown: unknown): string =>
  typeof thrown === 'object' && thrown !== null ? (JSON.stringify(thrown) ?? 'an object') : String(thrown)
