/** @module cmd/admin/wait  `--wait`: polls until a condition is met, and fails with exit code 6 on a timeout. */
import type { Time } from '../../runtime/index.ts'
import { EXIT, Failure } from './verb.ts'

const LOOK_EVERY_MS = 250

export async function waitUntil(
  what: string,
  withinMs: number,
  time: Time,
  holds: () => Promise<boolean>,
): Promise<void> {
  const endsAtMs = time.monotonicMs() + withinMs
  while (!(await holds())) {
    if (time.monotonicMs() >= endsAtMs)
      throw new Failure(
        EXIT.TIMEOUT,
        `timed out after ${withinMs / 1_000} s waiting for ${what}`,
        'the master accepted the request, but it has not taken effect yet',
        'wait longer with --timeout SECONDS; the request stays in effect',
      )
    await time.sleep(LOOK_EVERY_MS)
  }
}
