/**
 * @module dashboard/operations/operation-page
 * Shows one operation: its progress and outcomes, what it does at which pace, why it ended, and the first failures. It
 * can be cancelled while it runs, undone afterwards (D191), and its results exported.
 */
import { useState, type ReactNode } from 'react'
import type { OperationShown } from '../../protocol/index.ts'
import { isProblem } from '../api/problem.ts'
import type { Read } from '../api/queries.ts'
import { apiBase, hasPermission, useSession } from '../api/session.ts'
import { useAnnouncement } from '../components/announcements.tsx'
import { CopyAs } from '../components/copy-as.tsx'
import { EmptyState } from '../components/empty-state.tsx'
import { countText } from '../components/numbers.ts'
import { ReadState } from '../components/read-state.tsx'
import { Age } from '../components/times.tsx'
import { formatRoute, type RouteTo } from '../route.ts'
import { CancelDialog, UndoDialog } from './act-dialogs.tsx'
import { showCommands } from './commands.ts'
import { ExportButtons } from './export-buttons.tsx'
import { useOperation, useReplays } from './reading.ts'
import { OperationLink, OperationProgress, OperationState, Outcomes } from './state.tsx'
import { endText, isRunning, kindText, paceText, replayText, stopText, valuesText, whatText } from './texts.ts'

export function OperationPage({ route: { type, id } }: { readonly route: RouteTo<'operation'> }) {
  const read = useOperation(type, id)
  return (
    <>
      <p className="back">
        <a href="#/operations">All operations</a>
      </p>
      {isProblem(read.problem, 404) ? (
        <NotFound type={type} id={id} />
      ) : (
        <>
          <ReadState read={read} />
          {read.data === undefined ? (
            <h1>
              Operation <bdi>{id}</bdi>
            </h1>
          ) : (
            <OperationView operation={read.data} read={read} />
          )}
        </>
      )}
    </>
  )
}

function NotFound({ type, id }: { readonly type: string; readonly id: string }) {
  return (
    <>
      <h1>Operation not found</h1>
      <EmptyState kind="gone" title="Operation not found">
        <p>
          The master has no operation <bdi>{id}</bdi> of <bdi>{type}</bdi>. It keeps the newest 20 of a type that have
          ended. A master of an earlier release has none: upgrade it.
        </p>
      </EmptyState>
    </>
  )
}

interface ViewProps {
  readonly operation: OperationShown
  readonly read: Read<OperationShown>
}

function OperationView({ operation, read }: ViewProps) {
  const { type, operation: id, state } = operation
  const end = endText(operation)
  useAnnouncement(`operation ${id}`, `Operation ${id} is ${state}.`)
  return (
    <>
      <div className="title">
        <h1>
          {kindText(operation)} of <bdi>{type}</bdi> <bdi className="code">{id}</bdi>
        </h1>
        <OperationState operation={operation} />
        <Actions operation={operation} refresh={read.refresh} />
      </div>
      <div className={read.problem === undefined ? undefined : 'stale'}>
        {end !== null && (
          <p className={state === 'stopped' ? 'notice bad' : 'notice'}>
            <bdi>{end}</bdi>
          </p>
        )}
        <section className="card" aria-label="Progress">
          <OperationProgress operation={operation} />
          <Outcomes operation={operation} />
          {operation.kind === 'replay' && <Replayed operation={operation} />}
        </section>
        <Failures operation={operation} />
        <Facts operation={operation} />
      </div>
    </>
  )
}

function Actions({ operation, refresh }: { readonly operation: OperationShown; readonly refresh: () => void }) {
  const [open, setOpen] = useState<'cancel' | 'undo' | null>(null)
  const { me } = useSession()
  const { type, kind, can_undo: canUndo } = operation
  const may = hasPermission(me, type, 'operate') || (kind === 'patch' && hasPermission(me, type, 'configure'))
  const why = may ? undefined : 'This token may not change workers of this type.'
  const close = (): void => setOpen(null)
  return (
    <div className="buttons">
      <CopyAs commands={showCommands(apiBase(), operation)} />
      {kind !== 'replay' && <ExportButtons operation={operation} />}
      {isRunning(operation) && (
        <button type="button" onClick={() => setOpen('cancel')} disabled={!may} title={why}>
          Cancel…
        </button>
      )}
      {canUndo && (
        <button type="button" onClick={() => setOpen('undo')} disabled={!may} title={why}>
          Undo…
        </button>
      )}
      {open === 'cancel' && <CancelDialog operation={operation} refresh={refresh} onClose={close} />}
      {open === 'undo' && <UndoDialog operation={operation} onClose={close} />}
    </div>
  )
}

