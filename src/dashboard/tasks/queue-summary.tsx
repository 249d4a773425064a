/** @module dashboard/tasks/queue-summary  Each batch queue in one line: what waits, what is dead. */
import type { DeadBody, QueueBody } from '../../protocol/index.ts'
import type { Api } from '../api/client.ts'
import { usePolled } from '../api/use-polled.ts'
import { Freshness } from '../parts/freshness.tsx'
import { countText } from '../parts/numbers.ts'
import { formatRoute } from '../route.ts'

const EVERY_MS = 5_000

interface Lengths { readonly type: string; readonly waiting: number; readonly dead: number }

async function loadLengths(api: Api, type: string, signal: AbortSignal): Promise<Lengths> {
  const [queue, dead] = await Promise.all([
    api.get<QueueBody>(['automations', type, 'queue'], { n: 1 }, signal),
    api.get<DeadBody>(['automations', type, 'dead'], { n: 1 }, signal),
  ])
  return { type, waiting: queue.body.length, dead: dead.body.length }
}

export function QueueSummary({ types }: { readonly types: readonly string[] }) {
  const polled = usePolled(`queues ${types.join(' ')}`, EVERY_MS, (api, signal) => Promise.all(types.map((type) => loadLengths(api, type, signal))))
  if (types.length === 0) return null
  return (
    <section aria-label="Queues" className={polled.problem === undefined ? '' : 'stale'}>
      {polled.data === undefined && <Freshness polled={polled} every="5 s" />}
      <ul className="queues">
        {(polled.data ?? []).map(({ type, waiting, dead }) => (
          <li key={type}>
            <a href={formatRoute({ place: 'tasks', name: type })}><bdi>{type}</bdi></a>
            <span>{countText(waiting)} waiting</span>
            <span className={dead > 0 ? 'bad' : ''}>{countText(dead)} dead</span>
          </li>
        ))}
      </ul>
    </section>
  )
}
