/** @module dashboard/config/conflict  Somebody saved under a draft: what they changed, and how to go on. */
import type { WorkerBody } from '../../protocol/index.ts'
import { Age } from '../parts/times.tsx'
import { changedFields, type Draft } from './draft.ts'
import type { Field } from './fields.ts'
import type { Base } from './saving.ts'

export interface ConflictProps {
  readonly fields: readonly Field[]
  readonly draft: Draft
  readonly base: Base
  readonly newest: Base
  readonly worker: WorkerBody
  readonly onContinue: () => void
  readonly onDiscard: () => void
}

export function Conflict({ fields, draft, base, newest, worker, onContinue, onDiscard }: ConflictProps) {
  const theirs = changedFields(fields, base.config, newest.config)
  const both = theirs.filter((name) => draft.has(name))
  const { config_changed_at: at, config_changed_by: by } = worker
  return (
    <section className="notice" aria-label="Conflict">
      <p>
        <output>{newest.epoch === base.epoch ? `Generation ${newest.gen} was saved while you edited generation ${base.gen}.` : 'The master lost its state and started over.'}</output>
        {by !== null && <>By <bdi>{by}</bdi>{at !== null && <>, <Age at={at} /></>}. </>}Your draft is kept.
      </p>
      <p>{theirs.length === 0 ? 'No field that is shown here differs.' : <>Changed there: <bdi>{theirs.join(', ')}</bdi>.</>}{both.length > 0 && <> You changed too: <strong><bdi>{both.join(', ')}</bdi></strong>; saving puts yours in place of theirs.</>}</p>
      <div className="buttons start">
        <button type="button" onClick={onContinue}>Continue on generation {newest.gen}</button>
        <button type="button" onClick={onDiscard}>Discard my draft</button>
      </div>
    </section>
  )
}
