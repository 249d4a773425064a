/**
 * @module master/masters
 * The masters that serve one store: says every 5 s that this one lives, and hears which others do. A master that the
 * store has not heard of for 15 s counts as gone; one that only could not reach the store may come back.
 */
import type { MasterDeps, Part } from './deps.ts'

/** Three missed ones, and the other masters take this one for gone. */
const BEAT_EVERY_MS = 5_000
/** By then the master that led before a new one came has heard of it. */
const LEADS_AFTER_MS = 2 * BEAT_EVERY_MS

/** The ids of all masters that live, this one included. */
type BeatListener = (alive: readonly string[]) => void

export interface Masters extends Part {
  /** Whether this master is the one to do what one master does for all. For a moment after a master came or went none may be. */
  leads(): boolean
  /** Calls `listener` after each beat. */
  onBeat(listener: BeatListener): void
}

export function createMasters({ backend, clock, timers, log, masterId, epoch }: MasterDeps): Masters {
  const listeners: BeatListener[] = []
  const bornMs = clock.monotonicMs()
  let alive: readonly string[] = []
  let failing = false
  const beat = async (): Promise<void> => {
    try {
      const [heard] = await Promise.all([backend.meta.beat(masterId), epoch.read()])
      alive = heard
      failing = false
    } catch (error) {
      if (!failing) log.warn('the store did not take the heartbeat of this master', { error })
      failing = true
      return
    }
    for (const listener of listeners) listener(alive)
  }
  let cancel = (): void => {}
  return {
    routes: [],
    start: async () => {
      cancel = timers.every(BEAT_EVERY_MS, () => void beat())
      await beat()
    },
    stop: () => cancel(),
    leads: () =>
      !failing &&
      alive.toSorted()[0] === masterId &&
      (alive.length === 1 || clock.monotonicMs() - bornMs >= LEADS_AFTER_MS),
    onBeat: (listener) => void listeners.push(listener),
  }
}
