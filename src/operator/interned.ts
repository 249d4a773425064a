/**
 * @module operator/interned
 * Interns strings that thousands of objects share. Each is stored once and flattened, because a concatenated string
 * retains its parts. The pool is cleared when it exceeds its limit.
 */
const MAX_TEXTS = 4_096
const texts = new Map<string, string>()

export function interned(text: string): string {
  const known = texts.get(text)
  if (known !== undefined) return known
  if (texts.size >= MAX_TEXTS) texts.clear()
  texts.set(text, text)
  return text
}
