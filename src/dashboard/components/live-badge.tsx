/**
 * @module dashboard/components/live-badge
 * Renders the live badge, which shows whether data are live, polled, offline or paused. Clicking it pauses or resumes
 * updates.
 */
import { useUnavailableSince, connectivity } from '../api/connectivity.ts'
import { useFeed, useFeedState } from '../api/live.ts'
import { useAnnouncement } from './announcements.tsx'
import { badgeOf } from './live-text.ts'
import { shortClockText } from './moments.ts'
import { useLocalNow } from './use-now.ts'

export function LiveBadge() {
  const feed = useFeed()
  const state = useFeedState()
  const now = useLocalNow()
  const { mark, tone, text } = badgeOf({
    feed: state,
    unavailableSinceMs: useUnavailableSince(),
    lastResponseAtMs: connectivity.now.lastResponseAtMs,
    nowMs: now,
    clock: shortClockText,
  })
  const isPaused = state.kind === 'paused'
  useAnnouncement('live', tone === 'good' ? 'Live.' : `${text}.`)
  return (
    <button
      type="button"
      className={`live ${tone}`}
      aria-pressed={isPaused}
      onClick={() => (isPaused ? feed.resume() : feed.pause())}
      title={isPaused ? 'Resume live updates (p)' : 'Pause live updates (p)'}
    >
      <span aria-hidden="true">{mark}</span> {text}
    </button>
  )
}
