/** @module runtime/after-turn  Runs a task after what this turn of the event loop has read. No time passes. */
export function afterTurn(task: () => void): void {
  setImmediate(task)
}
