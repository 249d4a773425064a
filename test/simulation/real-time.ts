/**
 * Forbids the real clock, real timers and real randomness while simulations run, since each of them would make a run
 * depend on the machine. `setImmediate` stays: virtual time uses it to let promises settle.
 */
const forbid = (name: string) => (): never => {
  throw new Error(`a simulation used ${name}; use the ports of src/runtime`)
}

/** Replaces the globals. @returns a function that restores them. */
export function forbidRealTime(): () => void {
  const RealDate = Date
  const originals = { setTimeout, setInterval, Date }
  const now = performance.now.bind(performance)
  const random = Math.random.bind(Math)
  class SimulatedDate extends RealDate {
    constructor(...args: readonly number[]) {
      if (args.length === 0) forbid('new Date()')()
      super(...(args as [number]))
    }
    static override now = forbid('Date.now')
  }
  Object.assign(globalThis, {
    setTimeout: forbid('setTimeout'),
    setInterval: forbid('setInterval'),
    Date: SimulatedDate,
  })
  Math.random = forbid('Math.random')
  performance.now = forbid('performance.now')
  return () => {
    Object.assign(globalThis, originals)
    Math.random = random
    performance.now = now
  }
}
