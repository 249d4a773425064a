/**
 * @module master/queue/replays
 * Remembers the replays of dead tasks, so that their results can be read: how many tasks are done, and how many are
 * dead again (D180). The store counts; here is which replays there were. They are stored as reports
 * (storage/contract/rollouts.ts) of `replays/TYPE`, which is not the name of a type. Of each type the newest 20 of
 * operations are kept, and the newest 20 others: an operation may still run when many others have begun.
 */
import { API_PREFIX, ReplaysBody, toSeconds, type ReplayResult } from '../../protocol/index.ts'
import type { Clock, Random } from '../../runtime/index.ts'
import type { Backend } from '../../storage/index.ts'
import { route, type Route } from '../http/index.ts'

interface ReplaysDeps {
  readonly backend: Pick<Backend, 'rollouts' | 'tasks'>
  readonly clock: Pick<Clock, 'wallMs'>
  readonly random: Pick<Random, 'uuid'>
}

/** What a replay acts on. `group` and `before` are null unless it is one of a group. */
export interface ReplayScope {
  readonly group: string | null
  /** Unix seconds. */
  readonly before: number | null
  /** The id of the operation that replays. All its steps are one replay. */
  readonly operation?: string
}

type StoredReplay = Omit<ReplayResult, 'done' | 'died'>

const MAX_KEPT = 20
/** Requests of one group and moment within this time are one replay: a request replays a part of a large group. */
const CONTINUED_SECONDS = 3_600
const RANDOM_CHARS = 8
/** A name that no type has, because of its slash. */
const spaceOf = (type: string): string => `replays/${type}`

export class Replays {
  readonly #deps: ReplaysDeps

  constructor(deps: ReplaysDeps) {
    this.#deps = deps
  }

  /**
   * Replays tasks and remembers it. If the store is too full to remember it, the tasks are replayed all the same.
   *
   * @param pattern Reads the error of the group; null if the tasks have different ones.
   * @param replay Replays tasks under this id, or without one. @returns how many.
   * @throws what `replay` throws.
   */
  async run(
    type: string,
    scope: ReplayScope,
    pattern: () => Promise<string | null>,
    replay: (id?: string) => Promise<number>,
  ): Promise<void> {
    const stored = await this.#open(type, scope, pattern).catch(() => null)
    const replayed = await replay(stored?.id)
    if (stored !== null) await this.#close(type, stored, replayed).catch(() => {}) // The tasks are replayed.
  }

  /** @returns the replays of a type, newest first. */
  async list(type: string): Promise<ReplayResult[]> {
    const stored = await this.#read(type)
    if (stored.length === 0) return []
    const ids = stored.map(({ id }) => id)
    const counts = await this.#deps.backend.tasks.replayCounts(type, ids)
    return stored.map((each, at) => {
      const { done, died } = counts[at] ?? { done: 0, died: 0 }
      // A master that stopped after a step has not stored how many tasks that step replayed.
      return { ...each, replayed: Math.max(each.replayed, done + died), done, died }
    })
  }

  async #open(type: string, scope: ReplayScope, pattern: () => Promise<string | null>): Promise<StoredReplay> {
    return (await this.#begun(type, scope)) ?? (await this.#begin(type, scope, await pattern()))
  }

  async #close(type: string, stored: StoredReplay, replayed: number): Promise<void> {
    if (replayed > 0) await this.#put(type, { ...stored, replayed: stored.replayed + replayed })
    else if (stored.replayed === 0 && stored.operation === undefined) await this.#forget(type, [stored])
  }

  async #begun(type: string, { group, before, operation }: ReplayScope): Promise<StoredReplay | undefined> {
    if (operation !== undefined) return (await this.#read(type)).find((each) => each.operation === operation)
    if (group === null) return undefined
    const since = toSeconds(this.#deps.clock.wallMs()) - CONTINUED_SECONDS
    const isContinued = (each: StoredReplay): boolean =>
      each.operation === undefined && each.group === group && each.before === before && each.started_at > since
    return (await this.#read(type)).find(isContinued)
  }

  async #begin(type: string, scope: ReplayScope, pattern: string | null): Promise<StoredReplay> {
    const nowMs = this.#deps.clock.wallMs()
    const id = `${Math.floor(nowMs).toString(36)}-${this.#deps.random.uuid().slice(0, RANDOM_CHARS)}`
    const stored = { id, ...scope, pattern, started_at: toSeconds(nowMs), replayed: 0 }
    const isOfOperation = scope.operation !== undefined
    const alike = (await this.#read(type)).filter((each) => (each.operation !== undefined) === isOfOperation)
    await this.#forget(type, alike.slice(MAX_KEPT - 1))
    await this.#put(type, stored)
    return stored
  }

  /** Newest first. */
  async #read(type: string): Promise<readonly StoredReplay[]> {
    const [heads = []] = await this.#deps.backend.rollouts.heads([spaceOf(type)])
    return heads.map(({ head }) => JSON.parse(head) as StoredReplay).toSorted((a, b) => b.started_at - a.started_at)
  }

  async #put(type: string, stored: StoredReplay): Promise<void> {
    const report = { name: stored.id, head: JSON.stringify(stored), body: '', reportedAtMs: this.#deps.clock.wallMs() }
    await this.#deps.backend.rollouts.put(spaceOf(type), report)
  }

  async #forget(type: string, replays: readonly StoredReplay[]): Promise<void> {
    const { rollouts, tasks } = this.#deps.backend
    if (replays.length === 0) return
    for (const { id } of replays) await rollouts.remove(spaceOf(type), id)
    const ids = replays.map(({ id }) => id)
    await tasks.forgetReplays(type, ids)
  }
}

export function replaysRoute(replays: Replays): Route {
  return route({
    method: 'GET',
    path: `${API_PREFIX}/automations/{type}/dead/replays`,
    access: 'scoped',
    needs: 'read',
    response: ReplaysBody,
    summary:
      'The newest replays of dead tasks, 20 of operations and 20 others, with how many tasks are done and dead again.',
    handle: async ({ params: { type } }) => ({ body: { replays: await replays.list(type) } }),
  })
}
