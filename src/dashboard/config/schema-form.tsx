/** @module dashboard/config/schema-form  Renders a form for an object schema with a controlled draft. */
import './config.css'
import { useId, useMemo } from 'react'
import type { FieldError, JsonSchema } from '../../protocol/index.ts'
import { ObjectRows } from './rows.tsx'
import { faultsByPath, useDraftChange } from './form-state.ts'
import { JsonInput } from './input.tsx'
import { fieldsOf } from './shape.ts'
import type { ValueDraft } from './value-draft.ts'

export interface SchemaFormProps {
  readonly schema: JsonSchema
  readonly draft: ValueDraft
  readonly onDraft: (next: ValueDraft) => void
  readonly faults: readonly FieldError[]
  readonly label: string
}

export function SchemaForm({ schema, draft, onDraft, faults, label }: SchemaFormProps) {
  const id = useId()
  const fields = useMemo(() => fieldsOf(schema), [schema])
  const form = {
    id,
    draft,
    change: useDraftChange(draft, onDraft),
    before: undefined,
    faults: useMemo(() => faultsByPath(faults), [faults]),
  }
  return (
    <fieldset className="schema-form" aria-label={label}>
      {fields.length === 0 ? (
        <JsonInput
          form={form}
          pointer=""
          marks={{ id, 'aria-invalid': form.faults.has(''), 'aria-label': label }}
          value={draft.value}
        />
      ) : (
        <ObjectRows form={form} fields={fields} pointer="" />
      )}
    </fieldset>
  )
}
