/** @module master/queue/counts  Converts the counts of the store to the fields of the REST API. */
import { toSeconds, type QueueCountsBody, type QueuePause, type QueueTotals } from '../../protocol/index.ts'
import type { Counts, Pause } from '../../storage/index.ts'

function countsBody({ tiers: [high, normal, low], inFlight, scheduled, dead }: Counts): QueueCountsBody {
  return { high, normal, low, in_flight: inFlight, scheduled, dead }
}

export function totalsBody(counts: Counts): QueueTotals {
  return {
    ...countsBody(counts),
    oldest_submitted_at: counts.oldestSubmittedAtMs === null ? null : toSeconds(counts.oldestSubmittedAtMs),
    ...(counts.paused !== undefined && { paused: pauseBody(counts.paused) }),
  }
}

export function pauseBody({ note, actor, sinceMs, untilMs }: Pause): QueuePause {
  return { note, actor, since: toSeconds(sinceMs), until: untilMs === null ? null : toSeconds(untilMs) }
}
