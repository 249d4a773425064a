/**
 * @module dashboard/config/secret-input
 * Keeps, replaces or clears a secret, which cannot be read (D17). The new value exists only in the draft.
 */
import type { JsonValue } from '../../protocol/index.ts'
import { beforeOf, set, valueOf } from './form-state.ts'
import { JsonInput, type InputProps } from './input.tsx'
import { SECRET_MASK } from './schema.ts'

type Way = 'keep' | 'replace' | 'clear'

function wayOf(value: JsonValue | undefined): Way {
  if (value === undefined) return 'clear'
  return value === SECRET_MASK ? 'keep' : 'replace'
}

export function SecretInput({ form, pointer, shape, required, marks }: InputProps) {
  const [value, stored] = [valueOf(form, pointer), beforeOf(form, pointer)]
  const way = wayOf(value)
  const ways: readonly { readonly name: Way; readonly text: string; readonly to: JsonValue | undefined }[] =
    stored === undefined
      ? [
          { name: 'clear', text: 'Leave unset', to: undefined },
          { name: 'replace', text: 'Set', to: '' },
        ]
      : [
          { name: 'keep', text: 'Keep', to: stored },
          { name: 'replace', text: 'Replace', to: '' },
          ...(required ? [] : [{ name: 'clear' as const, text: 'Clear', to: undefined }]),
        ]
  const { id, 'aria-required': _, ...inputMarks } = marks
  return (
    <>
      <div
        className="secret-ways"
        role="radiogroup"
        aria-labelledby={`${id}-label`}
        aria-describedby={marks['aria-describedby']}
      >
        {stored !== undefined && <span className="secret-set">set ·</span>}
        {ways.map(({ name, text, to }, index) => (
          <label key={name}>
            <input
              id={index === 0 ? id : undefined}
              type="radio"
              name={id}
              checked={way === name}
              onChange={() => set(form, pointer, to)}
            />{' '}
            {text}
          </label>
        ))}
      </div>
      {way === 'replace' &&
        (shape.kind === 'string' && typeof value === 'string' ? (
          <input
            {...inputMarks}
            id={`${id}-new`}
            aria-labelledby={`${id}-label`}
            type="password"
            autoComplete="new-password"
            spellCheck={false}
            placeholder="new value"
            value={value}
            onChange={(event) => set(form, pointer, event.target.value)}
          />
        ) : (
          <JsonInput
            form={form}
            pointer={pointer}
            marks={{ ...inputMarks, id: `${id}-new`, 'aria-label': 'new value (JSON)' }}
            value={value === '' ? undefined : value}
          />
        ))}
    </>
  )
}
