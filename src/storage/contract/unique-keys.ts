/**
 * @module storage/contract/unique-keys
 * Defines the unique keys of tasks: at most one task with a key waits.
 */

/**
 * The unique key of a task (D118). It names the last task that was queued with it, until that task is not stored any
 * more. The key conflicts while that task is pending or scheduled, and with `until` `finished` also while it is in
 * flight. A dead task does not conflict, a replayed one does.
 */
export interface UniqueKey {
  /** 1 to 256 characters. */
  readonly key: string
  readonly until: 'started' | 'finished'
  /**
   * What a submit does at a conflict. `keep`: it is a duplicate. `replace`: it cancels the other task and queues its
   * own, unless the other one is in flight; then it is a duplicate.
   */
  readonly onConflict: 'keep' | 'replace'
}
