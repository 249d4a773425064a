/** Waits for what happens in a socket, a store or another process, where there is no event to await. */
import { setTimeout as sleep } from 'node:timers/promises'

const WITHIN_MS = 20_000
const EVERY_MS = 10

interface EventuallyOptions {
  /** The condition in words, for the error. Default: its source. */
  readonly what?: string
  readonly withinMs?: number
  /** Returns what helps to understand a timeout, for example the output of a process. */
  readonly context?: () => string
}

/**
 * Polls until `holds` returns true.
 *
 * @throws {Error} after `withinMs`, with `what` and `context`. An error of `holds` is passed on.
 */
export async function eventually(
  holds: () => boolean | Promise<boolean>,
  { what = holds.toString(), withinMs = WITHIN_MS, context = () => '' }: EventuallyOptions = {},
): Promise<void> {
  const deadlineMs = performance.now() + withinMs
  while (!(await holds())) {
    if (performance.now() > deadlineMs)
      throw new Error(`timed out after ${withinMs / 1_000} s, waiting until ${what}\n${context()}`)
    await sleep(EVERY_MS)
  }
}
