/**
 * @module dashboard/workers/bulk-dialog
 * Dialog of a bulk action: shows what will happen to which workers, then the result for each.
 */
import { useRef, useState, type ReactNode } from 'react'
import { Dialog } from '../components/dialog.tsx'
import { countText, plural } from '../components/numbers.ts'
import { ResultList } from '../components/result-list.tsx'
import type { Result } from '../components/results.ts'
import { TypedConfirmation } from '../components/typed-confirmation.tsx'
import { runBulk, type BulkDeps, type BulkProps } from './bulk.ts'
import { keyOf, type WorkerRow } from './row.ts'

export interface BulkDialogProps extends BulkProps {
  /** For example `Drain`. */
  readonly verb: string
  readonly act: BulkDeps<WorkerRow>['act']
  readonly danger?: boolean
  /** Why the action cannot be started yet; null if it can. */
  readonly missing?: string | null
  readonly children: ReactNode
}

/** For more workers than this, the user has to type their number. */
const FEW = 10
const NAMED = 100

type Phase = 'asking' | 'running' | 'done'

export function BulkDialog({
  verb,
  rows,
  act,
  onClose,
  onDone,
  danger = true,
  missing = null,
  children,
}: BulkDialogProps) {
  const [typed, setTyped] = useState('')
  const { phase, results, run, stop } = useBulkRun(rows, act, onDone)
  const mustType = danger && rows.length > FEW
  const isReady = missing === null && (!mustType || typed.trim() === String(rows.length))
  return (
    <Dialog
      title={`${verb} ${plural(rows.length, 'worker')}${phase === 'asking' ? '?' : ''}`}
      onClose={onClose}
      busy={phase === 'running'}
      wide
    >
      {phase === 'asking' && (
        <>
          {children}
          <WorkerNames rows={rows} />
          {mustType && <TypedConfirmation expected={String(rows.length)} value={typed} onChange={setTyped} />}
          {missing !== null && <p className="soft">{missing}</p>}
        </>
      )}
      {results !== null && <ResultList label="Results" results={results} />}
      <BulkButtons
        phase={phase}
        verb={verb}
        count={rows.length}
        danger={danger}
        isReady={isReady}
        onRun={run}
        onStop={stop}
        onClose={onClose}
      />
    </Dialog>
  )
}

interface BulkRun {
  readonly phase: Phase
  /** One result per worker; null before the start. */
  readonly results: readonly Result[] | null
  readonly run: () => void
  readonly stop: () => void
}

function useBulkRun(rows: readonly WorkerRow[], act: BulkDialogProps['act'], onDone: () => void): BulkRun {
  const [results, setResults] = useState<readonly Result[] | null>(null)
  const [phase, setPhase] = useState<Phase>('asking')
  const stop = useRef(new AbortController())
  const run = async (): Promise<void> => {
    setPhase('running')
    stop.current = new AbortController()
    await runBulk({ items: rows, nameOf: keyOf, act, report: setResults, signal: stop.current.signal })
    setPhase('done')
    onDone()
  }
  return { phase, results, run: () => void run(), stop: () => stop.current.abort() }
}

function WorkerNames({ rows }: { readonly rows: readonly WorkerRow[] }) {
  return (
    <details>
      <summary>{plural(rows.length, 'worker')}</summary>
      <ul className="bulk-names">
        {rows.slice(0, NAMED).map((row) => (
          <li key={keyOf(row)} className="code">
            <bdi>{keyOf(row)}</bdi>
          </li>
        ))}
      </ul>
      {rows.length > NAMED && <p className="soft">and {countText(rows.length - NAMED)} more</p>}
    </details>
  )
}

interface BulkButtonsProps {
  readonly phase: Phase
  readonly verb: string
  readonly count: number
  readonly danger: boolean
  readonly isReady: boolean
  readonly onRun: () => void
  readonly onStop: () => void
  readonly onClose: () => void
}

function BulkButtons({ phase, verb, count, danger, isReady, onRun, onStop, onClose }: BulkButtonsProps) {
  return (
    <div className="buttons">
      {phase === 'asking' && (
        <button type="button" onClick={onClose}>
          Cancel
        </button>
      )}
      {phase === 'asking' && (
        <button type="button" className={danger ? 'danger' : 'primary'} disabled={!isReady} onClick={onRun}>
          {verb} {countText(count)}
        </button>
      )}
      {phase === 'running' && (
        <button type="button" onClick={onStop}>
          Stop
        </button>
      )}
      {phase === 'done' && (
        <button type="button" className="primary" onClick={onClose}>
          Close
        </button>
      )}
    </div>
  )
}
