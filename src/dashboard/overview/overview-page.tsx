/**
 * @module dashboard/overview/overview-page
 * The overview page: one summary sentence, at most seven totals, waiting tasks and what needs attention. Everything
 * links to its details.
 */
import type { OverviewBody } from '../../protocol/index.ts'
import { useAnnouncement } from '../components/announcements.tsx'
import { EmptyState } from '../components/empty-state.tsx'
import { ReadState } from '../components/read-state.tsx'
import { Age } from '../components/times.tsx'
import { useServerNow } from '../components/use-now.ts'
import type { RouteTo } from '../route.ts'
import { useFleetStatus, useOverview, type FleetStatus } from '../workers/use-workers.ts'
import { explainFleet } from '../diagnosis/explain-fleet.ts'
import { fleetSummaryText, type Attention } from '../diagnosis/attention.ts'
import { WhyFleet } from '../diagnosis/diagnosis.tsx'
import { AutomationsTable } from './automations-table.tsx'
import { fleetNumbers, waitingOf } from './numbers.ts'
import { TierCard } from './tier-card.tsx'
import './overview.css'

export function OverviewPage({ route: { type } }: { readonly route: RouteTo<'overview'> }) {
  const read = useOverview()
  const status = useFleetStatus()
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
            <NeedsAttention items={status?.attention} />
            <TierCard wanted={type} busiest={busiestOf(overview)} />
          </div>
          <AutomationsTable overview={overview} stale={false} />
          <p className="soft">
            Updated by the master <Age at={overview.ts} />.
          </p>
        </div>
      )}
    </>
  )
}

const busiestOf = ({ automations }: OverviewBody): string | null =>
  Object.entries(automations)
    .filter(([, { queue }]) => queue !== null)
    .toSorted(([, a], [, b]) => waitingOf(b) - waitingOf(a))[0]?.[0] ?? null

function FleetSummary({
  overview,
  status,
}: {
  readonly overview: OverviewBody
  readonly status: FleetStatus | undefined
}) {
  const attention = status?.attention ?? []
  const text = fleetSummaryText(overview, attention)
  useAnnouncement('the fleet', text)
  return (
    <div className="fleet-summary-line">
      <p className={`fleet-summary ${attention.length > 0 ? 'is-attention' : 'is-well'}`}>{text}</p>
      {status !== undefined && attention.length > 0 && (
        <WhyFleet causes={() => explainFleet(status.facts, attention)} />
      )}
    </div>
  )
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

const SHOWN = 12

function NeedsAttention({ items }: { readonly items: readonly Attention[] | undefined }) {
  return (
    <section className="card" aria-labelledby="attention-title">
      <h2 id="attention-title">
        Needs attention {items !== undefined && items.length > 0 && <span className="count">{items.length}</span>}
      </h2>
      {items === undefined && <p className="reading">Loading…</p>}
      {items?.length === 0 && (
        <EmptyState kind="nothing" title="No problems">
          <p>Offline workers, errors, stuck queues and dead tasks are listed here.</p>
        </EmptyState>
      )}
      <ul className="attention">
        {items?.slice(0, SHOWN).map((item) => (
          <AttentionRow key={`${item.kind} ${item.subject}`} item={item} />
        ))}
      </ul>
      {items !== undefined && items.length > SHOWN && <p className="soft">and {items.length - SHOWN} more</p>}
    </section>
  )
}

const MARKS = { bad: '✗', warn: '▲', offline: '◌' } as const

function AttentionRow({ item: { tone, subject, text, since, link } }: { readonly item: Attention }) {
  return (
    <li>
      <span className={tone} aria-hidden="true">
        {MARKS[tone]}
      </span>
      <span className="attention-text">
        <bdi className="attention-subject">{subject}</bdi> <bdi>{text}</bdi>
        {since !== null && (
          <span className="soft">
            , since <Age at={since} />
          </span>
        )}
      </span>
      <a className="button" href={link.href}>
        Open
        <span className="hidden">
          {' '}
          <bdi>{subject}</bdi>: <bdi>{text}</bdi>
        </span>
      </a>
    </li>
  )
}
