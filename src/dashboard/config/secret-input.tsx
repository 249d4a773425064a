/**
 * @module dashboard/config/secret-input
 * A secret can be kept, replaced or cleared, and never read (D17). The new value is in the draft alone, and in no list of
 * changes.
 */
import { canReset, isSet, type Edit } from './draft.ts'
import type { InputProps } from './field-input.tsx'

export function SecretInput({ id, described, invalid, field, config, edit, onEdit }: InputProps) {
  const stored = isSet(field, config)
  const ways: readonly { readonly text: string; readonly to: Edit | null; readonly on: boolean }[] = [
    { text: stored ? 'Keep the stored one' : 'Leave it unset', to: null, on: edit === undefined },
    { text: stored ? 'Replace' : 'Set', to: { kind: 'set', text: '' }, on: edit?.kind === 'set' },
    ...(stored && canReset(field) ? [{ text: field.fallback === undefined ? 'Clear' : 'Default', to: { kind: 'reset' } as const, on: edit?.kind === 'reset' }] : []),
  ]
  const same = { 'aria-labelledby': `${id}-label`, 'aria-describedby': described, 'aria-invalid': invalid, spellCheck: false, autoComplete: 'new-password' } as const
  const set = (text: string): void => onEdit({ kind: 'set', text })
  return (
    <>
      <div className="ways-of-secret" role="radiogroup" aria-labelledby={`${id}-label`}>
        {ways.map(({ text, to, on }) => <label key={text}><input type="radio" name={id} checked={on} onChange={() => onEdit(to)} /> {text}</label>)}
      </div>
      {edit?.kind === 'set' && (field.kind === 'json'
        ? <textarea {...same} className="code" rows={4} value={edit.text} onChange={(event) => set(event.target.value)} />
        : <input {...same} type="password" value={edit.text} onChange={(event) => set(event.target.value)} />)}
    </>
  )
}
