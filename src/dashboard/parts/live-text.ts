/** @module dashboard/parts/live-text  How much what is shown follows the fleet, in a word. */
import type { FeedState } from '../api/feed.ts'
import { spanText } from './age.ts'

/** A stream that comes back within this long is not worth a word. */
const PATIENCE_MS = 5_000

interface Badge {
  readonly mark: string
  readonly tone: 'good' | 'warn' | 'bad' | 'calm'
  readonly text: string
}

export interface BadgeFacts {
  readonly feed: FeedState
  readonly awaySinceMs: number | undefined
  readonly answeredAtMs: number | undefined
  readonly nowMs: number
  /** Unix seconds as the time of day. */
  readonly clock: (seconds: number) => string
}

export function badgeOf({ feed, awaySinceMs, answeredAtMs, nowMs, clock }: BadgeFacts): Badge {
  if (feed.kind === 'paused') return { mark: '❚❚', tone: 'warn', text: `paused by you ${clock(feed.sinceMs / 1_000)}` }
  if (awaySinceMs !== undefined && nowMs - awaySinceMs >= PATIENCE_MS)
    return { mark: '◌', tone: 'bad', text: `offline since ${clock(awaySinceMs / 1_000)}` }
  if (feed.kind === 'live')
    return {
      mark: '●',
      tone: 'good',
      text: answeredAtMs === undefined ? 'live' : `live ${spanText(Math.max(1, (nowMs - answeredAtMs) / 1_000))}`,
    }
  if (feed.kind === 'lost' && nowMs - feed.sinceMs >= PATIENCE_MS && awaySinceMs === undefined)
    return { mark: '◔', tone: 'warn', text: 'polling' }
  return { mark: '◔', tone: 'calm', text: feed.kind === 'connecting' ? 'connecting' : 'reconnecting' }
}
