/**
 * @module storage/redis/tasks-settle
 * The ends of a lease, and its prolongation. Each of them reads the leases of the batch in one step and counts only
 * where the token is the one the lease was issued with; an item named twice is settled once.
 */
import { script, taskScript } from './script.ts'
import { READS, finishedOf, listOf, run, wakeOf, type TaskCaller } from './tasks-layout.ts'
import { resultText } from './tasks-outcomes.ts'
import { DEFAULT_MAX_OUTCOMES } from '../../protocol/index.ts'
import {
  attemptError,
  errorGroup,
  EXTEND_LOST,
  fingerprintOf,
  type DoneTask,
  type ExtendItem,
  type ExtendLeaseResult,
  type LeaseLost,
  type LeaseRef,
  type NackItem,
  type RetryPolicy,
} from '../index.ts'
import type { Reply } from './caller.ts'

type Settled = 'ok' | LeaseLost

const ACK = taskScript('tasks.ack')
const RELEASE = taskScript('tasks.release')
const NACK = taskScript('tasks.nack')
const EXTEND = script('tasks.extend')

function lostOf(reply: Reply | undefined): LeaseLost | null {
  if (reply === 0) return 'lease_lost'
  return reply === -1 ? 'not_issued' : null
}

const pairsOf = (leases: readonly LeaseRef[]): (string | number)[] => leases.flatMap(({ id, token }) => [id, token])

export async function ack(
  caller: TaskCaller,
  type: string,
  leases: readonly DoneTask[],
  maxOutcomes = DEFAULT_MAX_OUTCOMES,
): Promise<readonly Settled[]> {
  const args: (string | number)[] = [maxOutcomes, ...finishedOf(caller, type), leases.length]
  for (const { id, token } of leases) args.push(id, token, fingerprintOf(id))
  for (const [i, { result }] of leases.entries()) if (result !== undefined) args.push(i + 1, resultText(result))
  const results = listOf(await run(caller, ACK, type, args, READS))
  return leases.map((_, i) => lostOf(results[i]) ?? 'ok')
}

export async function release(
  caller: TaskCaller,
  type: string,
  leases: readonly LeaseRef[],
): Promise<readonly Settled[]> {
  const results = listOf(await run(caller, RELEASE, type, [...wakeOf(caller, type), ...pairsOf(leases)]))
  return leases.map((_, i) => lostOf(results[i]) ?? 'ok')
}

/** The errors are cut already. */
export async function nack(
  caller: TaskCaller,
  type: string,
  retry: RetryPolicy,
  items: readonly NackItem[],
): Promise<readonly ('scheduled' | 'dead' | LeaseLost)[]> {
  const args = items.flatMap(({ id, token, error, retryInMs, permanent, jitter: u }) => [
    id,
    token,
    error,
    retryInMs ?? '',
    permanent ? '1' : '0',
    u,
    Buffer.byteLength(attemptError(error)),
    errorGroup(error),
  ])
  const results = listOf(await run(caller, NACK, type, [retry.baseMs, retry.factor, retry.capMs, ...args]))
  return items.map((_, i) => lostOf(results[i]) ?? (results[i] === 2 ? 'dead' : 'scheduled'))
}

export async function extend(
  caller: TaskCaller,
  type: string,
  items: readonly ExtendItem[],
): Promise<readonly ExtendLeaseResult[]> {
  const args: (string | number)[] = [items.length]
  for (const { id, token, visibilityMs } of items) args.push(id, token, visibilityMs)
  for (const [i, { progress }] of items.entries())
    if (progress !== undefined) args.push(i + 1, progress.replaceAll('\n', ' ')) // JSON has it only between values.
  const results = listOf(await run(caller, EXTEND, type, args, READS))
  return items.map((_, i): ExtendLeaseResult => {
    const lost = lostOf(results[i])
    return lost === null ? { kind: 'extended', expiresAtMs: Number(results[i]) } : EXTEND_LOST[lost]
  })
}
