/** Checks the loss of a crash or failover: the newest changes may be lost, without holes, and no token comes twice. */
import { readFileSync } from 'node:fs'
import type { LeaseOf } from '../kit/history.ts'
import { partsOf } from './calls.ts'
import type { Cut } from './judge.ts'

/** A recovery: when it ended, and the keys that share one order of changes, each by a name. */
interface Recovery {
  readonly endNs: number
  readonly shardOf: (key: string) => string
}

/**
 * Returns a sentence for each hole: a change is lost that was acknowledged before a kept one began. The two may be
 * changes of different keys.
 *
 * @param recoveries In the order of time.
 */
export function holesOf(cuts: readonly Cut[], recoveries: readonly Recovery[]): readonly string[] {
  const newestKept = new Map<string, Cut>()
  const groupOf = ({ key, recoveredNs }: Cut): string => {
    const at = recoveries.findIndex(({ endNs }) => recoveredNs <= endNs)
    return `${at} ${recoveries[at]?.shardOf(key)}`
  }
  for (const cut of cuts) {
    const newest = newestKept.get(groupOf(cut))?.keptStartNs ?? 0
    if (cut.keptStartNs > newest) newestKept.set(groupOf(cut), cut)
  }
  return cuts.flatMap((cut) => {
    const kept = newestKept.get(groupOf(cut))
    if (cut.lostEndNs === 0 || kept === undefined || cut.lostEndNs >= kept.keptStartNs) return []
    return [`a change of ${cut.key} is lost, and a later one of ${kept.key} is there (recovery ${groupOf(cut)})`]
  })
}

/** `{ part: { times: 2, kv: 13, config: 4 } }`: how often each kind of failover occurred, and what it lost by model. */
export type Losses = Readonly<Record<string, Readonly<Record<string, number>>>>

/** @param failovers In the order of time. */
export function lossesOf(
  cuts: readonly Cut[],
  failovers: readonly { readonly kind: string; readonly endNs: number }[],
): Losses {
  const losses: Record<string, Record<string, number>> = {}
  for (const { kind } of failovers) losses[kind] = { times: (losses[kind]?.['times'] ?? 0) + 1 }
  for (const { key, recoveredNs, lost } of cuts) {
    const of = losses[failovers.find(({ endNs }) => recoveredNs <= endNs)?.kind ?? '']
    const [model = ''] = key.split(' ')
    if (of !== undefined && lost > 0) of[model] = (of[model] ?? 0) + lost
  }
  return losses
}

interface Line {
  readonly start?: number
  readonly end?: number
  readonly operation?: string
  readonly args?: { readonly key?: string; readonly type?: string }
  readonly result?: unknown
}

/** Returns each token that was issued twice, as `lock g1 17` (G5). A group has a sequence for locks, and for tasks. */
export function reusedTokens(histories: readonly string[]): readonly string[] {
  const issued = new Map<string, number>()
  for (const history of histories) {
    const starts = new Map<number, string>()
    for (const text of readFileSync(history, 'utf8').trimEnd().split('\n')) {
      const { start, end, operation, args, result } = JSON.parse(text) as Line
      if (start !== undefined && (operation === 'lock_acquire' || operation === 'lock_recover'))
        starts.set(start, `lock ${partsOf(args?.key ?? '')[0]}`)
      if (start !== undefined && operation === 'task_reserve') starts.set(start, `task ${args?.type}`)
      const sequence = starts.get(end ?? -1)
      if (sequence === undefined) continue
      const tokens =
        typeof result === 'number' ? [result] : ((result ?? []) as readonly LeaseOf[]).map(({ token }) => token)
      for (const token of tokens) issued.set(`${sequence} ${token}`, (issued.get(`${sequence} ${token}`) ?? 0) + 1)
    }
  }
  return [...issued].filter(([, times]) => times > 1).map(([token]) => token)
}
