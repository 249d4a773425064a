/**
 * @module dashboard/tasks/tasks-page
 * The tasks page: the queue of a batch type, all of its tasks, the submit form and the dead letters. Without a type it
 * shows a summary of all queues.
 */
import { useCallback, useState } from 'react'
import type { OverviewBody } from '../../protocol/index.ts'
import { isBatch, type Automation } from '../api/automations.ts'
import { useAutomation, useInstalled } from '../api/installed.ts'
import type { Read } from '../api/queries.ts'
import { DeadLetters } from '../dead/dead-letters.tsx'
import { Choices } from '../components/choices.tsx'
import { EmptyState } from '../components/empty-state.tsx'
import { countText } from '../components/numbers.ts'
import { ReadState } from '../components/read-state.tsx'
import { Tabs } from '../components/tabs.tsx'
import { UnknownType } from '../components/unknown-type.tsx'
import { QueueHistory } from '../history/queue-history.tsx'
import { formatRoute, type RouteTo } from '../route.ts'
import { WhyQueue } from '../diagnosis/diagnosis.tsx'
import { useOverview } from '../workers/use-workers.ts'
import { ViewsMenu } from '../views/views-menu.tsx'
import { AllTasks } from './all-tasks.tsx'
import { FindDialog } from './find-dialog.tsx'
import { PauseControl } from './pause-control.tsx'
import { QueueLoad } from './queue-load.tsx'
import { QueueSummary } from './queue-summary.tsx'
import { SubmitForm } from './submit-form.tsx'
import { TaskGroups } from './task-groups.tsx'
import { TierBars } from './tier-bars.tsx'
import { WaitingTasks } from './waiting-tasks.tsx'
import './tasks.css'

type TypeRoute = RouteTo<'tasks'> & { readonly type: string }

export function TasksPage({ route }: { readonly route: RouteTo<'tasks'> }) {
  const { type } = route
  const [isFinding, setFinding] = useState(false)
  const closeFinder = useCallback(() => setFinding(false), [])
  const overview = useOverview()
  const batch = useInstalled().automations.filter(isBatch)
  const types = batch.map((each) => each.type)
  const open = batch.find((each) => each.type === type)
  return (
    <>
      <div className="title">
        <h1>Tasks</h1>
        <div className="buttons">
          <ViewsMenu start="#/tasks" />
          <button type="button" onClick={() => setFinding(true)}>
            Find a task by ID…
          </button>
        </div>
      </div>
      {isFinding && <FindDialog onClose={closeFinder} />}
      {types.length === 0 && (
        <EmptyState kind="nothing" title="No batch automations">
          <p>This token covers no installed batch automation. Continuous automations have no queue, only output.</p>
        </EmptyState>
      )}
      {types.length > 0 && (
        <Choices
          label="Batch automations"
          names={types}
          open={type}
          to={(name) => ({ page: 'tasks', type: name, tab: route.tab, range: route.range })}
        />
      )}
      {types.length > 0 && type === null && <QueueSummary types={types} read={overview} />}
      {types.length > 0 && type !== null && open === undefined && <NoQueue type={type} />}
      {type !== null && open !== undefined && (
        <QueueView key={type} automation={open} route={{ ...route, type }} overview={overview} />
      )}
    </>
  )
}

/** A page of tasks for a type without a queue. */
function NoQueue({ type }: { readonly type: string }) {
  if (useAutomation(type) === undefined) return <UnknownType type={type} title="Queue not found" />
  return (
    <EmptyState kind="nothing" title="No queue">
      <p>
        <bdi>{type}</bdi> is a continuous automation: its workers run all the time and take no tasks. See its{' '}
        <a href={formatRoute({ page: 'output', type })}>output</a> or its{' '}
        <a href={formatRoute({ page: 'workers', q: `type:${type}` })}>workers</a>.
      </p>
    </EmptyState>
  )
}

interface QueueViewProps {
  readonly automation: Automation
  readonly route: TypeRoute
  readonly overview: Read<OverviewBody>
}

function QueueView({ automation, route, overview }: QueueViewProps) {
  const { type, tab, range } = route
  const queue = overview.data?.automations[type]?.queue ?? null
  const waiting = queue === null ? null : queue.high + queue.normal + queue.low
  return (
    <>
      <Tabs
        label={`Queue views of ${type}`}
        tabs={[
          {
            text: <>Queue {waiting !== null && <span className="count">{countText(waiting)}</span>}</>,
            to: { page: 'tasks', type, range },
            open: tab === 'queue',
          },
          { text: 'All tasks', to: { page: 'tasks', type, tab: 'all' }, open: tab === 'all' },
          { text: 'Submit', to: { page: 'tasks', type, tab: 'submit' }, open: tab === 'submit' },
          {
            text: (
              <>
                Dead letters{' '}
                {queue !== null && (
                  <span className={queue.dead > 0 ? 'count bad' : 'count'}>{countText(queue.dead)}</span>
                )}
              </>
            ),
            to: { page: 'tasks', type, tab: 'dead' },
            open: tab === 'dead',
          },
        ]}
      />
      {tab === 'queue' && (
        <>
          <ReadState read={overview} />
          {queue !== null && (
            <section className="card" aria-label="Totals">
              <div className="title">
                <h2>
                  Queue of <bdi>{type}</bdi>
                </h2>
                <PauseControl type={type} paused={queue.paused} />
              </div>
              <TierBars type={type} queue={queue} />
              <WhyQueue type={type} queue={queue} />
            </section>
          )}
          {automation.groups !== null && <TaskGroups type={type} most={automation.groups.max_in_flight} />}
          <QueueLoad type={type} />
          <QueueHistory type={type} range={range} />
          <WaitingTasks type={type} />
        </>
      )}
      {tab === 'all' && <AllTasks route={route} />}
      {tab === 'submit' && <SubmitForm automation={automation} />}
      {tab === 'dead' && <DeadLetters route={route} />}
    </>
  )
}
