/**
 * Checks the bounds of task groups.
 *
 *   I20  a group has at most `max_in_flight` leases that have not expired, and keeps its rate in every window  (G30)
 */
import type { GroupRate } from '../../../src/storage/index.ts'
import type {
  CancelResult,
  ExtendLeaseResult,
  Lease,
  LeaseRef,
  ReserveResult,
  StorageCall,
} from '../../../src/storage/index.ts'
import { startsAboveRate } from '../../kit/group-rate.ts'
import type { CheckDeps, CreateCheck, InvariantCheck } from './invariant.ts'

interface GroupLease {
  readonly group: string
  expiresAtMs: number
}
interface Bounds {
  readonly maxInFlight: number
  readonly rate: GroupRate | null
  /** By token. */
  readonly leases: Map<number, GroupLease>
  /** When each group started its tasks, by the clock of the store. */
  readonly starts: Map<string, number[]>
}

/** Sums of fractions are not exact. */
const ROUNDING = 1e-6
const ENDED = new Set<unknown>(['ok', 'scheduled', 'dead'])

class GroupCheck implements InvariantCheck {
  readonly #deps: CheckDeps
  readonly #types = new Map<string, Bounds>()

  constructor(deps: CheckDeps) {
    this.#deps = deps
    for (const { type, groups = null } of deps.catalog.values()) {
      if (groups === null) continue
      const { maxInFlight, rate } = groups
      this.#types.set(type, {
        maxInFlight: maxInFlight ?? Infinity,
        rate: rate && { intervalMs: (rate.perSeconds * 1_000) / rate.tasks, burst: rate.burst },
        leases: new Map(),
        starts: new Map(),
      })
    }
  }

  executed({ group, method, args }: StorageCall, result: unknown, nowMs: number): void {
    const bounds = group === 'tasks' ? this.#types.get(args[0] as string) : undefined
    if (bounds === undefined) return
    switch (method) {
      case 'reserve':
        return this.#reserved(bounds, result as ReserveResult, nowMs)
      case 'ack':
      case 'release':
      case 'nack':
        return (args.at(method === 'nack' ? 2 : 1) as readonly LeaseRef[]).forEach(({ token }, at) => {
          if (ENDED.has((result as readonly unknown[])[at])) bounds.leases.delete(token)
        })
      case 'cancel':
        return (result as readonly CancelResult[]).forEach((each) => {
          if (each.kind === 'cancelled' && each.was === 'in_flight') bounds.leases.delete(each.token)
        })
      case 'extend':
        return (args[1] as readonly LeaseRef[]).forEach(({ token }, at) => {
          const extended = (result as readonly ExtendLeaseResult[])[at]
          const lease = bounds.leases.get(token)
          if (extended?.kind === 'extended' && lease !== undefined) lease.expiresAtMs = extended.expiresAtMs
        })
      case 'sweep':
        for (const [token, { expiresAtMs }] of bounds.leases) if (expiresAtMs <= nowMs) bounds.leases.delete(token)
    }
  }

  storeLost(): void {
    for (const { leases, starts } of this.#types.values()) {
      leases.clear()
      starts.clear()
    }
  }

  #reserved(bounds: Bounds, { results }: ReserveResult, nowMs: number): void {
    for (const one of results)
      for (const lease of one.kind === 'leased' ? one.leases : []) this.#leased(bounds, lease, nowMs)
  }

  #leased({ maxInFlight, rate, leases, starts }: Bounds, { token, expiresAtMs, body }: Lease, nowMs: number): void {
    const group = (JSON.parse(body) as { readonly group_key?: string }).group_key ?? ''
    leases.set(token, { group, expiresAtMs })
    const live = [...leases.values()].filter((each) => each.group === group && each.expiresAtMs > nowMs)
    if (live.length > maxInFlight)
      this.#deps.fail('I20', `group "${group}" has ${live.length} leases; it may have ${maxInFlight}`)
    if (live.length === maxInFlight) this.#deps.count('group as full as it may be')
    if (rate === null) return
    const times = starts.get(group) ?? []
    starts.set(group, times)
    times.push(nowMs)
    const above = startsAboveRate(rate, times)
    if (above > ROUNDING)
      this.#deps.fail('I20', `group "${group}" started ${times.length} tasks, ${above} above its rate`)
  }
}

export const checkGroups: CreateCheck = (deps) => new GroupCheck(deps)
