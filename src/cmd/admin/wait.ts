/** @module cmd/admin/wait  `--wait`: asks until something is so, and fails with exit code 6 when it takes too long. */
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
        `after ${withinMs / 1_000} s it is not so that ${what}`,
        'the request was accepted and stays in force',
        'wait longer with --timeout SECONDS',
      )
    await time.sleep(LOOK_EVERY_MS)
  }
}
