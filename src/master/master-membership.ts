/**
 * @module master/master-membership
 * Writes this master's heartbeat every 5 s and reads those of the other masters on the same store. A master without a
 * heartbeat for 15 s counts as stopped. It may come back, if it only could not reach the store.
 */
import type { MasterDeps, Part } from './deps.ts'
import type { MasterReleases } from './master-releases.ts'

/** After three missed heartbeats the other masters treat this one as stopped. */
const BEAT_EVERY_MS = 5_000
/** After this time the previous leader has read the heartbeat of a new master, and has stepped down. */
const LEADS_AFTER_MS = 2 * BEAT_EVERY_MS

/** @param alive The ids of all masters with a current heartbeat, including this one. */
type BeatListener = (alive: readonly string[]) => void

export interface MasterMembership extends Part {
  /**
   * Whether this master is the leader, which does the work that one master does for all.
   * Briefly after a change there may be no leader.
   */
  isLeader(): boolean
  /** Calls `listener` after each successful heartbeat. */
  onBeat(listener: BeatListener): void
}

interface MembershipDeps extends MasterDeps {
  /** Receives what the live masters implement. If left out, nothing is declared. */
  readonly releases?: MasterReleases
}

export function createMasterMembership(deps: MembershipDeps): MasterMembership {
  const { backend, clock, timers, log, masterId, epoch, releases } = deps
  const listeners: BeatListener[] = []
  const bornMs = clock.monotonicMs()
  let alive: readonly string[] = []
  let failing = false
  const beat = async (): Promise<void> => {
    try {
      const [running] = await Promise.all([backend.meta.beat(masterId), epoch.read()])
      alive = running
      releases?.update(await backend.meta.declare(masterId, releases.text))
      failing = false
    } catch (error) {
      if (!failing) log.warn('failed to write the heartbeat of this master', { error })
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
    isLeader: () =>
      !failing &&
      alive.toSorted()[0] === masterId &&
      (alive.length === 1 || clock.monotonicMs() - bornMs >= LEADS_AFTER_MS),
    onBeat: (listener) => void listeners.push(listener),
  }
}
