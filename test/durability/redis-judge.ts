/** Starts a redis-server on what a crash left, calls it through the real backend, and compares it with the history. */
import { existsSync, mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { seededRandom, systemTime, VirtualTime } from '../../src/runtime/index.ts'
import { parseStoreUrl, RedisBackend } from '../../src/storage/redis/index.ts'
import { checkHistory, queueOf } from '../kit/history-checkers.ts'
import { History, type Call } from '../kit/history.ts'
import type { CrashStore } from './crash-points.ts'
import { judgeBackend } from './judge.ts'
import { historyOf, noteOf } from './marks.ts'
import { damageOf, RedisProcess, repairAppendOnlyFile, type Fsync } from './redis-process.ts'

/** `everysec` syncs each second, and lets the sync before take a second too. */
const LOSS_MS = 2_000
const RECOVERY_SEED = 3
/** A recovery mostly waits for the start of its server. */
const MAX_JUDGED = 4

/** What happened in the judged recoveries that is no violation. The storage page describes each case. */
export interface RecoveryCounts {
  recovered: number
  /** The server did not start until redis-check-aof cut the file at its damage. */
  repaired: number
  /** redis-check-aof ran before the first start, and shortened the file. */
  shortened: number
  /** With `everysec`, a crash at the beginning of a rewrite may damage a file in front of the last one. */
  unrepairable: number
  /** Recoveries of an `everysec` server that had lost acknowledged changes, and sentences about these changes. */
  withLoss: number
  lost: number
}

export const noCounts = (): RecoveryCounts => ({
  recovered: 0,
  repaired: 0,
  shortened: 0,
  unrepairable: 0,
  withLoss: 0,
  lost: 0,
})

/** What a recorded run says about the recoveries with `always`. */
export const repairFigures = ({ repaired, shortened }: RecoveryCounts): Readonly<Record<string, number>> => ({
  'crashes after which redis-check-aof was needed': repaired,
  'crashes whose file it shortened before the first start': shortened,
})

/** A Redis that syncs each change before its reply: it loses nothing, and keeps its epoch. */
export function redisAlways(counts: RecoveryCounts): CrashStore {
  return {
    program: 'redis-load.ts',
    lives: [
      ['always', 'first'],
      ['always', 'second'],
    ],
    // At the end of a rewrite, Redis syncs a renamed file and the manifest that names it with one fsync.
    needsOrderedNames: true,
    maxJudged: MAX_JUDGED,
    judge: (root, marks) =>
      withServer(root, { appendfsync: 'always', counts, marks }, async (server) => {
        const history = History.of(historyOf(marks))
        const time = new VirtualTime()
        // The clock is back at the start of the recorded run: only what is stored can keep tokens and leases in order.
        const random = seededRandom(RECOVERY_SEED)
        const backend = new RedisBackend({ url: parseStoreUrl(server.url), clock: time, time: systemTime, random })
        const epoch = epochOf(marks)
        const violations = await judgeBackend(backend, history)
        const isKept = epoch === undefined || epoch === (await epochIn(server))
        return isKept ? violations : [...violations, 'the epoch is a new one']
      }),
  }
}

/**
 * A Redis that syncs each second. It may lose what was acknowledged in the last two seconds, and only that; then it has
 * a new epoch. It reuses no token, not even of a lease that it lost.
 */
export function redisEverysec(counts: RecoveryCounts): CrashStore {
  return {
    program: 'redis-load.ts',
    lives: [['everysec', 'first']],
    needsOrderedNames: true,
    maxJudged: MAX_JUDGED,
    judge: (root, marks) =>
      withServer(root, { appendfsync: 'everysec', counts, marks }, async (server) => {
        const url = parseStoreUrl(server.url)
        const time = systemTime
        const backend = new RedisBackend({ url, time, random: seededRandom(Date.now()) })
        const history = History.of(withoutResultsSince(marks, LOSS_MS))
        const violations = await judgeBackend(backend, history)
        const all = History.of(historyOf(marks)).calls
        const lost = checkHistory([...all, ...history.calls.slice(all.length)]).filter((each) => /lost/.test(each))
        counts.lost += lost.length
        if (lost.length > 0) counts.withLoss += 1
        const isNewEpoch = epochOf(marks) !== (await epochIn(server))
        const reused = reusedTokens(all, history.calls.slice(all.length))
        return [...violations, ...reused, ...(isNewEpoch ? [] : ['the epoch is not a new one'])]
      }),
  }
}

/** Starts the server, if need be after a repair, and judges it. What the storage page does not describe is found. */
async function withServer(
  root: string,
  { appendfsync, counts, marks }: { appendfsync: Fsync; counts: RecoveryCounts; marks: readonly string[] },
  judge: (server: RedisProcess) => Promise<readonly string[]>,
): Promise<readonly string[]> {
  const folder = join(root, 'data')
  if (!existsSync(folder)) mkdirSync(folder, { recursive: true })
  counts.recovered += 1
  const server = await recoveredServer(folder, appendfsync, counts, isRepairedFirst(marks))
  if (server === 'before_last_file') {
    counts.unrepairable += 1
    return appendfsync === 'always' ? ['a file in front of the last one is damaged'] : []
  }
  if (typeof server === 'string') return [server]
  try {
    return await judge(server)
  } finally {
    await server.end('SIGKILL')
  }
}

/**
 * Whether redis-check-aof runs before the first start, as the storage page advises. In the other half of the cases the
 * server is started directly, as by an init system, and the program runs only if that fails. A crash point is always in
 * the same half.
 */
const isRepairedFirst = (marks: readonly string[]): boolean => marks.length % 2 === 0

/** Returns a server, or why there is none. */
async function recoveredServer(
  folder: string,
  appendfsync: Fsync,
  counts: RecoveryCounts,
  repairsFirst: boolean,
): Promise<RedisProcess | string> {
  if (!repairsFirst) {
    const server = await RedisProcess.start(folder, appendfsync).catch((error: unknown) => ({ error }))
    if (server instanceof RedisProcess) return server
    const damage = damageOf(server.error)
    if (damage === 'before_last_file') return damage
    if (damage === undefined) return `the server failed: ${String(server.error)}`
  }
  const repair = repairAppendOnlyFile(folder)
  if (repair.kind === 'before_last_file') return repair.kind
  if (repair.kind === 'failed') return `redis-check-aof failed: ${repair.output}`
  if (!repairsFirst) counts.repaired += 1
  else if (repair.kind === 'shortened') counts.shortened += 1
  return RedisProcess.start(folder, appendfsync).catch((error: unknown) => `the server failed: ${String(error)}`)
}

const epochOf = (marks: readonly string[]): string | undefined =>
  marks.map((line) => noteOf('epoch', line)).findLast((epoch) => epoch !== undefined)

async function epochIn(server: RedisProcess): Promise<string> {
  return String(await server.command('HGET', 'muster:{m}:info', 'epoch'))
}

/** The history, in which the calls that ended in the last `ms` before the crash are unknown. */
function withoutResultsSince(marks: readonly string[], ms: number): readonly string[] {
  const times = marks.map((line) => noteOf('time', line))
  const crashedAtMs = times.findLast((time) => time !== undefined) ?? 0
  let timeMs = 0
  return historyOf(
    marks.filter((line, i) => {
      timeMs = times[i] ?? timeMs
      return !line.startsWith('{"end"') || timeMs < crashedAtMs - ms
    }),
  )
}

function reusedTokens(before: readonly Call[], after: readonly Call[]): readonly string[] {
  const tokens = new Set(before.flatMap(tokensOf))
  return after.flatMap(tokensOf).flatMap((token) => (tokens.has(token) ? [`token ${token} is used again`] : []))
}

function tokensOf({ operation, client, result }: Call): readonly string[] {
  const isTake = operation === 'reserve' || operation === 'claim'
  if (!isTake || !Array.isArray(result)) return []
  return (result as readonly { readonly token: number }[]).map(
    ({ token }) => `${operation} ${queueOf(client)} ${token}`,
  )
}
