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

type Types = readonly [type: string, overview: TypeOverview][]

export function fleetNumbers({ automations }: OverviewBody, nowSeconds: number): readonly FleetNumber[] {
  const types: Types = Object.entries(automations)
  const hasQueue = types.some(([, { queue }]) => queue !== null)
  return [...workerNumbers(types), ...(hasQueue ? queueNumbers(types, nowSeconds) : []), outputNumber(types)]
}

const sum = (types: Types, valueOf: (each: TypeOverview) => number): number =>
  types.reduce((total, [, each]) => total + valueOf(each), 0)

/** The type with the largest value, to which the link leads; null if all values are 0. */
const typeWithMost = (types: Types, valueOf: (each: TypeOverview) => number): string | null =>
  types.toSorted(([, a], [, b]) => valueOf(b) - valueOf(a)).find(([, each]) => valueOf(each) > 0)?.[0] ?? null

function workerNumbers(types: Types): readonly FleetNumber[] {
  const total = sum(types, ({ workers }) => workers.total)
  const offline = total - sum(types, ({ workers }) => workers.connected)
  const behind = sum(types, ({ workers }) => workers.behind)
  return [
    { name: 'Workers', text: text(total), href: formatRoute({ page: 'workers' }), tone: 'calm' },
    {
      name: 'Offline',
      text: text(offline),
      href: formatRoute({ page: 'workers', q: 'state:offline' }),
      tone: offline > 0 ? 'offline' : 'calm',
    },
    {
      name: 'Behind',
      text: text(behind),
      href: formatRoute({ page: 'workers', q: 'behind:yes' }),
      tone: behind > 0 ? 'warn' : 'calm',
    },
  ]
}

const deadOf = ({ queue }: TypeOverview): number => queue?.dead ?? 0

function queueNumbers(types: Types, nowSeconds: number): readonly FleetNumber[] {
  const oldest = oldestTask(types)
  const age = oldest === undefined ? 0 : nowSeconds - oldest.at
  const dead = sum(types, deadOf)
  return [
    {
      name: 'Waiting',
      text: text(sum(types, waitingOf)),
      href: formatRoute({ page: 'tasks', type: typeWithMost(types, waitingOf) }),
      tone: 'calm',
    },
    {
      name: 'Oldest',
      text: oldest === undefined ? '–' : spanText(age),
      href: formatRoute({ page: 'tasks', type: oldest?.type ?? null }),
      tone: age > OLD_SECONDS ? 'warn' : 'calm',
    },
    {
      name: 'Dead',
      text: text(dead),
      href: formatRoute({ page: 'tasks', type: typeWithMost(types, deadOf), tab: 'dead' }),
      tone: dead > 0 ? 'bad' : 'calm',
    },
  ]
}

function oldestTask(types: Types): { readonly type: string; readonly at: number } | undefined {
  const oldest = types.flatMap(([type, { queue }]) =>
    queue === null || queue.oldest_submitted_at === null ? [] : [{ type, at: queue.oldest_submitted_at }],
  )
  return oldest.toSorted((a, b) => a.at - b.at)[0]
}

const lengthOf = ({ stream }: TypeOverview): number => stream.length

const outputNumber = (types: Types): FleetNumber => ({
  name: 'Output',
  text: text(sum(types, lengthOf)),
  href: formatRoute({ page: 'output', type: typeWithMost(types, lengthOf) }),
  tone: 'calm',
})
