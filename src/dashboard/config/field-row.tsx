/** @module dashboard/config/field-row  One field: label, input, what it may hold, what is wrong with it, and the way back. */
import { useId } from 'react'
import type { JsonObject } from '../../protocol/index.ts'
import { canReset, isDefault, isSet, type Edit } from './draft.ts'
import { FieldInput } from './field-input.tsx'
import type { Field } from './fields.ts'
import { SecretInput } from './secret-input.tsx'

export interface FieldRowProps {
  readonly field: Field
  readonly config: JsonObject
  readonly edit: Edit | undefined
  readonly fault: string | undefined
  readonly changed: boolean
  /** null takes the edit back. */
  readonly onEdit: (edit: Edit | null) => void
}

export function FieldRow({ field, config, edit, fault, changed, onEdit }: FieldRowProps) {
  const id = useId()
  const described = `${id}-about${fault === undefined ? '' : ` ${id}-fault`}`
  const Input = field.secret ? SecretInput : FieldInput
  return (
    <div className={changed ? 'field changed' : 'field'}>
      <FieldLabel id={id} field={field} />
      <div className="input">
        <Input id={id} described={described} invalid={fault !== undefined} field={field} config={config} edit={edit} onEdit={onEdit} />
        {fault !== undefined && <p id={`${id}-fault`} className="fault"><bdi>{fault}</bdi></p>}
        <p id={`${id}-about`} className="soft about">
          {field.title !== field.name && <><code><bdi>{field.name}</bdi></code> </>}
          {field.description !== null && <><bdi>{field.description}</bdi> </>}
          {field.hint !== '' && <bdi>{field.description === null ? field.hint : `(${field.hint})`}</bdi>}
          {edit?.kind === 'reset' && <strong> {field.fallback === undefined ? 'Will be removed.' : 'Will be its default.'}</strong>}
          {edit === undefined && !isSet(field, config) && <strong> Not set.</strong>}
        </p>
      </div>
      <div className="ways">
        {edit !== undefined && <button type="button" className="link" onClick={() => onEdit(null)}>Undo<span className="hidden"> {field.title}</span></button>}
        {edit?.kind !== 'reset' && isSet(field, config) && canReset(field) && !isDefault(field, config) && !field.secret && (
          <button type="button" className="link" onClick={() => onEdit({ kind: 'reset' })}>{field.fallback === undefined ? 'Remove' : 'Default'}<span className="hidden"> {field.title}</span></button>
        )}
      </div>
    </div>
  )
}

/** A secret is a group of choices, which has a name instead of a label. */
function FieldLabel({ id, field: { title, required, secret } }: { readonly id: string; readonly field: Field }) {
  const text = <><bdi>{title}</bdi>{required && <span className="soft"> (required)</span>}</>
  return secret ? <span className="label" id={`${id}-label`}>{text}</span> : <label className="label" htmlFor={id}>{text}</label>
}
