/**
 * @module dashboard/worker/use-worker-log
 * Follows the log of a worker by polling, while the browser tab is visible and neither the log nor the page is paused.
 */
import { useEffect, useState } from 'react'
import type { WorkerLogsBody } from '../../protocol/index.ts'
import type { Api, Query } from '../api/client.ts'
import { useFeedState } from '../api/live.ts'
import { asProblem, type Problem } from '../api/problem.ts'
import { useSession } from '../api/session.ts'
import { pause, visible } from '../api/waits.ts'
import { EMPTY_LOG, withLogs, type LogBuffer } from './log-buffer.ts'

const FIRST_READ = 500
const PER_READ = 1_000

export interface LogSource {
  readonly type: string
  readonly id: string
  /** Only entries of this task. */
  readonly task?: string
  readonly everyMs: number
  /** If false, nothing is read; earlier entries stay available. */
  readonly isRead: boolean
}

interface LogStatus {
  readonly log: LogBuffer
  /** Local time of the last response in milliseconds. */
  readonly atMs: number | undefined
  readonly problem: Problem | undefined
}

export interface LogHandle extends LogStatus {
  /** Whether the page is paused. */
  readonly isPagePaused: boolean
  /** Reads again everything that the worker keeps. */
  readonly readAll: () => void
}

const NOT_READ: LogStatus = { log: EMPTY_LOG, atMs: undefined, problem: undefined }
const FROM_START: LogStatus = { ...NOT_READ, log: { ...EMPTY_LOG, next: 0 } }

export function useWorkerLog({ type, id, task, everyMs, isRead }: LogSource): LogHandle {
  const { api, suspended } = useSession()
  const [status, setStatus] = useState(NOT_READ)
  const [round, setRound] = useState(0)
  const isPagePaused = useFeedState().kind === 'paused'
  const isStopped = isPagePaused || suspended || !isRead
  useEffect(() => {
    if (isStopped) return undefined
    const stop = new AbortController()
    void follow({ api, type, id, task, everyMs, round, signal: stop.signal, update: setStatus })
    return () => stop.abort()
  }, [api, type, id, task, everyMs, isStopped, round])
  const readAll = (): void => {
    setStatus(FROM_START)
    setRound(round + 1)
  }
  return { ...status, isPagePaused, readAll }
}

interface Following {
  readonly api: Api
  readonly type: string
  readonly id: string
  readonly task: string | undefined
  readonly everyMs: number
  /** Another number starts another loop, which begins to read immediately. */
  readonly round: number
  readonly signal: AbortSignal
  readonly update: (change: (last: LogStatus) => LogStatus) => void
}

async function follow({ api, type, id, task, everyMs, signal, update }: Following): Promise<void> {
  let next = await nextOf(update)
  while (!signal.aborted) {
    await visible(signal)
    let waitMs = everyMs
    try {
      const query: Query = {
        ...(next === null ? { limit: FIRST_READ } : { after: next, limit: PER_READ }),
        ...(task !== undefined && { task_id: task }),
      }
      const { body } = await api.get<WorkerLogsBody>(['automations', type, 'workers', id, 'logs'], query, signal)
      if (signal.aborted) return
      next = body.next
      if (body.has_more && query['after'] !== undefined) waitMs = 0
      update(({ log }) => ({ log: withLogs(log, body), atMs: Date.now(), problem: undefined }))
    } catch (error) {
      if (signal.aborted) return
      const problem = asProblem(error)
      waitMs = Math.max(everyMs * 2, (problem.retryAfterSeconds ?? 0) * 1_000)
      update((last) => ({ ...last, problem }))
    }
    await pause(waitMs, signal)
  }
}

/** Where the next read continues. It is read inside a state update because only there the current state is known. */
function nextOf(update: Following['update']): Promise<number | null> {
  return new Promise((resolve) => {
    update((last) => {
      resolve(last.log.next)
      return last
    })
  })
}
