/** @module cmd/admin/task-end  Waits for the end of a task, and prints its result (D110, D111). */
import type { TaskPlace } from '../../protocol/index.ts'
import { systemTime } from '../../runtime/index.ts'
import { EXIT, Failure, type Invocation } from './verb.ts'

/** The longest wait of one request. */
const WAIT_SECONDS = 20
/** The last request returns immediately. */
const LAST_SECONDS = 0.5

const STATE_EXITS: Readonly<Record<string, number>> = {
  done: EXIT.OK,
  dead: EXIT.FAILED,
  expired: EXIT.FAILED,
  cancelled: EXIT.FAILED,
}

/**
 * Prints the result of a task that is done, otherwise what became of it.
 *
 * @returns the exit code: 0 if it is done, 1 if it is dead, expired or cancelled.
 * @throws {Failure} with exit code 6 if the time is over, 3 if the task is unknown.
 */
export async function printEnd(
  { client, printer, timeoutMs }: Pick<Invocation, 'client' | 'printer' | 'timeoutMs'>,
  type: string,
  id: string,
): Promise<number> {
  const endsAtMs = systemTime.monotonicMs() + timeoutMs
  for (;;) {
    const leftSeconds = (endsAtMs - systemTime.monotonicMs()) / 1_000
    // A request has the same timeout as the verb, so the master responds before it.
    const waitSeconds = Math.min(WAIT_SECONDS, Math.max(0, leftSeconds - LAST_SECONDS))
    const { body } = await client.tasks.get(type, id, { waitSeconds })
    const exit = STATE_EXITS[body.place]
    if (exit === undefined && waitSeconds > 0) continue
    await printer.value(body, () => `${stateText(body)}\n`, [id])
    if (exit === undefined)
      throw new Failure(
        EXIT.TIMEOUT,
        `task "${id}" has not finished`,
        `it is ${body.place}`,
        'wait longer with --timeout',
      )
    return exit
  }
}

/** The result of a task that is done, otherwise what became of it. */
function stateText({ place, result, result_omitted: omitted, error, actor }: TaskPlace): string {
  if (place === 'done') return omitted === undefined ? JSON.stringify(result) : 'the result was too large to be kept'
  if (place === 'cancelled') return `cancelled by ${actor}`
  return error === undefined || error === null ? place : `${place}: ${error}`
}
