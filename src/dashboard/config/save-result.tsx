/** @module dashboard/config/save-result  Shows the result of the last save until the worker applies it. */
import type { ReactNode } from 'react'
import type { WorkerBody } from '../../protocol/index.ts'
import { ErrorPanel } from '../components/error-panel.tsx'
import { plural } from '../components/numbers.ts'
import { FaultList } from './fault-list.tsx'
import { inPageWords } from './fault-text.ts'
import { appliedText } from './saving.ts'
import type { Save } from './use-save.ts'

export function SaveResult({
  save: { problem, faults, saved },
  worker,
  why,
}: {
  readonly save: Save
  readonly worker: WorkerBody
  /** Diagnosis, shown until the save is applied. */
  readonly why: ReactNode
}) {
  if (problem === null)
    return saved === null ? null : (
      <div className="save-result">
        <output className={saved.appliedMs === null ? 'warn' : 'done'}>
          Generation {saved.base.gen} is saved. {appliedText(saved.base.gen, worker, saved.appliedMs)}
        </output>
        {saved.appliedMs === null && why}
      </div>
    )
  switch (problem.status) {
    case 412:
      return <ErrorPanel problem={problem} title="Not saved: the config changed while you edited." />
    case 422:
      return (
        <div className="problem">
          <p role="alert">
            <strong>Not saved.</strong>{' '}
            {faults.length === 0
              ? 'Correct the marked fields, then save again.'
              : `The master rejected ${plural(faults.length, 'value')}; nothing was saved.`}
          </p>
          {faults.length > 0 && <FaultList faults={faults.map(inPageWords)} />}
        </div>
      )
    case null:
      return (
        <ErrorPanel problem={problem} title="May have been saved:">
          <p>The worker is being reloaded. If its generation does not include your change, save again.</p>
        </ErrorPanel>
      )
    default:
      return <ErrorPanel problem={problem} title="Not saved:" />
  }
}
