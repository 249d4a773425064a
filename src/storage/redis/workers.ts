/**
 * @module storage/redis/workers
 * The `workers` of the contract: who registered, on which connection, in which state, draining or not. How it lies in
 * Redis is defined in workers-layout.ts.
 *
 * Register, beat and disconnect of one type run one after the other, since the first two may be sent twice and a late
 * repeat must not undo what came after. Which masters live stands under another hash tag: a script cannot read it, so
 * rows are joined with it here, and `drain` brings it along.
 */
import { FleetError, MAX_RESPONSE_BYTES, STATS_FRAMES } from '../../protocol/index.ts'
import {
  ringFrame,
  type WorkerReport,
  type ReportResult,
  type DrainResult,
  type DrainTarget,
  type EndedConn,
  type Ref,
  type RegisterResult,
  type Registration,
  type WorkerRow,
  type Workers,
} from '../index.ts'
import type { Caller, CallOptions, Reply } from './caller.ts'
import { KeyedMutex } from './keyed-mutex.ts'
import { keysOfType } from './keys.ts'
import { script, type Script } from './script.ts'
import { inBatches } from './workers-batches.ts'
import {
  endText,
  escaped,
  historyKey,
  reportedOf,
  reportOf,
  ringKey,
  rulesKey,
  workerRow,
  type StoredWorker,
} from './workers-layout.ts'

const REGISTER = script('workers.register')
const BEAT = script('workers.beat')
const BEAT_IN_FULL_STORE = script('workers.beat-in-full-store')
const DISCONNECT = script('workers.disconnect')
const DRAIN = script('workers.drain')
const MANAGE = script('workers.manage')
const FORGET = script('workers.forget')
const GET = script('workers.get')
const PAGE = script('workers.page')

const REPEATABLE: CallOptions = { repeatable: true }

/** Per type. Tests may lower them. */
export interface RegistryLimits {
  readonly records: number
  readonly forgotten: number
}
const LIMITS: RegistryLimits = { records: 50_000, forgotten: 1_000_000 }

/** The masters seen within 15 seconds, as `meta` knows them. */
type LiveMasters = () => Promise<readonly string[]>

const idsOf = (refs: readonly Ref[]): readonly string[] => refs.map(({ id }) => id)
const nameChars = ({ id }: Ref): number => id.length
const registrationChars = ({ hardware, labels = '', defaults }: Registration): number =>
  hardware.length + labels.length + defaults.length
const beatChars = ({ stats = [] }: WorkerReport): number => stats.reduce((sum, frame) => sum + frame.length, 0)

/** `conn` is "<masterId>/<n>". */
const isHeldBy =
  (masters: readonly string[]) =>
  (conn: string): boolean =>
    masters.includes(conn.slice(0, Math.max(0, conn.lastIndexOf('/'))))

export class RedisWorkers implements Workers {
  readonly #caller: Caller
  readonly #liveMasters: LiveMasters
  readonly #limits: RegistryLimits
  readonly #turns = new KeyedMutex()

  constructor(caller: Caller, liveMasters: LiveMasters, limits: RegistryLimits = LIMITS) {
    this.#caller = caller
    this.#liveMasters = liveMasters
    this.#limits = limits
  }