/** What became of the tasks that it has replayed (D194). */
function Replayed({ operation }: { readonly operation: OperationShown }) {
  const { type, operation: id, group } = operation
  const replay = useReplays(type, isRunning(operation)).data?.find((each) => each.operation === id)
  return (
    <>
      {replay !== undefined && <p>{replayText(replay)}</p>}
      <p>
        <a href={formatRoute({ page: 'tasks', type, tab: 'dead', ...(group !== null && { group }) })}>
          Dead letters of <bdi>{type}</bdi>
        </a>
      </p>
    </>
  )
}

function Failures({ operation: { type, failures, counts } }: { readonly operation: OperationShown }) {
  if (failures.length === 0) return null
  const all = counts.failed + counts.refused
  return (
    <section className="card" aria-labelledby="failures-title">
      <h2 id="failures-title">
        Failures <span className="count">{countText(Math.max(all, failures.length))}</span>
      </h2>
      <ul className="failures" aria-label="First failures">
        {failures.map(({ worker_id: worker, message }) => (
          <li key={worker}>
            <a href={formatRoute({ page: 'worker', type, id: worker })}>
              <bdi>{worker}</bdi>
            </a>{' '}
            <bdi className="error">{message}</bdi>
          </li>
        ))}
      </ul>
      {all > failures.length && (
        <p className="soft">The first {countText(failures.length)} are shown; an export has all of them.</p>
      )}
    </section>
  )
}

function Facts({ operation }: { readonly operation: OperationShown }) {
  const { type, kind, patch, group, note, created_at: created, created_by: by, ended_at: ended } = operation
  const { undo_of: undoOf, undone_by: undoneBy, wait_seconds: wait, bake_seconds: bake } = operation
  return (
    <section className="card" aria-label="Settings">
      <dl className="keys">
        <Fact name="What">
          <bdi>{whatText(operation)}</bdi>
        </Fact>
        {patch !== null && (
          <Fact name="Values">
            <bdi className="code">{valuesText(patch)}</bdi>
          </Fact>
        )}
        {group !== null && (
          <Fact name="Group">
            <bdi className="code">{group}</bdi>
          </Fact>
        )}
        <Fact name="Pace">{paceText(operation)}</Fact>
        {kind !== 'replay' && <Fact name="Stops">{stopText(operation) ?? 'only when cancelled'}</Fact>}
        {kind !== 'replay' && (
          <Fact name="Counts as failed">
            a worker that does not {kind === 'drain' ? 'leave' : 'confirm'} within {countText(wait)} s
            {kind === 'patch' && `, refuses the config, or is in ERROR within ${bake} s after it applied it`}
          </Fact>
        )}
        {note !== null && (
          <Fact name="Note">
            <bdi>{note}</bdi>
          </Fact>
        )}
        <Fact name="Created">
          <Age at={created} /> by <bdi>{by}</bdi>
        </Fact>
        {ended !== null && (
          <Fact name="Ended">
            <Age at={ended} />
          </Fact>
        )}
        {undoOf !== null && (
          <Fact name="Undo of">
            <OperationLink type={type} id={undoOf} />
          </Fact>
        )}
        {undoneBy !== null && (
          <Fact name="Undone by">
            <OperationLink type={type} id={undoneBy} />
          </Fact>
        )}
      </dl>
    </section>
  )
}

function Fact({ name, children }: { readonly name: string; readonly children: ReactNode }) {
  return (
    <div>
      <dt>{name}</dt>
      <dd>{children}</dd>
    </div>
  )
}
