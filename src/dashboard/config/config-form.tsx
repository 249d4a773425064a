/**
 * @module dashboard/config/config-form
 * Edits a worker's config by its schema. Only changed fields are sent, for the generation the draft was begun on
 * (If-Match): a save by somebody else in between is shown, never overwritten unseen. What was typed stays through
 * refusals, conflicts and lost answers.
 *
 *   no draft: follows the record ──first edit──▶ base frozen ──PATCH 200──▶ no draft, generation watched until applied
 *                                                   ▲  │ 412, or the record moved on: theirs shown
 *                                                   └──┘ "continue on generation n"
 */
import { useId, useMemo, useState, type SyntheticEvent } from 'react'
import type { JsonObject, JsonSchema, WorkerBody } from '../../protocol/index.ts'
import { plural } from '../parts/numbers.ts'
import { Changes } from './changes.tsx'
import { Conflict } from './conflict.tsx'
import { NO_DRAFT, readDraft, type Draft, type Edit } from './draft.ts'
import { FieldRow } from './field-row.tsx'
import { fieldsOf } from './fields.ts'
import { Outcome } from './outcome.tsx'
import { newestOf, sameBase, type Base } from './saving.ts'
import { useSave } from './use-save.ts'

export interface ConfigFormProps {
  readonly worker: WorkerBody
  readonly epoch: string | null
  readonly schema: JsonSchema
  readonly refresh: () => void
}

export function ConfigForm({ worker, epoch, schema, refresh }: ConfigFormProps) {
  const fields = useMemo(() => fieldsOf(schema), [schema])
  const [draft, setDraft] = useState<Draft>(NO_DRAFT)
  const [frozen, setFrozen] = useState<Base | null>(null)
  const [override, setOverride] = useState(false)
  const save = useSave({ worker, fields, refresh, onSaved: () => discard() })
  const newest = newestOf({ config: worker.config as JsonObject, gen: worker.config_gen, epoch }, save.saved)
  const base = frozen ?? newest
  const { changes, faults } = readDraft(fields, base.config, draft)
  const locked = worker.managed_by !== null && !override
  const headingId = useId()

  function discard(): void {
    setDraft(NO_DRAFT)
    setFrozen(null)
  }
  const edit = (name: string, to: Edit | null): void => {
    const next = new Map(draft)
    if (to === null) next.delete(name)
    else next.set(name, to)
    setDraft(next)
    setFrozen(next.size === 0 ? null : base)
    save.forget(name)
  }
  const onSubmit = (event: SyntheticEvent): void => {
    event.preventDefault()
    if (changes.length > 0 && faults.size === 0) void save.run(base, changes)
  }
  return (
    <section className="config" aria-labelledby={headingId}>
      <h2 id={headingId}>Config <span className="soft">generation {base.gen}</span></h2>
      {worker.managed_by !== null && <ManagedNotice by={worker.managed_by} override={override} onOverride={setOverride} />}
      {!sameBase(base, newest) && <Conflict fields={fields} draft={draft} base={base} newest={newest} worker={worker} onContinue={() => setFrozen(newest)} onDiscard={discard} />}
      <form onSubmit={onSubmit} noValidate>
        <fieldset disabled={locked || save.busy}>
          <legend className="hidden">Fields</legend>
          {fields.map((field) => (
            <FieldRow key={field.name} field={field} config={base.config} edit={draft.get(field.name)} fault={faults.get(field.name) ?? save.faults.get(field.name)}
              changed={changes.some((change) => change.field.name === field.name)} onEdit={(to) => edit(field.name, to)} />
          ))}
        </fieldset>
        <Changes changes={changes} />
        <Outcome save={save} worker={worker} />
        <div className="buttons save">
          <output className="soft">{savingHint(changes.length, faults.size, locked)}</output>
          <button type="button" onClick={discard} disabled={draft.size === 0 || save.busy}>Discard</button>
          <button type="submit" className="primary" disabled={changes.length === 0 || faults.size > 0 || locked || save.busy}>
            {save.busy ? 'Saving…' : changes.length === 0 ? 'Save' : `Save ${plural(changes.length, 'change')}`}
          </button>
        </div>
      </form>
    </section>
  )
}

/** Why the button is off, when it is. */
function savingHint(changes: number, faults: number, locked: boolean): string {
  if (locked) return 'Locked: see above.'
  if (faults > 0) return `${plural(faults, 'field')} cannot be read.`
  return changes === 0 ? 'Nothing is changed.' : ''
}

function ManagedNotice({ by, override, onOverride }: { readonly by: string; readonly override: boolean; readonly onOverride: (override: boolean) => void }) {
  return (
    <div className="notice">
      <p>This config is managed by <bdi>{by}</bdi>. Change it there; a change made here counts as drift and may be reverted.</p>
      <label><input type="checkbox" checked={override} onChange={(event) => onOverride(event.target.checked)} /> Change it here all the same</label>
    </div>
  )
}
