/**
 * @module dashboard/workers/bulk-dialog
 * Dialog of a bulk action: shows what will happen to which workers, then the result for each.
 */
import { useRef, useState, type ReactNode } from 'react'
import { ActButton } from '../components/act-button.tsx'
import { Dialog } from '../components/dialog.tsx'
import { countText, plural } from '../components/numbers.ts'
import { ResultList } from '../components/result-list.tsx'
import type { Result } from '../components/results.ts'
import { TypedConfirmation } from '../components/typed-confirmation.tsx'
import { runBulk, type BulkDeps, type BulkProps } from './bulk.ts'
import { keyOf, type WorkerRow } from './row.ts'
import { WorkerNames } from './worker-names.tsx'

export interface BulkDialogProps extends BulkProps {
  /** For example `Forget`. */
  readonly verb: string
  readonly act: BulkDeps<WorkerRow>['act']
  readonly children: ReactNode
}

/** For more workers than this, the user has to type their number. */
const FEW = 10

type Phase = 'asking' | 'running' | 'done'

export function BulkDialog({ verb, rows, act, onClose, onDone, children }: BulkDialogProps) {
  const [typed, setTyped] = useState('')
  const { phase, results, run, stop } = useBulkRun(rows, act, onDone)
  const mustType = rows.length > FEW
  const isReady = !mustType || typed.trim() === String(rows.length)
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
        </>
      )}
      {results !== null && <ResultList label="Results" results={results} />}
      <BulkButtons
        phase={phase}
        verb={verb}
        count={rows.length}
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

interface BulkButtonsProps {
  readonly phase: Phase
  readonly verb: string
  readonly count: number
  readonly isReady: boolean
  readonly onRun: () => void
  readonly onStop: () => void
  readonly onClose: () => void
}

function BulkButtons({ phase, verb, count, isReady, onRun, onStop, onClose }: BulkButtonsProps) {
  return (
    <div className="buttons">
      {phase === 'asking' && (
        <button type="button" onClick={onClose}>
          Cancel
        </button>
      )}
      {phase === 'asking' && (
        <ActButton danger disabled={!isReady} onClick={onRun}>
          {verb} {countText(count)}
        </ActButton>
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
