/**
 * @module storage/redis/workers
 * The `workers` of the contract: who registered, on which connection, in which state, draining or not. How it lies in
 * Redis is defined in workers-layout.ts.
 *
 * Register, beat and disconnect of one type run one after the other, since the first two may be sent twice and a late
 * repeat must not undo what came after. Which masters live stands under another hash tag: a script cannot read it, so
 * rows are joined with it here, and `drain` brings it along.
 */
import { FleetError, MAX_ANSWER_BYTES, STATS_FRAMES } from '../../protocol/index.ts'
import {
  ringFrame,
  type WorkerReport,
  type ReportResult,
  type Conn,
  type Ref,
  type RegisterResult,
  type Registration,
  type WorkerRow,
  type Workers,
} from '../index.ts'
import type { Caller, Reply } from './caller.ts'
import type { Script } from './script.ts'
import { KeyedMutex } from './keyed-mutex.ts'
import { BEAT, BEAT_IN_FULL_STORE } from './workers-beat-script.ts'
import { inBatches } from './workers-batches.ts'
import {
  escaped,
  historyKey,
  registryKeys,
  reportedOf,
  reportOf,
  ringKey,
  workerRow,
  type StoredWorker,
} from './workers-layout.ts'
import { DISCONNECT, FORGET, REGISTER } from './workers-register-script.ts'
import { DRAIN, GET, MANAGE, PAGE } from './workers-scripts.ts'

/** Per type. Tests may lower them. */
export interface RegistryLimits {
  readonly records: number
  readonly forgotten: number
}
const LIMITS: RegistryLimits = { records: 50_000, forgotten: 1_000_000 }

/** The masters seen within 15 seconds, as `meta` knows them. */
type LiveMasters = () => Promise<readonly string[]>

const nameChars = ({ id }: Ref): number => id.length
const registrationChars = ({ hardware, defaults }: Registration): number => hardware.length + defaults.length
const beatChars = ({ stats = [] }: WorkerReport): number => stats.reduce((sum, frame) => sum + frame.length, 0)

/** `conn` is "<masterId>/<n>". */
const isHeldBy =
  (masters: readonly string[]) =>
  (conn: string): boolean =>
    masters.includes(conn.slice(0, Math.max(0, conn.lastIndexOf('/'))))

export function createWorkers(caller: Caller, liveMasters: LiveMasters, limits: RegistryLimits = LIMITS): Workers {
  const turns = new KeyedMutex()
  /** Runs one script on a type's registry that returns a list. */
  const run = async <A>(
    script: Script,
    type: string,
    args: readonly (string | number)[],
    repeatable = false,
    keys: readonly string[] = [],
  ): Promise<readonly A[]> =>
    (await caller.run(script, [...registryKeys(type), ...keys], args, {
      repeatable,
    })) as readonly Reply[] as readonly A[]
  const inTurn = <T extends Ref, A>(
    items: readonly T[],
    charsOf: (item: T) => number,
    call: (type: string, part: readonly T[]) => Promise<readonly A[]>,
  ): Promise<readonly A[]> => inBatches(items, charsOf, (type, part) => turns.run(type, () => call(type, part)))

  return {
    register: (items) =>
      inTurn(items, registrationChars, async (type, part) => {
        const args = part.flatMap(({ id, conn, instance, hardware, defaults }) => [
          id,
          conn,
          escaped(instance),
          hardware,
          defaults,
        ])
        return (await run<RegisterReply>(REGISTER, type, [limits.records, ...args], true)).map(registered)
      }),
    beat: (items) =>
      inTurn(items, beatChars, async (type, part) => {
        try {
          return await beat(caller, BEAT, type, part, STATS_FRAMES)
        } catch (error) {
          if (!(error instanceof FleetError && error.code === 'STORAGE_FULL')) throw error
          return beat(caller, BEAT_IN_FULL_STORE, type, part, 1)
        }
      }),
    disconnect: async (items) => {
      await inTurn<Conn, never>(items, nameChars, async (type, part) => {
        await caller.run(
          DISCONNECT,
          registryKeys(type),
          part.flatMap(({ id, conn }) => [id, conn]),
          { repeatable: true },
        )
        return []
      })
    },
    drain: async (refs) => {
      const masters = await liveMasters()
      const drained = await inBatches(refs, nameChars, (type, part) =>
        run<readonly [string | null] | null>(DRAIN, type, [masters.length, ...masters, ...part.map(({ id }) => id)]),
      )
      return drained.map((answer) => (answer === null ? 'not_found' : { conn: answer[0] }))
    },
    manage: async (items) => {
      const managed = await inBatches(items, nameChars, (type, part) =>
        run<number>(
          MANAGE,
          type,
          part.flatMap(({ id, managedBy }) => [id, managedBy ?? '']),
        ),
      )
      return managed.map((answer) => (answer === 1 ? 'ok' : 'not_found'))
    },
    forget: async (refs) => {
      const forgotten = await inBatches(refs, nameChars, (type, part) => {
        const lists = part.flatMap(({ id }) => [ringKey(type, id), historyKey(type, id)])
        return run<number>(FORGET, type, [limits.forgotten, ...part.map(({ id }) => id)], false, lists)
      })
      return forgotten.map((answer) => answer === 1)
    },
    get: async (refs) => {
      const reading = inBatches(refs, nameChars, async (type, part) =>
        storedWorkers(
          (await run(
            GET,
            type,
            part.map(({ id }) => id),
            true,
          )) as RowsReply,
        ),
      )
      const [stored, masters] = await Promise.all([reading, liveMasters()])
      return refs.map(({ type, id }, i) => rowOf(type, id, stored[i], masters))
    },
    page: async (type, after, limit, bytes = MAX_ANSWER_BYTES) => {
      const [reply, masters] = await Promise.all([
        run(PAGE, type, [after === null ? '-' : `(${after}`, limit, bytes], true),
        liveMasters(),
      ])
      const [ids] = reply as RowsReply
      return storedWorkers(reply as RowsReply)
        .map((stored, i) => rowOf(type, ids[i] ?? '', stored, masters))
        .filter((row) => row !== null)
    },
  }
}

