/**
 * @module storage/list-cursor
 * Splits the cursors of lists of tasks (D116).
 */

const CURSOR = /^(-?\d{1,16}):(-?\d{1,16})$/

/**
 * Splits a cursor into the two numbers that a backend put into it.
 *
 * @param after `null` for the first page, which is `0:0`.
 * @throws {TypeError} if it has another form.
 */
export function listCursor(after: string | null): readonly [number, number] {
  const [, first, second] = CURSOR.exec(after ?? '0:0') ?? []
  if (first === undefined || second === undefined) throw new TypeError('after must be a cursor')
  return [Number(first), Number(second)]
}

/** Whether a text of a client has the form of a cursor. */
export const isListCursor = (text: string): boolean => CURSOR.test(text)
