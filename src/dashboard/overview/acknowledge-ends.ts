/** @module dashboard/overview/acknowledge-ends  The ends of an acknowledgement that the dialog offers. */
import type { AcknowledgeBody } from '../../protocol/index.ts'

const HOUR_SECONDS = 3_600
const WORK_BEGINS_HOUR = 9

export const ACKNOWLEDGE_ENDS = [
  { text: 'In 1 hour', kind: 'hour' },
  { text: 'Tomorrow at 09:00', kind: 'tomorrow' },
  { text: 'In 1 week', kind: 'week' },
  { text: 'When it changes: more of it, or another error', kind: 'change' },
] as const

type End = (typeof ACKNOWLEDGE_ENDS)[number]

/** @returns the part of the body that has the end. */
export function endBody(
  { kind }: End,
  nowSeconds: number,
  isUtc: boolean,
): Pick<AcknowledgeBody, 'seconds' | 'until_change'> {
  switch (kind) {
    case 'hour':
      return { seconds: HOUR_SECONDS }
    case 'week':
      return { seconds: 7 * 24 * HOUR_SECONDS }
    case 'change':
      return { until_change: true }
    case 'tomorrow':
      return { seconds: Math.ceil(tomorrowSeconds(nowSeconds, isUtc) - nowSeconds) }
  }
}

/** Tomorrow at 09:00 in the time zone that the page shows. */
export function tomorrowSeconds(nowSeconds: number, isUtc: boolean): number {
  const day = new Date(nowSeconds * 1_000)
  if (isUtc) {
    day.setUTCDate(day.getUTCDate() + 1)
    day.setUTCHours(WORK_BEGINS_HOUR, 0, 0, 0)
  } else {
    day.setDate(day.getDate() + 1)
    day.setHours(WORK_BEGINS_HOUR, 0, 0, 0)
  }
  return day.getTime() / 1_000
}
