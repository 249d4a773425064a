/**
 * @module master/worker-logs/routes
 * Serves the newest log entries of a worker (D181), which the worker keeps and the master requests.
 */
import {
  API_PREFIX,
  DEFAULT_N,
  FleetError,
  LOG_READ_WITHIN_MS,
  WorkerLogsBody,
  WorkerLogsQuery,
} from '../../protocol/index.ts'
import type { Ref } from '../../storage/index.ts'
import type { LogReadResult } from '../control/index.ts'
import type { Part } from '../deps.ts'
import { route } from '../http/index.ts'
import { LogReader, type LogReaderDeps } from './log-reader.ts'

const RETRY_SECONDS = 1

export function createWorkerLogs(deps: LogReaderDeps): Part {
  const reader = new LogReader(deps)
  return {
    routes: [
      route({
        method: 'GET',
        path: `${API_PREFIX}/automations/{type}/workers/{id}/logs`,
        access: 'scoped',
        needs: 'read',
        query: WorkerLogsQuery,
        response: WorkerLogsBody,
        refuses: ['UPGRADING', 'OVERLOADED'],
        summary:
          'The newest log entries that a connected worker keeps, oldest first: without `after` the newest ones, with ' +
          '`after` the oldest ones behind that sequence number.',
        handle: async (request) => {
          const { params, query, principal, signal } = request
          const ref = { type: params.type, id: params.id }
          const { limit = DEFAULT_N.logs, ...filter } = query
          const text = textOf(ref, await reader.read(ref, { ...filter, limit }))
          return deps.inspections.respond({ principal, signal }, async (out) => out.items([text]))
        },
      }),
    ],
    start: () => reader.start(),
    stop: () => reader.stop(),
  }
}

/** @throws {FleetError} that says why the log cannot be read, and what to do. */
function textOf({ type, id }: Ref, result: LogReadResult): string {
  const worker = `worker ${JSON.stringify(id)} of type ${type}`
  switch (result.kind) {
    case 'logs':
      return result.text
    case 'offline':
      throw new FleetError(
        'NOT_FOUND',
        `${worker} is offline, and its log is in its memory; read it when it is connected`,
      )
    case 'outdated': {
      const version = result.version === null ? 'an older release' : `version ${result.version}`
      throw new FleetError('NOT_FOUND', `${worker} runs ${version}, which cannot show its log; upgrade the worker`)
    }
    case 'busy':
      throw new FleetError('OVERLOADED', 'too many reads of logs are waiting for workers; try again', {
        retryAfterSeconds: RETRY_SECONDS,
      })
    case 'silent':
      // Not a 503, after which clients would slow down all their requests: the master is well.
      throw new FleetError(
        'TIMED_OUT',
        `${worker} did not return its log within ${LOG_READ_WITHIN_MS / 1_000} s; try again`,
      )
  }
}
