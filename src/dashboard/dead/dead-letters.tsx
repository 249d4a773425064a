/**
 * @module dashboard/dead/dead-letters
 * Shows the dead-letter queue of an automation type, grouped by error. Actions send the IDs that were shown (D50); only
 * "replay the oldest" and "clear all" let the master choose the tasks.
 */
import { useCallback, useEffect, useMemo, useState } from 'react'
import type { DeadBody } from '../../protocol/index.ts'
import { useRead, useRefresh, type Read } from '../api/queries.ts'
import { Download, ndjson } from '../components/download.tsx'
import { EmptyState } from '../components/empty-state.tsx'
import { countText, plural } from '../components/numbers.ts'
import { ReadView } from '../components/read-state.tsx'
import type { RouteTo } from '../route.ts'
import type { ActionToConfirm } from './actions.ts'
import { DeadActionDialog } from './action-dialog.tsx'
import { ClearDialog, ReplayOldest } from './whole-queue-actions.tsx'
import { DeadDialog } from './dead-dialog.tsx'
import { ActionButtons, DeadGroups } from './dead-groups.tsx'
import { groupsOf, type DeadItem } from './groups.ts'
import { FIRST_N, nextN } from './reading.ts'
import { listed, NONE, withIds, type Selection } from './selection.ts'
import './dead.css'

const EVERY_MS = 5_000

export function DeadLetters({ route }: { readonly route: RouteTo<'tasks'> & { readonly type: string } }) {
  const { type } = route
  const read = useDead(type)
  const refresh = useRefresh()
  const [done, setDone] = useState<string | null>(null)
  const onDone = (text: string): void => {
    setDone(text)
    refresh(['dead', type], ['overview'])
  }
  return (
    <section className="card dead-letters">
      <h2>
        Dead letters{' '}
        {read.data !== undefined && (
          <span className={read.data.length > 0 ? 'count bad' : 'count'}>{countText(read.data.length)}</span>
        )}
      </h2>
      <output className="done">{done === null ? null : <bdi>{done}</bdi>}</output>
      <ReadView read={read}>
        {(dead) => <DeadQueue route={route} dead={dead} isStale={read.problem !== undefined} onDone={onDone} />}
      </ReadView>
    </section>
  )
}

/** Reads 100 items first, then doubles the number while the response stays small. */
function useDead(type: string): Read<DeadBody> {
  const [n, setN] = useState(FIRST_N)
  const read = useRead(['dead', type], EVERY_MS, async (api, signal) => {
    const { body } = await api.get<DeadBody>(['automations', type, 'dead'], { n }, signal)
    setN(nextN(n, body.items.length, body.length, () => JSON.stringify(body.items).length))
    return body
  })
  const { refresh } = read
  useEffect(() => {
    if (n > FIRST_N) refresh()
  }, [n, refresh])
  return read
}

interface DeadQueueProps {
  readonly route: RouteTo<'tasks'> & { readonly type: string }
  readonly dead: DeadBody
  readonly isStale: boolean
  readonly onDone: (text: string) => void
}

/** Shows the list and its dialogs. An open dialog stays open even if the list becomes empty. */
function DeadQueue({ route, dead, isStale, onDone }: DeadQueueProps) {
  const { type } = route
  const { length, items } = dead
  const [selection, setSelection] = useState<Selection>(NONE)
  const [toConfirm, setToConfirm] = useState<ActionToConfirm | null>(null)
  const [isClearing, setClearing] = useState(false)
  const [shown, setShown] = useState<DeadItem | null>(null)
  const close = (text: string | null): void => {
    setToConfirm(null)
    if (text === null) return
    setSelection(NONE)
    onDone(text)
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
        <DeadTaskList
          route={route}
          dead={dead}
          isStale={isStale}
          onDone={onDone}
          selection={selection}
          select={setSelection}
          onChoose={setToConfirm}
          onClear={() => setClearing(true)}
          onOpen={setShown}
        />
      )}
      {toConfirm !== null && <DeadActionDialog type={type} {...toConfirm} onClose={close} />}
      {isClearing && (
        <ClearDialog type={type} length={length} items={items} onDone={onDone} onClose={() => setClearing(false)} />
      )}
      {shown !== null && <DeadDialog item={shown} onClose={() => setShown(null)} />}
    </>
  )
}

interface DeadTaskListProps extends DeadQueueProps {
  readonly selection: Selection
  readonly select: (change: (now: Selection) => Selection) => void
  readonly onChoose: (action: ActionToConfirm) => void
  readonly onClear: () => void
  readonly onOpen: (item: DeadItem) => void
}

function DeadTaskList(props: DeadTaskListProps) {
  const { dead, selection, select, onChoose } = props
  const { length, items } = dead
  const groups = useMemo(() => groupsOf(items), [items])
  const ids = useMemo(() => listed(selection, items), [selection, items])
  const tick = useCallback(
    (these: readonly string[], on: boolean): void => select((now) => withIds(now, these, on)),
    [select],
  )
  return (
    <>
      <p className="soft">
        {items.length < length
          ? `The first ${countText(items.length)} of ${countText(length)} (oldest first)`
          : `All ${countText(length)}`}
        , in {plural(groups.length, 'group')} by error.
      </p>
      <QueueActions {...props} />
      {ids.length > 0 && <SelectionActions ids={ids} onChoose={onChoose} onClear={() => select(() => NONE)} />}
      <DeadGroups
        route={props.route}
        groups={groups}
        isStale={props.isStale}
        selection={selection}
        onChoose={onChoose}
        onTick={tick}
        onOpen={props.onOpen}
      />
    </>
  )
}

/** The actions on the whole queue. */
function QueueActions({ route: { type }, dead: { length, items }, onDone, onClear }: DeadTaskListProps) {
  return (
    <div className="buttons start">
      <ReplayOldest type={type} length={length} onDone={onDone} />
      <Download
        name={`${type}-dead.ndjson`}
        media="application/x-ndjson"
        make={() => ndjson(items)}
      >{`Save ${countText(items.length)} as NDJSON`}</Download>
      <button type="button" onClick={onClear}>
        Clear all…
      </button>
    </div>
  )
}

interface SelectionActionsProps {
  readonly ids: readonly string[]
  readonly onChoose: (action: ActionToConfirm) => void
  readonly onClear: () => void
}

function SelectionActions({ ids, onChoose, onClear }: SelectionActionsProps) {
  return (
    <fieldset className="buttons start chosen" aria-label="Selected dead tasks">
      <strong>{countText(ids.length)} selected</strong>
      <ActionButtons ids={ids} onChoose={onChoose} />
      <button type="button" className="link" onClick={onClear}>
        Clear selection
      </button>
    </fieldset>
  )
}
