/** @module dashboard/components/live-text  Chooses the text of the live badge. */
import type { FeedState } from '../api/feed.ts'
import { spanText } from './age.ts'

/** Shorter interruptions of the stream are not reported. */
const PATIENCE_MS = 5_000

interface Badge {
  readonly mark: string
  readonly tone: 'good' | 'warn' | 'bad' | 'calm'
  readonly text: string
}

export interface BadgeFacts {
  readonly feed: FeedState
  readonly unavailableSinceMs: number | undefined
  readonly lastResponseAtMs: number | undefined
  readonly nowMs: number
  /** Formats Unix seconds as a time of day. */
  readonly clock: (seconds: number) => string
}

export function badgeOf({ feed, unavailableSinceMs, lastResponseAtMs, nowMs, clock }: BadgeFacts): Badge {
  if (feed.kind === 'paused') return { mark: '❚❚', tone: 'warn', text: `paused since ${clock(feed.sinceMs / 1_000)}` }
  if (unavailableSinceMs !== undefined && nowMs - unavailableSinceMs >= PATIENCE_MS)
    return { mark: '⊘', tone: 'bad', text: `offline since ${clock(unavailableSinceMs / 1_000)}` }
  if (feed.kind === 'live')
    return {
      mark: '●',
      tone: 'good',
      text:
        lastResponseAtMs === undefined ? 'live' : `live ${spanText(Math.max(1, (nowMs - lastResponseAtMs) / 1_000))}`,
    }
  if (feed.kind === 'lost' && nowMs - feed.sinceMs >= PATIENCE_MS && unavailableSinceMs === undefined)
    return { mark: '◔', tone: 'warn', text: 'polling' }
  return { mark: '◔', tone: 'calm', text: feed.kind === 'connecting' ? 'connecting' : 'reconnecting' }
}
