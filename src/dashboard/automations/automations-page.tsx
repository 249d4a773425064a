/**
 * @module dashboard/automations/automations-page
 * The automations page: the list, and one automation with its rollouts and schemas.
 */
import type { JsonSchema, OverviewBody } from '../../protocol/index.ts'
import { isBatch, type Automation } from '../api/automations.ts'
import { useInstalled } from '../api/installed.ts'
import { CardTable, Cell, Row, RowHead } from '../components/card-table.tsx'
import { Choices } from '../components/choices.tsx'
import { EmptyState } from '../components/empty-state.tsx'
import { countText } from '../components/numbers.ts'
import { ReadState } from '../components/read-state.tsx'
import { UnknownType } from '../components/unknown-type.tsx'
import { RolloutCards } from '../rollouts/rollout-cards.tsx'
import { formatRoute, type RouteTo } from '../route.ts'
import { useOverview } from '../workers/use-workers.ts'
import { PauseControl } from '../tasks/pause-control.tsx'
import { SchemaView } from './schema-view.tsx'
import './automations.css'

export function AutomationsPage({ route: { type } }: { readonly route: RouteTo<'automations'> }) {
  const { automations } = useInstalled()
  const open = automations.find((each) => each.type === type)
  return (
    <>
      <h1>Automations</h1>
      {automations.length === 0 && (
        <EmptyState kind="nothing" title="No automations">
          <p>This token covers no installed automation.</p>
        </EmptyState>
      )}
      {automations.length > 0 && type !== null && (
        <Choices
          label="Automations"
          names={automations.map((each) => each.type)}
          open={type}
          to={(name) => ({ page: 'automations', type: name })}
        />
      )}
      {automations.length > 0 && type === null && <AutomationList automations={automations} />}
      {type !== null && open === undefined && automations.length > 0 && (
        <UnknownType type={type} title="Automation not found" />
      )}
      {open !== undefined && <AutomationDetails key={open.type} automation={open} />}
    </>
  )
}

const kindText = (automation: Automation): string =>
  isBatch(automation) ? 'batch: slots take tasks from a queue' : 'continuous: slots run all the time'

function AutomationList({ automations }: { readonly automations: readonly Automation[] }) {
  const read = useOverview()
  return (
    <>
      <ReadState read={read} />
      <CardTable
        label="Installed automations"
        columns={['Type', 'Kind', 'Class', 'Workers', 'Slots', 'Pools']}
        numbers={['Workers', 'Slots']}
        stale={read.problem !== undefined}
      >
        {automations.map((automation) => (
          <AutomationRow key={automation.type} automation={automation} of={read.data?.automations[automation.type]} />
        ))}
      </CardTable>
    </>
  )
}

function AutomationRow({
  automation,
  of,
}: {
  readonly automation: Automation
  readonly of: OverviewBody['automations'][string] | undefined
}) {
  const { type, className, pools } = automation
  return (
    <Row>
      <RowHead of="Type">
        <a href={formatRoute({ page: 'automations', type })}>
          <bdi>{type}</bdi>
        </a>
      </RowHead>
      <Cell of="Kind">{isBatch(automation) ? 'batch' : 'continuous'}</Cell>
      <Cell of="Class">
        <bdi>{className ?? '–'}</bdi>
      </Cell>
      <Cell of="Workers" className="number">
        {of === undefined ? (
          '–'
        ) : (
          <a href={formatRoute({ page: 'workers', q: `type:${type}` })}>
            {countText(of.workers.connected)} of {countText(of.workers.total)}
          </a>
        )}
      </Cell>
      <Cell of="Slots" className="number">
        {of === undefined ? '–' : countText(of.slots)}
      </Cell>
      <Cell of="Pools">
        {pools.length === 0
          ? '–'
          : pools.map(({ name }, at) => (
              <span key={name}>
                {at > 0 && ', '}
                <a href={formatRoute({ page: 'pools', name })}>
                  <bdi>{name}</bdi>
                </a>
              </span>
            ))}
      </Cell>
    </Row>
  )
}

function AutomationHeading({ automation }: { readonly automation: Automation }) {
  const { type, className } = automation
  const paused = useOverview().data?.automations[type]?.queue?.paused
  return (
    <div className="title">
      <h2>
        <bdi>{type}</bdi>{' '}
        {className !== null && (
          <span className="count">
            <bdi>{className}</bdi>
          </span>
        )}
      </h2>
      {isBatch(automation) && <PauseControl type={type} paused={paused} />}
    </div>
  )
}

function AutomationDetails({ automation }: { readonly automation: Automation }) {
  const { type, configSchema, payloadSchema, outputSchema, pools } = automation
  return (
    <>
      <RolloutCards type={type} />
      <section className="card">
        <AutomationHeading automation={automation} />
        <p>{kindText(automation)}</p>
        <p className="links">
          <a href={formatRoute({ page: 'workers', q: `type:${type}` })}>Workers</a>
          {payloadSchema !== null && <a href={formatRoute({ page: 'tasks', type })}>Tasks</a>}
          <a href={formatRoute({ page: 'output', type })}>Output</a>
          {pools.map(({ name }) => (
            <a key={name} href={formatRoute({ page: 'pools', name })}>
              Pool <bdi>{name}</bdi>
            </a>
          ))}
        </p>
      </section>
      <SchemaCard
        title="Config"
        name={`${type}-config`}
        schema={configSchema}
        about="Settings of a worker of this type."
      />
      {payloadSchema !== null && (
        <SchemaCard title="Task payload" name={`${type}-payload`} schema={payloadSchema} about="Input of a task." />
      )}
      {outputSchema !== null && (
        <SchemaCard title="Output" name={`${type}-output`} schema={outputSchema} about="Entries that slots emit." />
      )}
      {pools.map(({ name, tags, payload }) => (
        <div key={name}>
          <SchemaCard
            title={`Pool ${name}: tags`}
            name={`${type}-${name}-tags`}
            schema={tags}
            about="Values by which a claim selects an item."
          />
          <SchemaCard
            title={`Pool ${name}: payload`}
            name={`${type}-${name}-payload`}
            schema={payload}
            about="Data that a claim returns."
          />
        </div>
      ))}
    </>
  )
}

function SchemaCard({
  title,
  name,
  schema,
  about,
}: {
  readonly title: string
  readonly name: string
  readonly schema: JsonSchema
  readonly about: string
}) {
  return (
    <section className="card">
      <h2>
        <bdi>{title}</bdi> <span className="count">{about}</span>
      </h2>
      <SchemaView title={title} name={name} schema={schema} />
    </section>
  )
}
