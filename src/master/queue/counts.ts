/** @module master/queue/counts  Converts the counts of the store to the fields of the REST API. */
import { toSeconds, type QueueCountsBody, type QueueTotals } from '../../protocol/index.ts'
import type { Counts } from '../../storage/index.ts'

export function countsBody({ tiers: [high, normal, low], inFlight, scheduled, dead }: Counts): QueueCountsBody {
  return { high, normal, low, in_flight: inFlight, scheduled, dead }
}

export function totalsBody(counts: Counts): QueueTotals {
  return {
    ...countsBody(counts),
    oldest_submitted_at: counts.oldestSubmittedAtMs === null ? null : toSeconds(counts.oldestSubmittedAtMs),
  }
}
