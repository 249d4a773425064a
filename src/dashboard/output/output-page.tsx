/** @module dashboard/output/output-page  The output page: tail, peek and pop of the output stream of a type. */
import { useInstalled } from '../api/installed.ts'
import { Choices } from '../components/choices.tsx'
import { EmptyState } from '../components/empty-state.tsx'
import { countText } from '../components/numbers.ts'
import { ReadState } from '../components/read-state.tsx'
import { Tabs } from '../components/tabs.tsx'
import { UnknownType } from '../components/unknown-type.tsx'
import { formatRoute, type RouteTo } from '../route.ts'
import { useOverview } from '../workers/use-workers.ts'
import { ViewsMenu } from '../views/views-menu.tsx'
import { PeekView } from './peek-view.tsx'
import { PopSection } from './pop-section.tsx'
import { TailView } from './tail-view.tsx'
import './output.css'

export function OutputPage({ route }: { readonly route: RouteTo<'output'> }) {
  const { type } = route
  const types = useInstalled().automations.map((each) => each.type)
  return (
    <>
      <div className="title">
        <h1>Output</h1>
        <div className="buttons">
          <ViewsMenu start="#/output" />
        </div>
      </div>
      <Choices
        label="Automations"
        names={types}
        open={type}
        to={(name) => ({ page: 'output', type: name, mode: route.mode })}
      />
      {type === null && <StreamLengths types={types} />}
      {type !== null && !types.includes(type) && <UnknownType type={type} title="Stream not found" />}
      {type !== null && types.includes(type) && <StreamView key={type} route={{ ...route, type }} />}
    </>
  )
}

function StreamLengths({ types }: { readonly types: readonly string[] }) {
  const read = useOverview()
  if (types.length === 0)
    return (
      <EmptyState kind="nothing" title="No automations">
        <p>This token covers no installed automation.</p>
      </EmptyState>
    )
  return (
    <>
      <ReadState read={read} />
      <ul className={read.problem === undefined ? 'streams' : 'streams stale'} aria-label="Streams">
        {types.map((type) => {
          const length = read.data?.automations[type]?.stream.length
          return (
            <li key={type}>
              <a href={formatRoute({ page: 'output', type })}>
                <bdi>{type}</bdi>
              </a>{' '}
              <span className="soft">{length === undefined ? '' : `${countText(length)} of 50,000 entries`}</span>
            </li>
          )
        })}
      </ul>
    </>
  )
}

function StreamView({ route }: { readonly route: RouteTo<'output'> & { readonly type: string } }) {
  const { type, mode } = route
  return (
    <>
      <Tabs
        label={`Stream views of ${type}`}
        tabs={[
          {
            text: (
              <>
                Tail <span className="soft">newest</span>
              </>
            ),
            to: { page: 'output', type },
            open: mode === 'tail',
          },
          {
            text: (
              <>
                Peek <span className="soft">oldest</span>
              </>
            ),
            to: { page: 'output', type, mode: 'peek' },
            open: mode === 'peek',
          },
        ]}
      />
      {mode === 'tail' ? <TailView route={route} /> : <PeekView type={type} />}
      <PopSection type={type} />
    </>
  )
}
