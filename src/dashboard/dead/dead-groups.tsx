/**
 * @module dashboard/dead/dead-groups
 * Lists the groups of dead tasks, newest death first, with the tasks of the open group.
 */
import { useState } from 'react'
import type { DeadGroupBody } from '../../protocol/index.ts'
import { countText, plural } from '../components/numbers.ts'
import { Age } from '../components/times.tsx'
import { formatRoute, type RouteTo } from '../route.ts'
import type { ActionToConfirm } from './actions.ts'
import type { GroupAction } from './group-dialog.tsx'
import { GroupTasks } from './group-tasks.tsx'
import { groupName, trendText, type DeadItem } from './groups.ts'
import { TrendBars } from './trend-bars.tsx'

export interface DeadGroupsProps {
  readonly route: RouteTo<'tasks'> & { readonly type: string }
  readonly groups: readonly DeadGroupBody[]
  readonly isStale: boolean
  readonly onChoose: (action: Pick<GroupAction, 'action' | 'group'>) => void
  readonly onChooseTasks: (action: ActionToConfirm) => void
  readonly onOpen: (item: DeadItem) => void
}

const MORE_GROUPS = 50

export function DeadGroups({ route, groups, ...rest }: DeadGroupsProps) {
  const [most, setMost] = useState(MORE_GROUPS)
  return (
    <>
      <ul className="groups" aria-label="Groups by error">
        {groups.slice(0, most).map((group) => (
          <DeadGroupRow key={group.group} route={route} group={group} isOnly={groups.length === 1} {...rest} />
        ))}
      </ul>
      {groups.length > most && (
        <div className="buttons start">
          <button type="button" onClick={() => setMost(most + MORE_GROUPS)}>
            {`Show ${countText(Math.min(MORE_GROUPS, groups.length - most))} ` +
              `more of ${countText(groups.length)} groups`}
          </button>
        </div>
      )}
    </>
  )
}

type DeadGroupRowProps = Omit<DeadGroupsProps, 'groups'> & { readonly group: DeadGroupBody; readonly isOnly: boolean }

function DeadGroupRow({ route, group, isOnly, isStale, onChoose, onChooseTasks, onOpen }: DeadGroupRowProps) {
  const isOpen = isOnly || route.group === group.group
  const count = countText(group.count)
  return (
    <li className="group">
      <div className="group-head">
        <div className="group-text">
          <p className="group-error">
            <bdi>{groupName(group)}</bdi>
          </p>
          <GroupFacts group={group} />
        </div>
        <div title={trendText(group.trend, countText)}>
          <span className="hidden">{`Deaths: ${trendText(group.trend, countText)}`}</span>
          <TrendBars trend={group.trend} />
        </div>
        <div className="buttons">
          {!isOnly && (
            <a
              className="button"
              href={formatRoute({ ...route, group: isOpen ? '' : group.group })}
              aria-expanded={isOpen}
            >
              {isOpen ? 'Hide' : 'Show'} {count}
            </a>
          )}
          <button type="button" onClick={() => onChoose({ action: 'replay', group })}>
            Replay {count}…
          </button>
          <button type="button" className="link" onClick={() => onChoose({ action: 'remove', group })}>
            Remove {count}…
          </button>
        </div>
      </div>
      {isOpen && (
        <GroupTasks type={route.type} group={group} isStale={isStale} onChoose={onChooseTasks} onOpen={onOpen} />
      )}
    </li>
  )
}

function GroupFacts({ group }: { readonly group: DeadGroupBody }) {
  const { count, workers, example } = group
  return (
    <>
      <p className="soft">
        {plural(count, 'task')} · last died <Age at={group.last_died_at} />
        {count > 1 && (
          <>
            , first <Age at={group.first_died_at} />
          </>
        )}
        {workers.length > 0 && (
          <>
            {' '}
            · on <bdi>{workers.join(', ')}</bdi>
          </>
        )}
      </p>
      {example.error !== group.pattern && (
        <p className="soft group-example">
          <bdi>{example.error}</bdi>
        </p>
      )}
    </>
  )
}
