/**
 * @module dashboard/overview/tier-card
 * Shows the waiting tasks by tier in the last hour. The default is the busiest queue.
 */
import { isBatch } from '../api/automations.ts'
import { useInstalled } from '../api/installed.ts'
import { TierChart } from '../tasks/tier-chart.tsx'
import { replaceRoute } from '../use-route.ts'

/** @param wanted The type in the URL; empty for the busiest one. */
export function TierCard({ wanted, busiest }: { readonly wanted: string; readonly busiest: string | null }) {
  const types = useInstalled()
    .automations.filter(isBatch)
    .map(({ type }) => type)
  const type = types.includes(wanted) ? wanted : (busiest ?? types[0])
  if (type === undefined) return null
  return (
    <section className="card tier-card" aria-labelledby="tier-title">
      <div className="title">
        <h2 id="tier-title">Waiting by tier, last hour</h2>
        <select
          aria-label="Queue"
          value={type}
          onChange={(event) => replaceRoute({ page: 'overview', type: event.target.value })}
        >
          {types.map((each) => (
            <option key={each} value={each}>
              {each}
            </option>
          ))}
        </select>
      </div>
      <TierChart key={type} type={type} />
    </section>
  )
}
