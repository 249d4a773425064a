/** @module master/queue/run-history  Writes what is known of the runs of a task as JSON (D114, D115). */
import { toSeconds } from '../../protocol/index.ts'
import type { FailedAttempt, TaskHistory } from '../../storage/index.ts'

/** @returns the fields with a comma before each; '' if there are none. */
export function historyText({ attempts, progress }: TaskHistory): string {
  const failed = attempts === undefined ? '' : `,"attempts":[${attempts.map(attemptText).join(',')}]`
  if (progress === undefined) return failed
  return `${failed},"progress":${progress.text},"progress_at":${toSeconds(progress.atMs)}`
}

function attemptText({ kind, attempt, atMs, error, worker }: FailedAttempt): string {
  const head = `"attempt":${attempt},"at":${toSeconds(atMs)},"kind":"${kind}"`
  return `{${head},"error":${JSON.stringify(error)},"worker_id":${JSON.stringify(worker)}}`
}
