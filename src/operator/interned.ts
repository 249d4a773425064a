/**
 * @module operator/interned
 * Text that ten thousand objects say alike is kept once, and flat: a text that was put together holds on to its parts.
 * What is said seldom is not worth the room, and all is forgotten when there is too much of it.
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