  register(items: readonly Registration[]): Promise<readonly RegisterResult[]> {
    return this.#inTurn(items, registrationChars, async (type, part) => {
      const args = part.flatMap(({ id, conn, instance, hardware, labels = '', defaults, rules = '', enrolment }) => [
        id,
        conn,
        escaped(instance),
        hardware,
        labels,
        defaults,
        rules,
        enrolment === undefined ? '' : `${enrolment.revision}/${enrolment.variant}`,
        enrolment?.managedBy ?? '',
      ])
      const replies = await this.#run<RegisterReply>(REGISTER, type, [this.#limits.records, ...args], REPEATABLE, [
        rulesKey(type),
      ])
      return replies.map(registered)
    })
  }

  beat(items: readonly WorkerReport[]): Promise<readonly ReportResult[]> {
    return this.#inTurn(items, beatChars, async (type, part) => {
      try {
        return await this.#beat(BEAT, type, part, STATS_FRAMES)
      } catch (error) {
        if (!(error instanceof FleetError && error.code === 'STORAGE_FULL')) throw error
        return this.#beat(BEAT_IN_FULL_STORE, type, part, 1)
      }
    })
  }

  async disconnect(items: readonly EndedConn[]): Promise<void> {
    await this.#inTurn<EndedConn, never>(items, nameChars, async (type, part) => {
      const args = part.flatMap(({ id, conn, ended = false, end }) => [id, conn, ended ? 1 : 0, endText(end)])
      await this.#caller.run(DISCONNECT, keysOfType(DISCONNECT, type), args, REPEATABLE)
      return []
    })
  }

  async drain(items: readonly DrainTarget[]): Promise<readonly DrainResult[]> {
    const masters = await this.#liveMasters()
    const replies = await inBatches(items, nameChars, (type, part) => {
      const args = part.flatMap(({ id, actor = '' }) => [id, escaped(actor)])
      return this.#run<readonly [string | null] | null>(DRAIN, type, [masters.length, ...masters, ...args])
    })
    return replies.map((reply) => (reply === null ? { kind: 'not_found' } : { kind: 'draining', conn: reply[0] }))
  }

  async manage(
    items: readonly (Ref & { readonly managedBy: string | null })[],
  ): Promise<readonly ('ok' | 'not_found')[]> {
    const replies = await inBatches(items, nameChars, (type, part) => {
      const args = part.flatMap(({ id, managedBy }) => [id, managedBy ?? ''])
      return this.#run<number>(MANAGE, type, args)
    })
    return replies.map((reply) => (reply === 1 ? 'ok' : 'not_found'))
  }

  async forget(refs: readonly Ref[]): Promise<readonly boolean[]> {
    const replies = await inBatches(refs, nameChars, (type, part) => {
      const lists = part.flatMap(({ id }) => [ringKey(type, id), historyKey(type, id)])
      return this.#run<number>(FORGET, type, [this.#limits.forgotten, ...idsOf(part)], {}, lists)
    })
    return replies.map((reply) => reply === 1)
  }

  async get(refs: readonly Ref[]): Promise<readonly (WorkerRow | null)[]> {
    const reading = inBatches(refs, nameChars, async (type, part) =>
      storedWorkers((await this.#run(GET, type, idsOf(part), REPEATABLE)) as RowsReply),
    )
    const [stored, masters] = await Promise.all([reading, this.#liveMasters()])
    return refs.map(({ type, id }, i) => rowOf(type, id, stored[i], masters))
  }

  async page(
    type: string,
    after: string | null,
    limit: number,
    bytes = MAX_RESPONSE_BYTES,
  ): Promise<readonly WorkerRow[]> {
    const [reply, masters] = await Promise.all([
      this.#run(PAGE, type, [after === null ? '-' : `(${after}`, limit, bytes], REPEATABLE),
      this.#liveMasters(),
    ])
    const [ids] = reply as RowsReply
    return storedWorkers(reply as RowsReply)
      .map((stored, i) => rowOf(type, ids[i] ?? '', stored, masters))
      .filter((row) => row !== null)
  }

  async #beat(
    command: Script,
    type: string,
    part: readonly WorkerReport[],
    ringFrames: number,
  ): Promise<readonly ReportResult[]> {
    const rings: string[] = []
    const args: (string | number)[] = [ringFrames]
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
      if (frames.length > 0) rings.push(ringKey(type, id))
    }
    const repeatable = rings.length === 0 // A frame would be kept twice.
    const replies = await this.#run<readonly [ReportResult['status'], string, string?]>(
      command,
      type,
      args,
      { repeatable },
      rings,
    )
    return replies.map(([status, gen, revision]) => ({
      status,
      gen: Number(gen),
      ...(revision !== undefined && { revision }),
    }))
  }

  /**
   * Runs one script on the registry of a type. The script returns a list.
   * @param keys the keys behind those of the registry.
   */
  async #run<A>(
    command: Script,
    type: string,
    args: readonly (string | number)[],
    options: CallOptions = {},
    keys: readonly string[] = [],
  ): Promise<readonly A[]> {
    const reply = await this.#caller.run(command, [...keysOfType(command, type), ...keys], args, options)
    return reply as readonly Reply[] as readonly A[]
  }

  /** Runs the parts of one type one after the other, behind those of earlier calls. */
  #inTurn<T extends Ref, A>(
    items: readonly T[],
    charsOf: (item: T) => number,
    call: (type: string, part: readonly T[]) => Promise<readonly A[]>,
  ): Promise<readonly A[]> {
    return inBatches(items, charsOf, (type, part) => this.#turns.run(type, () => call(type, part)))
  }
}

type RegisterReply =
  | readonly [before: string | null, drain: number, replaced: string | null, gen: string, restart?: number]
  | 'full'
  | 'rules_changed'

function registered(response: RegisterReply): RegisterResult {
  if (response === 'full' || response === 'rules_changed') return { kind: response }
  const [before, drain, replaced, gen, restart] = response
  return {
    kind: 'registered',
    previous: before === null ? null : reportedOf(before),
    drain: drain === 1,
    replaced,
    gen: Number(gen),
    ...(restart === 1 && { isRestart: true }),
  }
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
  lb = [],
  rv = [],
  da = [],
  dp = [],
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
    lb: at(lb, i),
    rv: at(rv, i),
    da: at(da, i),
    dp: at(dp, i),
  }))
}

const rowOf = (
  type: string,
  id: string,
  stored: StoredWorker | undefined,
  masters: readonly string[],
): WorkerRow | null => (stored === undefined ? null : workerRow(type, id, stored, isHeldBy(masters)))
