/**
 * @module master/master-membership
 * Writes this master's heartbeat every 5 s and reads those of the other masters on the same store. A master without a
 * heartbeat for 15 s counts as stopped. It may come back, if it only could not reach the store.
 *
 * The master with the lowest id is the leader. Two masters never lead at the same time (D134): a master that started,
 * or whose heartbeat had expired, waits until the previous leader has read its heartbeat and stepped down; a leader
 * that was stalled steps down by its own clock, before another one takes over.
 *
 *   leader stalls          heartbeat expires     other leads            leader continues: heartbeat, no leader
 *   ───┬────────────────────────┬─────────────────────┬──────────────────────┬───────────────┬──────▶
 *      0 s                     15 s               15 to 20 s                 t             t + 10 s: leads again
 */
import type { Backend } from '../storage/index.ts'
import type { MasterDeps, Part } from './deps.ts'
import type { MasterReleases } from './master-releases.ts'
import { SharedJobs } from './shared-jobs.ts'

const BEAT_EVERY_MS = 5_000
/** After three missed heartbeats the other masters treat this one as stopped. */
const EXPIRES_AFTER_MS = 3 * BEAT_EVERY_MS
/** After this time the previous leader has read the heartbeat of a master that joined, and has stepped down. */
const LEADS_AFTER_MS = 2 * BEAT_EVERY_MS

/** @param alive The ids of all masters with a current heartbeat, including this one. */
type BeatListener = (alive: readonly string[]) => void

export interface MasterMembership extends Part {
  /**
   * Whether this master is the leader, which does the work that one master does for all.
   * Briefly after a change there may be no leader.
   */
  isLeader(): boolean
  /**
   * Whether this master does a job of the name, which two of the live masters do for all (D193). Also true while this
   * master does not know which ones are alive.
   */
  isMine(job: string): boolean
  /** Calls `listener` after each successful heartbeat. */
  onBeat(listener: BeatListener): void
}

interface MembershipDeps extends Pick<MasterDeps, 'clock' | 'timers' | 'log' | 'masterId' | 'epoch'> {
  readonly backend: Pick<Backend, 'meta'>
  /** Receives what the live masters implement. If left out, nothing is declared. */
  readonly releases?: MasterReleases
}

export function createMasterMembership(deps: MembershipDeps): MasterMembership {
  const { backend, clock, timers, log, masterId, epoch, releases } = deps
  const listeners: BeatListener[] = []
  let alive: readonly string[] = []
  const jobs = new SharedJobs(masterId)
  let failing = false
  /** When the newest successful heartbeat was sent, and when the first one after a start or an expiry was written. */
  let [beatMs, joinedMs] = [-Infinity, -Infinity]
  const isExpired = (): boolean => clock.monotonicMs() - beatMs >= EXPIRES_AFTER_MS
  const beat = async (): Promise<void> => {
    const sentMs = clock.monotonicMs()
    try {
      const [running] = await Promise.all([backend.meta.beat(masterId), epoch.read()])
      alive = running
      jobs.update(running)
      if (isExpired()) joinedMs = clock.monotonicMs()
      beatMs = sentMs
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
    isLeader: () => {
      if (failing || isExpired() || alive.toSorted()[0] !== masterId) return false
      return alive.length === 1 || clock.monotonicMs() - joinedMs >= LEADS_AFTER_MS
    },
    isMine: (job) => isExpired() || jobs.isMine(job),
    onBeat: (listener) => void listeners.push(listener),
  }
}
