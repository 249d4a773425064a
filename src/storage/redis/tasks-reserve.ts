/**
 * @module storage/redis/tasks-reserve
 * Leases the tasks next in line. As many tickets are read as are wanted, and more where some of them outlived their
 * ttl; what was leased or dropped is cut off the tiers in the end.
 *
 * Whether a worker may have tasks is read from the registry, which shares the hash tag, in the same step: a drain that
 * was confirmed, by any master, is seen by every reserve after it (G14).
 *
 * Tokens: `f` counts them. A counter that is new, or was drawn in another life of the store, first rises to a multiple
 * of 2^20 at or above now · 1,024, so no token comes twice even where the store lost its last writes. Each multiple
 * begins a segment; a batch that would cross into the next one starts there, so its tokens share a segment. The segment
 * that begins takes over the bitmap of the oldest.
 *
 * A reserve whose reply was lost leased tasks that no worker received. The repetition, or else the next reserve of the
 * slot, gives these leases back first, attempt and lost leases unchanged (D81); so they never count towards the DLQ.
 */
import { taskScript } from './script.ts'
import { READS, listOf, readTicket, run, type TaskCaller } from './tasks-layout.ts'
import { DEFAULT_MAX_OUTCOMES } from '../../protocol/index.ts'
import { RETAINED } from '../index.ts'
import type { Lease, Reservation, ReserveRefusal, ReserveResult, ReserveRequest } from '../index.ts'
import type { CallSlots } from './call-slots.ts'
import type { Reply } from './caller.ts'

/** Arguments before the slot of the call. */
const HEAD = 4

const REFUSALS: Readonly<Record<string, ReserveRefusal>> = { u: 'unknown', d: 'draining', s: 'stale' }

const RESERVE = taskScript('tasks.reserve')

export async function reserve(
  caller: TaskCaller,
  calls: CallSlots,
  type: string,
  visibilityMs: number,
  requests: readonly ReserveRequest[],
  maxOutcomes = DEFAULT_MAX_OUTCOMES,
): Promise<ReserveResult> {
  // The message names no publisher, so it wakes this process too: the result does not show how many tasks became due.
  const { isAlone, wakePrefix } = caller.masters
  const waiting = isAlone() ? '' : caller.publisher
  const channel = waiting === '' ? null : wakePrefix(type)
  const head = [channel ?? caller.channel('wake'), type, visibilityMs, caller.runId()]
  const args: (string | number)[] = [...head, '', 0, 0, maxOutcomes, waiting]
  for (const { worker, limit, gen, defaultMaxAttempts } of requests) args.push(worker, limit, gen, defaultMaxAttempts)
  const [until, before, dropped, nextDue, letters, reported, ...found] = listOf(
    await calls.take(type, ({ slot, number, lostFrom }) => {
      args.splice(HEAD, 3, slot, number, lostFrom)
      return run(caller, RESERVE, type, args, READS)
    }),
  )
  const progress = new Map<number, string>()
  const pairs = listOf(reported ?? null)
  for (let i = 0; i < pairs.length; i += 2) progress.set(Number(pairs[i]) - 1, String(pairs[i + 1]))
  let taken = 0
  const results = requests.map(({ limit, defaultMaxAttempts }, i): Reservation => {
    const reason = REFUSALS[String(letters).charAt(i)]
    if (reason !== undefined) return { kind: 'refused', reason }
    const first = taken
    taken = Math.min(first + limit, found.length / 2)
    const leases = Array.from({ length: taken - first }, (_, n): Lease => {
      const lease = leaseOf(found, first + n, Number(before), Number(until), defaultMaxAttempts)
      const text = progress.get(first + n)
      return text === undefined ? lease : { ...lease, progress: text }
    })
    return { kind: 'leased', leases }
  })
  return {
    results,
    dropped: Number(dropped),
    nextDueAtMs: nextDue === null || nextDue === undefined ? null : Number(nextDue),
  }
}

function leaseOf(found: readonly Reply[], i: number, before: number, until: number, defaultMaxAttempts: number): Lease {
  const { id, attempt, ownMax, isRetained } = readTicket(String(found[2 * i]))
  const lease = {
    id,
    token: before + i + 1,
    attempt,
    maxAttempts: ownMax ?? defaultMaxAttempts,
    expiresAtMs: until,
    body: String(found[2 * i + 1]),
  }
  return isRetained ? { ...lease, ...RETAINED } : lease
}
