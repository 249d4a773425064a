/**
 * @module client/published/task-failed
 * The error of a task that has no result: it died, expired, is unknown, or its result was too large to be kept.
 */
/** What is known of a task without a result. */
export interface TaskFailedFacts {
  readonly taskId: string
  readonly place: TaskFailed['place']
  readonly attempts: number
  readonly lastError: string | null
}

/** A task without a result. Calls that wait for one reject with it. */
export class TaskFailed extends Error {
  override readonly name = 'TaskFailed'
  declare readonly taskId: string
  /**
   * `dead`: it is in the dead letters. `expired`: its time to live ended before a worker reserved it. `cancelled`: a
   * caller cancelled it. `unknown`: it was never submitted, or ended without a retained outcome. `done`: its result was
   * too large.
   */
  declare readonly place: 'dead' | 'expired' | 'cancelled' | 'unknown' | 'done'
  /** Number of failed runs. */
  declare readonly attempts: number
  /** The error of the last run of a dead task. */
  declare readonly lastError: string | null

  /**
   * Creates the error of one task.
   * @param message One sentence for people.
   * @param facts What is known of the task.
   */
  constructor(message: string, facts: TaskFailedFacts) {
    super(message)
    Object.assign(this, facts)
  }
}
