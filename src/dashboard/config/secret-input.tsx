/**
 * @module dashboard/config/secret-input
 * Keeps, replaces or clears a secret, which cannot be read (D17). The new value exists only in the draft.
 */
import type { JsonValue } from '../../protocol/index.ts'
import { beforeOf, set, valueOf } from './form-state.ts'
import { JsonInput, type InputProps } from './input.tsx'
import { SECRET_MASK } from './schema.ts'
import { storedSecretText } from './shape.ts'

type SecretAction = 'keep' | 'replace' | 'clear'

function actionOf(value: JsonValue | undefined): SecretAction {
  if (value === undefined) return 'clear'
  return value === SECRET_MASK ? 'keep' : 'replace'
}

interface Choice {
  readonly action: SecretAction
  readonly text: string
  /** The value of the field after the choice. */
  readonly to: JsonValue | undefined
}

function choicesOf(stored: JsonValue | undefined, required: boolean): readonly Choice[] {
  if (stored === undefined)
    return [
      { action: 'clear', text: 'Leave unset', to: undefined },
      { action: 'replace', text: 'Set', to: '' },
    ]
  return [
    { action: 'keep', text: 'Keep', to: stored },
    { action: 'replace', text: 'Replace', to: '' },
    ...(required ? [] : [{ action: 'clear', text: 'Clear', to: undefined } as const]),
  ]
}

export function SecretInput(props: InputProps) {
  const { form, pointer, shape, required, marks } = props
  const stored = beforeOf(form, pointer)
  const chosen = actionOf(valueOf(form, pointer))
  const { id } = marks
  return (
    <>
      <div
        className="secret-actions"
        role="radiogroup"
        aria-labelledby={`${id}-label`}
        aria-describedby={marks['aria-describedby']}
      >
        {stored !== undefined && (
          <span className="secret-set">
            <bdi>{storedSecretText(shape)}</bdi> ·
          </span>
        )}
        {choicesOf(stored, required).map(({ action, text, to }, index) => (
          <label key={action}>
            <input
              id={index === 0 ? id : undefined}
              type="radio"
              name={id}
              checked={chosen === action}
              onChange={() => set(form, pointer, to)}
            />{' '}
            {text}
          </label>
        ))}
      </div>
      {chosen === 'replace' && <NewSecretInput {...props} />}
    </>
  )
}

/** The input of the new value: a password field for text, otherwise JSON. */
function NewSecretInput({ form, pointer, shape, marks: fieldMarks }: InputProps) {
  const { id, 'aria-required': _, ...marks } = fieldMarks
  const value = valueOf(form, pointer)
  if (shape.kind === 'string' && typeof value === 'string')
    return (
      <input
        {...marks}
        id={`${id}-new`}
        aria-labelledby={`${id}-label`}
        type="password"
        autoComplete="new-password"
        spellCheck={false}
        placeholder="new value"
        value={value}
        onChange={(event) => set(form, pointer, event.target.value)}
      />
    )
  return (
    <JsonInput
      form={form}
      pointer={pointer}
      marks={{ ...marks, id: `${id}-new`, 'aria-label': 'new value (JSON)' }}
      value={value === '' ? undefined : value}
    />
  )
}
