/**
 * @module runtime/backoff/ports
 * The clock, timers and randomness that this folder needs, in the shape of `Clock`, `Timers` and `Random` of the
 * runtime. They are declared here because the dashboard uses this folder in the browser and may not load the rest of
 * the runtime.
 */
export interface MonotonicClock {
  monotonicMs(): number
}
export interface OneShotTimers {
  after(ms: number, task: () => void): () => void
}
/** `unit` returns a number in [0, 1). */
export interface UnitRandom {
  unit(): number
}
