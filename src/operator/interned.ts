/**
 * @module operator/interned
 * Interns strings that thousands of objects share. Each is stored once and flattened, because a concatenated string
 * retains its parts. Beyond the limit of the pool, the text that was added first is removed.
 */
import { BoundedMap } from '../runtime/index.ts'

const MAX_TEXTS = 4_096
const texts = new BoundedMap<string, string>(MAX_TEXTS)

export function interned(text: string): string {
  const known = texts.get(text)
  if (known !== undefined) return known
  texts.set(text, text)
  return text
}