type RegisterReply = readonly [before: string | null, drain: number, replaced: string | null, gen: string] | null

function registered(answer: RegisterReply): RegisterResult {
  if (answer === null) return 'full'
  const [before, drain, replaced, gen] = answer
  return { previous: before === null ? null : reportedOf(before), drain: drain === 1, replaced, gen: Number(gen) }
}

async function beat(
  caller: Caller,
  script: Script,
  type: string,
  part: readonly WorkerReport[],
  ringFrames: number,
): Promise<readonly ReportResult[]> {
  const rings: string[] = []
  const args: (string | number)[] = [ringFrames]
  let repeatable = true
  for (const { id, conn, state, stats = [] } of part) {
    const [newest = ''] = stats.slice(-1)
    const frames = stats.slice(-ringFrames).map(ringFrame)
    args.push(
      id,
      conn,
      state?.state ?? '',
      state === undefined ? '' : reportOf(state),
      frames.length,
      newest === frames.at(-1) ? '' : newest,
      ...frames,
    )
    if (frames.length === 0) continue
    rings.push(ringKey(type, id))
    repeatable = false // A frame would be kept twice.
  }
  const results = (await caller.run(script, [...registryKeys(type), ...rings], args, {
    repeatable,
  })) as readonly (readonly [ReportResult['status'], string])[]
  return results.map(([status, gen]) => ({ status, gen: Number(gen) }))
}

type Column = readonly (string | null)[]
type RowsReply = readonly [ids: readonly string[], ...fields: Column[]]

function storedWorkers([
  ids,
  g = [],
  cfg = [],
  desc = [],
  st = [],
  sn = [],
  conn = [],
  dr = [],
  mb = [],
  cs = [],
]: RowsReply): readonly StoredWorker[] {
  const at = (column: Column, i: number): string | null => column[i] ?? null
  return ids.map((_, i) => ({
    g: at(g, i),
    cfg: at(cfg, i),
    desc: at(desc, i),
    st: at(st, i),
    sn: at(sn, i),
    conn: at(conn, i),
    dr: at(dr, i),
    mb: at(mb, i),
    cs: at(cs, i),
  }))
}

const rowOf = (
  type: string,
  id: string,
  stored: StoredWorker | undefined,
  masters: readonly string[],
): WorkerRow | null => (stored === undefined ? null : workerRow(type, id, stored, isHeldBy(masters)))
