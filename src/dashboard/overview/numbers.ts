/** @module dashboard/overview/numbers  Returns at most seven totals of the fleet, each with a link to its details. */
import type { OverviewBody } from '../../protocol/index.ts'
import { spanText } from '../components/age.ts'
import { countText } from '../components/numbers.ts'
import { formatRoute } from '../route.ts'

export interface FleetNumber {
  readonly name: string
  readonly text: string
  readonly href: string
  readonly tone: 'calm' | 'warn' | 'bad' | 'offline'
}

type TypeOverview = OverviewBody['automations'][string]

const OLD_SECONDS = 300
const compact = new Intl.NumberFormat('en', { notation: 'compact', maximumFractionDigits: 1 })
/** Larger numbers are shortened, for example 123,456 to 123.5K. */
const COMPACT_FROM = 100_000

const text = (n: number): string => (n >= COMPACT_FROM ? compact.format(n) : countText(n))
export const waitingOf = ({ queue }: TypeOverview): number =>
  queue === null ? 0 : queue.high + queue.normal + queue.low

export function fleetNumbers({ automations }: OverviewBody, nowSeconds: number): readonly FleetNumber[] {
  const all = Object.entries(automations)
  const sum = (of: (each: TypeOverview) => number): number => all.reduce((total, [, each]) => total + of(each), 0)
  /** The type with the largest value; the link leads to it. */
  const most = (of: (each: TypeOverview) => number): string | null =>
    all.toSorted(([, a], [, b]) => of(b) - of(a)).find(([, each]) => of(each) > 0)?.[0] ?? null
  const total = sum(({ workers }) => workers.total)
  const offline = total - sum(({ workers }) => workers.connected)
  const behind = sum(({ workers }) => workers.behind)
  const dead = (each: TypeOverview): number => each.queue?.dead ?? 0
  const oldest = all
    .flatMap(([type, { queue }]) =>
      queue === null || queue.oldest_submitted_at === null ? [] : [{ type, at: queue.oldest_submitted_at }],
    )
    .toSorted((a, b) => a.at - b.at)[0]
  const numbers: FleetNumber[] = [
    { name: 'Workers', text: text(total), href: formatRoute({ place: 'workers' }), tone: 'calm' },
    {
      name: 'Offline',
      text: text(offline),
      href: formatRoute({ place: 'workers', q: 'state:offline' }),
      tone: offline > 0 ? 'offline' : 'calm',
    },
    {
      name: 'Behind',
      text: text(behind),
      href: formatRoute({ place: 'workers', q: 'behind:yes' }),
      tone: behind > 0 ? 'warn' : 'calm',
    },
  ]
  if (all.some(([, { queue }]) => queue !== null)) {
    const age = oldest === undefined ? 0 : nowSeconds - oldest.at
    numbers.push(
      {
        name: 'Waiting',
        text: text(sum(waitingOf)),
        href: formatRoute({ place: 'tasks', type: most(waitingOf) }),
        tone: 'calm',
      },
      {
        name: 'Oldest',
        text: oldest === undefined ? '–' : spanText(age),
        href: formatRoute({ place: 'tasks', type: oldest?.type ?? null }),
        tone: age > OLD_SECONDS ? 'warn' : 'calm',
      },
      {
        name: 'Dead',
        text: text(sum(dead)),
        href: formatRoute({ place: 'tasks', type: most(dead), tab: 'dead' }),
        tone: sum(dead) > 0 ? 'bad' : 'calm',
      },
    )
  }
  return [
    ...numbers,
    {
      name: 'Output',
      text: text(sum(({ stream }) => stream.length)),
      href: formatRoute({ place: 'output', type: most(({ stream }) => stream.length) }),
      tone: 'calm',
    },
  ]
}
