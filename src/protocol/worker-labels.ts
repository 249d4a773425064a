/**
 * @module protocol/worker-labels
 * Defines the labels of a worker (D136): a few `key=value` pairs that say what a worker is for, such as `zone=eu-1`.
 * The worker sends them when it registers. They select workers; they are no security boundary, since a worker token
 * speaks for any worker.
 */
import { Type, type Static } from 'typebox'
import { MAX_LABELS_PER_WORKER, MAX_WORKER_LABEL_CHARS } from './limits.ts'
import { WORKER_LABEL_KEY_PATTERN, WORKER_LABEL_VALUE_PATTERN } from './names.ts'

/** The labels of a worker. */
export const WorkerLabels = Type.Record(
  Type.String({ pattern: WORKER_LABEL_KEY_PATTERN }),
  Type.String({ maxLength: MAX_WORKER_LABEL_CHARS, pattern: WORKER_LABEL_VALUE_PATTERN }),
  { maxProperties: MAX_LABELS_PER_WORKER, additionalProperties: false },
)
export type WorkerLabels = Static<typeof WorkerLabels>

const KEY = new RegExp(WORKER_LABEL_KEY_PATTERN)
const VALUE = new RegExp(WORKER_LABEL_VALUE_PATTERN)
const EXAMPLE = 'for example zone=eu-1,tier=spot'

/**
 * Parses `zone=eu-1,tier=spot`. Spaces around a pair are ignored; a value may be empty and may contain `=`.
 *
 * @param text Comma-separated pairs; an empty text has none.
 * @returns the labels.
 * @throws {Error} that names the pair at fault and how to write it.
 */
export function parseWorkerLabels(text: string): WorkerLabels {
  const pairs = text.split(',').map((pair) => pair.trim())
  const labels = new Map<string, string>()
  for (const pair of pairs.length === 1 && pairs[0] === '' ? [] : pairs) {
    const [key, value] = readPair(pair)
    if (labels.has(key)) throw new Error(`has the key of ${JSON.stringify(pair)} twice; name each key once`)
    labels.set(key, value)
  }
  if (labels.size > MAX_LABELS_PER_WORKER)
    throw new Error(`has ${labels.size} labels; at most ${MAX_LABELS_PER_WORKER} are possible`)
  return Object.fromEntries(labels)
}

function readPair(pair: string): readonly [string, string] {
  const quoted = JSON.stringify(pair)
  const equals = pair.indexOf('=')
  if (equals === -1) throw new Error(`${quoted} is not KEY=VALUE; ${EXAMPLE}`)
  const [key, value] = [pair.slice(0, equals), pair.slice(equals + 1)]
  if (!KEY.test(key))
    throw new Error(
      `${quoted} has an invalid key: use 1 to ${MAX_WORKER_LABEL_CHARS} lower-case letters, digits, ".", "/" and ` +
        `"-", with a letter or digit at both ends; ${EXAMPLE}`,
    )
  if (value.length > MAX_WORKER_LABEL_CHARS || !VALUE.test(value))
    throw new Error(`${quoted} has an invalid value: use at most ${MAX_WORKER_LABEL_CHARS} printable ASCII characters`)
  return [key, value]
}
