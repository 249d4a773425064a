/** @module automation/progress  Checks the progress that a run reports (D114). */
import { MAX_PROGRESS_BYTES } from '../protocol/index.ts'

/**
 * @returns the progress as JSON.
 * @throws {TypeError} when JSON cannot contain it.
 * @throws {RangeError} when it has more than 1 KiB.
 */
export function progressText(progress: unknown): string {
  const text = JSON.stringify(progress) as string | undefined
  if (text === undefined) throw new TypeError('task.progress: the value must be JSON; undefined is not')
  const bytes = Buffer.byteLength(text)
  if (bytes <= MAX_PROGRESS_BYTES) return text
  throw new RangeError(`task.progress: the value has ${bytes} bytes of JSON; at most ${MAX_PROGRESS_BYTES} are allowed`)
}
