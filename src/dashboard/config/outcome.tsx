/** @module dashboard/config/outcome  What became of the last save, until it is applied. */
import type { WorkerBody } from '../../protocol/index.ts'
import { ProblemBox } from '../parts/problem-box.tsx'
import { plural } from '../parts/numbers.ts'
import { appliedText } from './saving.ts'
import type { Save } from './use-save.ts'

export function Outcome({ save: { problem, faults, saved }, worker }: { readonly save: Save; readonly worker: WorkerBody }) {
  if (problem === null) return saved === null ? null : <output className="done">Generation {saved.gen} is saved. {appliedText(saved.gen, worker)}</output>
  const ofNoField = faults.get('')
  switch (problem.status) {
    case 412: return <ProblemBox problem={problem} title="Not saved: the config changed while you edited." />
    case 422: return (
      <div className="problem">
        <p role="alert"><strong>Not saved.</strong> {faults.size === 0 ? 'Correct what is marked, then save again.' : `The master refuses ${plural(faults.size, 'field')}; each says why. Nothing was changed.`}</p>
        {ofNoField !== undefined && <p><bdi>{ofNoField}</bdi></p>}
      </div>
    )
    case null: return <ProblemBox problem={problem} title="Perhaps saved:"><p>The worker is read again. If its generation went up by your change, the note above says so; else save again.</p></ProblemBox>
    default: return <ProblemBox problem={problem} title="Not saved:" />
  }
}
