/** @module dashboard/config/field-input  The input of a field that is no secret, by its kind. */
import type { JsonObject, JsonValue } from '../../protocol/index.ts'
import { optionText, textOf, type Edit } from './draft.ts'
import type { Field } from './fields.ts'

export interface InputProps {
  readonly id: string
  readonly described: string
  readonly invalid: boolean
  readonly field: Field
  readonly config: JsonObject
  readonly edit: Edit | undefined
  readonly onEdit: (edit: Edit | null) => void
}

const MANY_LINES = 16

export function FieldInput({ id, described, invalid, field, config, edit, onEdit }: InputProps) {
  const text = shownText(field, config, edit)
  const same = { id, 'aria-describedby': described, 'aria-invalid': invalid, 'aria-required': field.required } as const
  const set = (next: string): void => onEdit({ kind: 'set', text: next })
  switch (field.kind) {
    case 'boolean': return <input {...same} type="checkbox" checked={text === 'true'} onChange={(event) => set(String(event.target.checked))} />
    case 'enum': return <Options {...same} options={field.options} text={text} onChange={set} />
    case 'json': return <textarea {...same} className="code" spellCheck={false} rows={Math.min(MANY_LINES, Math.max(2, text.split('\n').length))} value={text} onChange={(event) => set(event.target.value)} />
    case 'integer':
    case 'number': return <input {...same} type="text" inputMode={field.kind === 'integer' ? 'numeric' : 'decimal'} className="number" value={text} onChange={(event) => set(event.target.value)} />
    case 'string': return <input {...same} type="text" spellCheck={false} value={text} onChange={(event) => set(event.target.value)} />
  }
}

function shownText(field: Field, config: JsonObject, edit: Edit | undefined): string {
  if (edit?.kind === 'set') return edit.text
  if (edit === undefined) return textOf(field, config)
  return field.fallback === undefined ? '' : textOf(field, { [field.name]: field.fallback })
}

interface OptionsProps {
  readonly id: string
  readonly options: readonly JsonValue[]
  readonly text: string
  readonly onChange: (text: string) => void
}

function Options({ options, text, onChange, ...same }: OptionsProps) {
  const values = options.map((option) => JSON.stringify(option))
  return (
    <select {...same} value={text} onChange={(event) => onChange(event.target.value)}>
      {!values.includes(text) && <option value={text}>{text === '' ? 'not set' : text}</option>}
      {options.map((option, index) => <option key={values[index]} value={values[index]}>{optionText(option)}</option>)}
    </select>
  )
}
