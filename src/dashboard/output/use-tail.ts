/**
 * @module dashboard/output/use-tail
 * Follows a stream by polling: reads the entries after the last one, 1 s after the previous response, or immediately if
 * a response was full. Polling stops while the tab is hidden and while the tail or the page is paused.
 */
import { useEffect, useState } from 'react'
import type { TailBody } from '../../protocol/index.ts'
import type { Api } from '../api/client.ts'
import { useFeedState } from '../api/live.ts'
import { asProblem, type Problem } from '../api/problem.ts'
import { useSession } from '../api/session.ts'
import { pause, visible } from '../api/waits.ts'
import { EMPTY_TAIL, withResponse, type Tail } from './tail-buffer.ts'

const EVERY_MS = 1_000
const PER_READ = 1_000
const FIRST_READ = 100

interface TailStatus {
  readonly tail: Tail
  /** Local time of the last response in milliseconds. */
  readonly atMs: number | undefined
  readonly problem: Problem | undefined
}

const NOT_READ: TailStatus = { tail: EMPTY_TAIL, atMs: undefined, problem: undefined }

export interface TailHandle extends TailStatus {
  /** Whether the user paused the tail or the page. */
  readonly isPaused: boolean
  readonly clear: () => void
}

export function useTail(type: string, wantsPause: boolean): TailHandle {
  const { api, suspended } = useSession()
  const [now, setNow] = useState(NOT_READ)
  const isPaused = useFeedState().kind === 'paused' || wantsPause
  useEffect(() => {
    if (isPaused || suspended) return undefined
    const stop = new AbortController()
    void follow(api, type, stop.signal, setNow)
    return () => stop.abort()
  }, [api, type, isPaused, suspended])
  return {
    ...now,
    isPaused,
    clear: () => setNow(({ tail, ...rest }) => ({ ...rest, tail: { ...tail, rows: [], dropped: 0 } })),
  }
}

type Update = (change: (last: TailStatus) => TailStatus) => void

async function follow(api: Api, type: string, signal: AbortSignal, update: Update): Promise<void> {
  let lastId = await lastIdOf(update)
  while (!signal.aborted) {
    await visible(signal)
    let waitMs = EVERY_MS
    try {
      const n = lastId === null ? FIRST_READ : PER_READ
      const { body } = await api.get<TailBody>(
        ['automations', type, 'output', 'tail'],
        { n, ...(lastId === null ? {} : { after: lastId }) },
        signal,
      )
      if (signal.aborted) return
      lastId = body.entries.at(-1)?.id ?? lastId
      if (body.entries.length === PER_READ) waitMs = 0
      update(({ tail }) => ({ tail: withResponse(tail, body), atMs: Date.now(), problem: undefined }))
    } catch (error) {
      if (signal.aborted) return
      const problem = asProblem(error)
      waitMs = Math.max(EVERY_MS * 2, (problem.retryAfterSeconds ?? 0) * 1_000)
      update((last) => ({ ...last, problem }))
    }
    await pause(waitMs, signal)
  }
}

/** ID of the last entry. It is read inside a state update because only there the current state is known. */
function lastIdOf(update: Update): Promise<string | null> {
  return new Promise((resolve) => {
    update((last) => {
      resolve(last.tail.lastId)
      return last
    })
  })
}
