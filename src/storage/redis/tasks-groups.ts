/**
 * @module storage/redis/tasks-groups
 * Implements groups of tasks (D119). The scripts of a type with a policy run in their grouped variant, and get the
 * policy as arguments (scripts/include/groups.lua). A process with another policy, or none, may have used the type too:
 * `regroup` and `ungroup` repair what it left, when a policy is set and once a minute with a sweep.
 */
import { script } from './script.ts'
import { READS, listOf, run, wakeAllOf, wakeOf, type TaskCaller } from './tasks-layout.ts'
import { compareText, type Clock } from '../../runtime/index.ts'
import type { GroupPolicy, GroupRow } from '../index.ts'
import type { Caller } from './caller.ts'
import type { DeclareNeed } from './declare-need.ts'

const REGROUP = script('tasks.regroup')
const UNGROUP = script('tasks.ungroup')
const GROUPS = script('tasks.groups')
const REPAIR_MS = 60_000

/** The types with a group policy, and what their groups need beside the calls of the contract. */
export class TaskGrouping {
  /** For `TaskCaller`. */
  readonly groupArgs = new Map<string, readonly (string | number)[]>()
  readonly #caller: Caller
  readonly #declareNeed: DeclareNeed
  readonly #clock: Pick<Clock, 'monotonicMs'>
  readonly #repairedAtMs = new Map<string, number>()

  constructor(caller: Caller, declareNeed: DeclareNeed, clock: Pick<Clock, 'monotonicMs'>) {
    this.#caller = caller
    this.#declareNeed = declareNeed
    this.#clock = clock
  }

  async setPolicy(caller: TaskCaller, type: string, policy: GroupPolicy | null): Promise<void> {
    if (policy === null) {
      this.groupArgs.delete(type)
    } else {
      const { maxInFlight, rate } = policy
      await this.#declareNeed('groups')
      const bounds = [maxInFlight ?? '', rate?.intervalMs ?? '', rate?.burst ?? '']
      this.groupArgs.set(type, [...wakeAllOf(this.#caller, type), ...bounds])
    }
    await this.#repair(caller, type)
  }

  /** Does the repair that is due once a minute. */
  async repairIfDue(caller: TaskCaller, type: string): Promise<void> {
    if (this.groupArgs.has(type)) await this.#declareNeed('groups')
    const lastMs = this.#repairedAtMs.get(type) ?? -Infinity
    if (this.#clock.monotonicMs() - lastMs >= REPAIR_MS) await this.#repair(caller, type)
  }

  async #repair(caller: TaskCaller, type: string): Promise<void> {
    this.#repairedAtMs.set(type, this.#clock.monotonicMs())
    const args = this.groupArgs.get(type)
    const step = (): Promise<unknown> =>
      args === undefined
        ? run(caller, UNGROUP, type, wakeOf(caller, type), READS)
        : run(caller, REGROUP, type, [...wakeOf(caller, type), ...args], READS)
    while ((await step()) === 1);
  }
}

export async function groups(caller: TaskCaller, type: string, limit: number): Promise<readonly GroupRow[]> {
  const args = caller.groupArgs.get(type)
  if (args === undefined) return []
  const reply = listOf(await run(caller, GROUPS, type, args, READS))
  const rows: GroupRow[] = []
  for (let i = 0; i < reply.length; i += 4) {
    const [name, start] = [String(reply[i]), reply[i + 3] ?? null]
    rows.push({
      group: name === '' ? null : name,
      pending: Number(reply[i + 1]),
      inFlight: Number(reply[i + 2]),
      nextStartAtMs: start === null ? null : Number(start),
    })
  }
  return rows.toSorted((a, b) => b.pending - a.pending || compareText(a.group ?? '', b.group ?? '')).slice(0, limit)
}
