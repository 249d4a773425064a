/**
 * @module dashboard/dead/dead-letters
 * Shows the dead-letter queue of an automation type: all dead tasks, grouped by error, newest death first. Actions on a
 * group affect the tasks that died before the list was read (D158); only "replay the oldest" and "remove all" let the
 * master choose the tasks.
 */
import { useState } from 'react'
import type { DeadGroupsBody } from '../../protocol/index.ts'
import { useRefresh } from '../api/queries.ts'
import { EmptyState } from '../components/empty-state.tsx'
import { countText, plural } from '../components/numbers.ts'
import { ReadView } from '../components/read-state.tsx'
import type { RouteTo } from '../route.ts'
import type { ActionToConfirm } from './actions.ts'
import { DeadActionDialog } from './action-dialog.tsx'
import { DeadDialog } from './dead-dialog.tsx'
import { DeadGroups } from './dead-groups.tsx'
import { GroupDialog, type GroupAction } from './group-dialog.tsx'
import { countOf, type DeadItem } from './groups.ts'
import { Replays } from './replays.tsx'
import { useDeadGroups } from './use-groups.ts'
import { RemoveAllDialog, ReplayOldest } from './whole-queue-actions.tsx'
import './dead.css'

export function DeadLetters({ route }: { readonly route: RouteTo<'tasks'> & { readonly type: string } }) {
  const { type } = route
  const read = useDeadGroups(type)
  const refresh = useRefresh()
  const [done, setDone] = useState<string | null>(null)
  const onDone = (text: string): void => {
    setDone(text)
    refresh(['dead', type], ['overview'], ['operations'])
  }
  const count = read.data === undefined ? undefined : countOf(read.data.groups)
  return (
    <section className="card dead-letters">
      <h2>
        Dead letters{' '}
        {count !== undefined && <span className={count > 0 ? 'count bad' : 'count'}>{countText(count)}</span>}
      </h2>
      <output className="done">{done === null ? null : <bdi>{done}</bdi>}</output>
      <Replays type={type} />
      <ReadView read={read}>
        {(dead) => <DeadQueue route={route} dead={dead} isStale={read.problem !== undefined} onDone={onDone} />}
      </ReadView>
    </section>
  )
}

interface DeadQueueProps {
  readonly route: RouteTo<'tasks'> & { readonly type: string }
  readonly dead: DeadGroupsBody
  readonly isStale: boolean
  readonly onDone: (text: string) => void
}

/** Shows the list and its dialogs. An open dialog stays open even if the list becomes empty. */
function DeadQueue({ route, dead, isStale, onDone }: DeadQueueProps) {
  const { type } = route
  const { groups, complete, as_of: asOf } = dead
  const length = countOf(groups)
  const [toConfirm, setToConfirm] = useState<ActionToConfirm | null>(null)
  const [groupAction, setGroupAction] = useState<GroupAction | null>(null)
  const [isRemovingAll, setRemovingAll] = useState(false)
  const [shown, setShown] = useState<DeadItem | null>(null)
  const close = (text: string | null): void => {
    setToConfirm(null)
    setGroupAction(null)
    setShown(null)
    if (text !== null) onDone(text)
  }
  return (
    <>
      {length === 0 ? (
        <EmptyState kind="nothing" title="No dead letters">
          <p>
            A task appears here when its last attempt fails, when a worker reports that a retry is useless, or when it
            repeatedly loses its worker.
          </p>
        </EmptyState>
      ) : (
        <>
          <p className="soft">
            All {countText(length)}, in {plural(groups.length, 'group')} by error, newest death first.
            {!complete && ' Tasks that died before the last upgrade are still being added.'}
          </p>
          <DeadGroups
            route={route}
            groups={groups}
            isStale={isStale}
            onChoose={(action) => setGroupAction({ ...action, before: asOf ?? 0 })}
            onChooseTasks={setToConfirm}
            onOpen={setShown}
          />
          <div className="buttons start">
            <ReplayOldest type={type} length={length} onDone={onDone} />
            <button type="button" onClick={() => setRemovingAll(true)}>
              Remove all…
            </button>
          </div>
        </>
      )}
      {toConfirm !== null && <DeadActionDialog type={type} {...toConfirm} onClose={close} />}
      {groupAction !== null && <GroupDialog type={type} {...groupAction} onClose={close} />}
      {isRemovingAll && (
        <RemoveAllDialog type={type} length={length} onDone={onDone} onClose={() => setRemovingAll(false)} />
      )}
      {shown !== null && <DeadDialog type={type} item={shown} onClose={close} />}
    </>
  )
}
