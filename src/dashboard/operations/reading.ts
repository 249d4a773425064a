/** @module dashboard/operations/reading  Reads operations, those that run more often, and the results of replays. */
import type { OperationsBody, OperationShown, ReplayResult, ReplaysBody } from '../../protocol/index.ts'
import { isProblem } from '../api/problem.ts'
import { useRead, type Read } from '../api/queries.ts'
import { operationPath } from './path.ts'
import { listPollMs, pollMs } from './texts.ts'

const REPLAYS_EVERY_MS = 5_000
const REPLAYING_EVERY_MS = 2_000

/** The operations of all types that the token covers, newest first. */
export function useOperations(): Read<readonly OperationShown[]> {
  return useRead<readonly OperationShown[]>(
    ['operations'],
    listPollMs,
    async (api, signal) => (await api.get<OperationsBody>(['operations'], {}, signal)).body.operations,
  )
}

export function useOperation(type: string, id: string): Read<OperationShown> {
  return useRead<OperationShown>(
    ['operations', type, id],
    pollMs,
    async (api, signal) => (await api.get<OperationShown>(operationPath(type, id), {}, signal)).body,
  )
}

/**
 * What became of the newest replays of dead tasks, newest first (D180). Nothing with a master of an earlier release.
 *
 * @param isReplaying Whether an operation replays tasks now.
 */
export function useReplays(type: string, isReplaying: boolean): Read<readonly ReplayResult[]> {
  return useRead<readonly ReplayResult[]>(
    ['dead', type, 'replays'],
    isReplaying ? REPLAYING_EVERY_MS : REPLAYS_EVERY_MS,
    async (api, signal) => {
      try {
        return (await api.get<ReplaysBody>(['automations', type, 'dead', 'replays'], {}, signal)).body.replays
      } catch (error) {
        if (isProblem(error, 404)) return []
        throw error
      }
    },
  )
}
