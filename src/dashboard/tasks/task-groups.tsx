/**
 * @module dashboard/tasks/task-groups
 * Shows the groups of a queue that have tasks, those with the most pending tasks first (D119).
 */
import type { GroupBody, QueueBody } from '../../protocol/index.ts'
import { useRead } from '../api/queries.ts'
import { apiBase } from '../api/session.ts'
import { CardTable, Cell, Row, RowHead } from '../components/card-table.tsx'
import { curlCommand, musterCommand } from '../components/commands.ts'
import { CopyAs } from '../components/copy-as.tsx'
import { EmptyState } from '../components/empty-state.tsx'
import { countText } from '../components/numbers.ts'
import { ReadView } from '../components/read-state.tsx'
import { TimeLeft } from '../components/times.tsx'

const EVERY_MS = 5_000
const QUERY = { n: 1 }
const COLUMNS = ['Group', 'Pending', 'In flight', 'Next start'] as const

interface TaskGroupsProps {
  readonly type: string
  /** The most leases of a group; undefined: unbounded. */
  readonly most: number | undefined
}

export function TaskGroups({ type, most }: TaskGroupsProps) {
  const path = ['automations', type, 'queue']
  const read = useRead(
    ['queue', type, 'groups'],
    EVERY_MS,
    async (api, signal) => (await api.get<QueueBody>(path, QUERY, signal)).body.groups ?? [],
  )
  return (
    <section className="card">
      <div className="title">
        <h2>Groups</h2>
        <div className="buttons">
          <CopyAs
            commands={[
              curlCommand(apiBase(), { method: 'GET', path, query: QUERY }),
              musterCommand(apiBase(), 'queue', 'groups', type),
            ]}
          />
        </div>
      </div>
      <ReadView read={read}>
        {(groups) =>
          groups.length === 0 ? (
            <EmptyState kind="nothing" title="No groups with tasks">
              <p>A group is listed while one of its tasks is pending or in flight.</p>
            </EmptyState>
          ) : (
            <div className="queues">
              <CardTable
                label="Groups"
                columns={COLUMNS}
                numbers={['Pending', 'In flight']}
                stale={read.problem !== undefined}
              >
                {groups.map((group) => (
                  <GroupRow key={JSON.stringify(group.group_key)} group={group} most={most} />
                ))}
              </CardTable>
            </div>
          )
        }
      </ReadView>
    </section>
  )
}

function GroupRow({
  group: { group_key: key, pending, in_flight: inFlight, next_start_at: startsAt },
  most = Infinity,
}: {
  readonly group: GroupBody
  readonly most: number | undefined
}) {
  const isFull = pending > 0 && inFlight >= most
  return (
    <Row>
      <RowHead of="Group">{key === null ? <span className="soft">no group</span> : <bdi>{key}</bdi>}</RowHead>
      <Cell of="Pending" className="number">
        {countText(pending)}
      </Cell>
      <Cell of="In flight" className="number">
        {countText(inFlight)}
        {most < Infinity && ` of ${countText(most)}`}
      </Cell>
      <Cell of="Next start" className="why-short">
        {startsAt !== undefined && <TimeLeft until={startsAt} past="now" />}
        {startsAt === undefined && (isFull ? 'when a task ends' : '–')}
      </Cell>
    </Row>
  )
}
