/**
 * @module dashboard/overview/overview-page
 * The overview page: one summary sentence, at most seven totals, the throughput and what needs attention. Everything
 * links to its details.
 */
import type { OverviewBody } from '../../protocol/index.ts'
import { lazy, Suspense } from 'react'
import { useAlerts } from '../alerts/use-alerts.ts'
import { useAnnouncement } from '../components/announcements.tsx'
import { ReadState } from '../components/read-state.tsx'
import { Age } from '../components/times.tsx'
import { useServerNow } from '../components/use-now.ts'
import { FlowCard } from '../history/flow-card.tsx'
import type { RouteTo } from '../route.ts'
import { useOverview } from '../workers/use-workers.ts'
import { worstTone, type Attention } from '../diagnosis/attention.ts'
import { FailingNow, WhyFleet } from '../diagnosis/diagnosis.tsx'
import { useFleetStatus, type FleetStatus } from '../diagnosis/fleet-status.ts'
import { fleetSummaryText } from '../diagnosis/summary-text.ts'
import { useRatedAttention } from '../diagnosis/use-rates.ts'
import { AttentionList } from './attention-list.tsx'
import { AutomationsTable } from './automations-table.tsx'
import { fleetNumbers } from './numbers.ts'
import './overview.css'

const AlertList = lazy(async () => ({ default: (await import('../alerts/alert-list.tsx')).AlertList }))

export function OverviewPage({ route }: { readonly route: RouteTo<'overview'> }) {
  const read = useOverview()
  const status = useRatedStatus()
  const { data: overview, problem } = read
  return (
    <>
      <h1 className="hidden">Overview</h1>
      <ReadState read={read} />
      {overview !== undefined && (
        <div className={problem === undefined ? undefined : 'stale'}>
          <FleetSummary overview={overview} status={status} />
          <FleetTotals overview={overview} />
          <div className="halves">
            <AttentionList
              items={status?.attention}
              acknowledged={status?.acknowledged ?? []}
              canAcknowledge={status?.canAcknowledge ?? false}
            />
            <FlowCard route={route} />
          </div>
          <Alerts />
          <AutomationsTable overview={overview} stale={false} />
          <p className="soft">
            Updated by the master <Age at={overview.ts} />.
          </p>
        </div>
      )}
    </>
  )
}

/** Nothing until an alert has fired. */
function Alerts() {
  const alerts = useAlerts() ?? []
  if (alerts.length === 0) return null
  return (
    <Suspense>
      <AlertList alerts={alerts} />
    </Suspense>
  )
}

const NONE: readonly Attention[] = []

/** The status of the fleet, with how much fails now. */
function useRatedStatus(): FleetStatus | undefined {
  const status = useFleetStatus()
  const attention = useRatedAttention(status?.attention ?? NONE)
  return status && { ...status, attention }
}

function FleetSummary({
  overview,
  status,
}: {
  readonly overview: OverviewBody
  readonly status: FleetStatus | undefined
}) {
  const attention = status?.attention ?? []
  const acknowledged = status?.acknowledged.filter(({ item }) => item !== null).length ?? 0
  const text = fleetSummaryText(overview, attention, acknowledged)
  useAnnouncement('the fleet', text)
  return (
    <div className="fleet-summary-line">
      <p className={`fleet-summary ${toneOf(overview, attention)}`}>{text}</p>
      {status !== undefined && attention.length > 0 && (
        <>
          <WhyFleet status={status} />
          <FailingNow status={status} />
        </>
      )}
    </div>
  )
}

/** A fleet without workers is neither well nor in trouble. */
function toneOf({ automations }: OverviewBody, attention: readonly Attention[]): string {
  const worst = worstTone(attention)
  if (worst !== undefined) return `is-attention is-${worst}`
  return Object.values(automations).some(({ workers }) => workers.total > 0) ? 'is-well' : 'is-empty'
}

function FleetTotals({ overview }: { readonly overview: OverviewBody }) {
  const now = useServerNow()
  return (
    <ul className="numbers" aria-label="Fleet totals">
      {fleetNumbers(overview, now).map(({ name, text, href, tone }) => (
        <li key={name}>
          <a href={href}>
            <span className="number-name">{name}</span>{' '}
            <strong className={tone === 'calm' ? undefined : tone}>{text}</strong>
          </a>
        </li>
      ))}
    </ul>
  )
}
