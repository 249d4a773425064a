/**
 * @module storage/redis/meta
 * The store as a whole, under `{m}`:
 *
 *   info  HASH  epoch, run (the life of the store it was last seen with), nodes (the run ids of its servers), schema,
 *               migrated, needs (what the data needs beside the layout, D121)
 *   live  ZSET  masters by their last beat
 *   masters  HASH  what each master implements, as it declares it (D120)
 *   shard ZSET  those of them that subscribe to sharded channels of a Cluster, by their last beat (D92)
 *   wakes ZSET  those of them that register for wake-ups (D253)
 *
 * A life of the store ends when a server that it knew is missing or has another run id: it was restarted, or a replica
 * took over. A Cluster that only gained a server stays in its life, since slots move without loss (D94). Where such a
 * restart may have lost something, the next life gets another epoch in the same step that notes it, so that one of
 * several masters does it, once (D15, D46).
 *
 * `schema` is the highest layout that any key may have. It rises before the first step of a migration and `migrated`
 * rises after the last one, so an older release is refused from the first step on and a migration that was cut off is
 * repeated (D91).
 */
import { FleetError } from '../../protocol/index.ts'
import { checkNeeds, layoutOf, NEEDS_MARK, type Meta } from '../index.ts'
import type { Caller, Reply } from './caller.ts'
import { metaKey } from './keys.ts'
import { script } from './script.ts'

/**
 * Leads the store from one layout of its keys to the next. It may be cut off and repeated, it may run in several
 * masters simultaneously, and masters that already use the next layout may be serving.
 */
export type Migration = (run: Caller['run']) => Promise<void>

/**
 * Element n leads from layout n to n + 1. Layout 1 is that of an empty store. Their number is the layout this release
 * uses.
 */
export const MIGRATIONS: readonly Migration[] = [() => Promise.resolve()]

const INFO_KEY = metaKey('info')
const LIVE_KEY = metaKey('live')
const MASTERS_KEY = metaKey('masters')
const SHARD_KEY = metaKey('shard')
const WAKES_KEY = metaKey('wakes')

const ADMIT = script('meta.admit')
const INFO = script('meta.info')
const BEAT = script('meta.beat')
const DECLARE = script('meta.declare')
const LIVE = script('meta.live')
const LEAVE = script('meta.leave')

export interface StoreMeta extends Meta {
  /** Ids of the masters that live. */
  live(): Promise<readonly string[]>
  /** Whether every master that lived at the last beat subscribes to sharded channels. False before the first beat. */
  readonly isSharded: () => boolean
  /**
   * Whether every master that lived at the last beat registers for wake-ups, and none has joined since. False before
   * the first beat.
   */
  readonly isRegistering: () => boolean
  /**
   * Whether no other master lived at the last beat, and none has joined since. False before the first beat. A master
   * that has just joined may be missed for a moment.
   */
  readonly isAlone: () => boolean
  /** Records that another master may have joined. The next beat shows whether one has. */
  mayHaveCompany(): void
  /** Takes out the masters that beat through this backend. */
  leave(): Promise<void>
}

/**
 * @param readmit checks the store as a whole again: it gives an emptied store an epoch, and stops using one of a newer
 *   release.
 * @param layout the layout that this release uses.
 */
export function createMeta(caller: Caller, readmit: () => Promise<void>, layout: number): StoreMeta {
  const ours = new Set<string>()
  let [sharded, registering, alone, joined] = [false, false, false, 0]
  const read = async (): Promise<readonly (Reply | undefined)[]> =>
    listOf(await caller.run(INFO, [INFO_KEY], [], { repeatable: true }))
  return {
    async info() {
      let [epoch, stored, nowMs, needs] = await read()
      if (epoch === null) {
        await readmit()
        ;[epoch, stored, nowMs, needs] = await read()
      }
      const schema = layoutOf(Number(stored))
      try {
        checkStore(schema, layout, needs)
      } catch (error) {
        await readmit()
        throw error
      }
      return { epoch: String(epoch), schema, nowMs: Number(nowMs) }
    },
    async beat(masterId) {
      ours.add(masterId)
      const before = joined
      const keys = [LIVE_KEY, SHARD_KEY, WAKES_KEY]
      const args = [masterId, caller.channel('join')]
      const [alive, areSharded, areRegistering] = listOf(await caller.run(BEAT, keys, args, { repeatable: true }))
      sharded = areSharded === 1
      registering = areRegistering === 1 && joined === before
      const ids = listOf(alive ?? null).map(String)
      alone = ids.length === 1 && joined === before
      return ids
    },
    async declare(masterId, text) {
      const args = [masterId, text]
      const offers = listOf(await caller.run(DECLARE, [LIVE_KEY, MASTERS_KEY], args, { repeatable: true }))
      return offers.map((offer) => (typeof offer === 'string' ? offer : null))
    },
    live: async () => listOf(await caller.run(LIVE, [LIVE_KEY], [], { repeatable: true })).map(String),
    isSharded: () => sharded,
    isRegistering: () => registering,
    isAlone: () => alone,
    mayHaveCompany() {
      alone = false
      registering = false
      joined += 1
    },
    async leave() {
      if (ours.size === 0) return
      await caller.run(LEAVE, [LIVE_KEY, SHARD_KEY, WAKES_KEY], [...ours])
      ours.clear()
    },
  }
}

export interface Admission {
  /** One for all servers, for a store whose servers are not recorded yet. */
  readonly runId: string
  /** The run id of each server. */
  readonly nodes: readonly string[]
  readonly survivesRestart: boolean
  readonly freshEpoch: string
  readonly migrations: readonly Migration[]
}

/**
 * Notes the life of the store and brings its layout to that of this release, before any other call is sent.
 * @returns `life` names this life of the store; whether the epoch is a new one.
 * @throws {FleetError} STORAGE_SCHEMA when a newer release has written the store; what a migration throws.
 */
export async function admitStore(
  run: Caller['run'],
  { runId, nodes, survivesRestart, freshEpoch, migrations }: Admission,
): Promise<{ readonly epoch: string; readonly life: string; readonly isNew: boolean }> {
  const layout = migrations.length
  const admit = async (isMigrated: boolean): Promise<readonly Reply[]> => {
    const args = [runId, survivesRestart ? 1 : 0, freshEpoch, layout, isMigrated ? 1 : 0, NEEDS_MARK, ...nodes]
    return listOf(await run(ADMIT, [INFO_KEY], args))
  }
  let [kind, value, life, needs] = await admit(false)
  if (kind === 'migrate') {
    for (const migrate of migrations.slice(Number(value))) await migrate(run)
    ;[kind, value, life, needs] = await admit(true)
  }
  checkStore(kind === 'newer' ? Number(value) : layout, layout, needs)
  return { epoch: String(value), life: String(life), isNew: kind === 'new' }
}

/** @throws {FleetError} STORAGE_SCHEMA for a layout or a need that this release does not know. */
function checkStore(stored: number, layout: number, needs: Reply | undefined): void {
  if (stored > layout)
    throw new FleetError(
      'STORAGE_SCHEMA',
      `the store was written by a newer release (layout ${stored}, this one knows ${layout}); upgrade this program`,
    )
  checkNeeds(typeof needs === 'string' ? needs : '', 'the store')
}

const listOf = (reply: Reply): readonly Reply[] => (Array.isArray(reply) ? (reply as readonly Reply[]) : [])
