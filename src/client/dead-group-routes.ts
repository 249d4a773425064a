/**
 * @module client/dead-group-routes
 * The calls for groups of dead tasks.
 * @see D157, D158, D159
 */
import type {
  DeadGroupsBody,
  JsonObject,
  NewestDeadBody,
  RemovedGroupBody,
  ReplayedEditedBody,
  ReplayedGroupBody,
  ReplaysBody,
} from '../protocol/index.ts'
import type { ApiCaller, RequestOptions } from './api-caller.ts'
import type { MasterResponse } from './response.ts'
import { pathOf } from './task-routes.ts'

/** Which tasks of a group are replayed, and how fast. */
export interface GroupReplay {
  /** Tasks that died at this time or later stay dead; unix seconds. */
  readonly before: number
  /** This many tasks a second become due; all are pending immediately if it is omitted. */
  readonly perSecond?: number | undefined
  /** When the first of them is due; 0 if omitted. */
  readonly delaySeconds?: number | undefined
}

/** Lists, replays and removes dead tasks by the groups of their errors. Part of the client. */
export class DeadGroupRoutes {
  readonly #caller: ApiCaller

  /** Creates this part of a client. */
  constructor(caller: ApiCaller) {
    this.#caller = caller
  }

  /**
   * Returns the newest 20 replays of dead tasks, newest first, and what became of their tasks.
   * @throws {MasterError} NOT_FOUND when the master is of an earlier release.
   */
  replays(type: string, options?: RequestOptions): Promise<MasterResponse<ReplaysBody>> {
    return this.#caller.call({ method: 'GET', path: pathOf(type, ['dead', 'replays']) }, options)
  }

  /** Returns the groups of dead tasks, newest death first. */
  list(type: string, options?: RequestOptions): Promise<MasterResponse<DeadGroupsBody>> {
    return this.#caller.call({ method: 'GET', path: pathOf(type, ['dead', 'groups']) }, options)
  }

  /**
   * Returns dead tasks, newest death first, one page at a time.
   * @param options `group`: only its tasks. `n`: 1 to 500 tasks; 50 if omitted. `cursor`: that of the page before.
   * @returns `cursor` is null behind the last page.
   * @throws {MasterError} INVALID when the cursor has a wrong form.
   */
  newest(
    type: string,
    {
      group,
      n,
      cursor,
      ...options
    }: RequestOptions & {
      readonly group?: string | undefined
      readonly n?: number | undefined
      readonly cursor?: string | undefined
    } = {},
  ): Promise<MasterResponse<NewestDeadBody>> {
    return this.#caller.call({ method: 'GET', path: pathOf(type, ['dead', 'newest'], { group, n, cursor }) }, options)
  }

  /**
   * Replays tasks of a group, oldest death first. Never repeated: if the response is lost, some were replayed.
   * @param group The name of the group.
   * @param replay Which of its tasks, and how fast.
   * @returns up to 10,000 tasks; with `more`, call again with its `delay_seconds`.
   */
  replay(
    type: string,
    group: string,
    replay: GroupReplay,
    options?: RequestOptions,
  ): Promise<MasterResponse<ReplayedGroupBody>> {
    const { before, perSecond, delaySeconds } = replay
    const body = { before, per_second: perSecond, delay_seconds: delaySeconds }
    return this.#caller.call({ method: 'POST', path: pathOf(type, ['dead', 'groups', group, 'replay']), body }, options)
  }

  /**
   * Removes tasks of a group permanently.
   * @param group The name of the group.
   * @param before Tasks that died at this time or later stay dead; unix seconds.
   * @returns up to 10,000 tasks; with `more`, call again.
   */
  remove(
    type: string,
    group: string,
    before: number,
    options?: RequestOptions,
  ): Promise<MasterResponse<RemovedGroupBody>> {
    const path = pathOf(type, ['dead', 'groups', group, 'remove'])
    return this.#caller.call({ method: 'POST', path, body: { before }, repeat: 'always' }, options)
  }

  /**
   * Replays a dead task with another payload.
   * @param taskId The ID of the task.
   * @param edited `diedAt`: the death that the caller has seen, unix seconds. `payload`: the new one.
   * @returns `not_dead` if the task is not dead, or died again since then.
   * @throws {MasterError} INVALID when the payload does not match the schema of the type.
   */
  replayEdited(
    type: string,
    taskId: string,
    edited: { readonly diedAt: number; readonly payload: JsonObject },
    options?: RequestOptions,
  ): Promise<MasterResponse<ReplayedEditedBody>> {
    const path = pathOf(type, ['dead', 'tasks', taskId, 'replay'])
    return this.#caller.call(
      { method: 'POST', path, body: { died_at: edited.diedAt, payload: edited.payload } },
      options,
    )
  }
}
