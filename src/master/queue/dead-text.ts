/** @module master/queue/dead-text  Writes a dead task as the API returns it, with the stored text of its body. */
import type { DeadRow } from '../../storage/index.ts'
import { historyText } from './run-history.ts'

export function deadText({ id, attempt, maxAttempts, lastError, diedAtMs: diedAt, body, ...history }: DeadRow): string {
  const attempts = `"attempt":${attempt},"max_attempts":${maxAttempts}`
  const death = `"last_error":${JSON.stringify(lastError)},"died_at":${diedAt / 1_000}`
  return `{"id":${JSON.stringify(id)},${attempts},${death}${historyText(history)},${body.slice(1)}`
}
