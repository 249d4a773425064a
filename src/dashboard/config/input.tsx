/** @module dashboard/config/input  Renders the input of one value according to its kind. */
import { useState, type ReactNode } from 'react'
import type { JsonValue } from '../../protocol/index.ts'
import { prettyJson } from '../components/json-text.ts'
import { set, type, valueOf, type FormState } from './form-state.ts'
import { INPUT_TYPES, nativeTime, textOfNative, type TimeFormat } from './native-time.ts'
import { optionText, type Shape } from './shape.ts'

export interface InputProps {
  readonly form: FormState
  readonly pointer: string
  readonly shape: Shape
  readonly required: boolean
  /** ID and ARIA attributes of the input. */
  readonly marks: Marks
}

export interface Marks {
  readonly id: string
  readonly 'aria-describedby'?: string
  readonly 'aria-invalid': boolean
  readonly 'aria-required'?: boolean
  readonly 'aria-label'?: string
}

const MANY_LINES = 16

export function Input(props: InputProps) {
  const { form, pointer, shape, marks } = props
  const value = valueOf(form, pointer)
  switch (shape.kind) {
    case 'boolean':
      return <BooleanInput {...props} value={value} />
    case 'enum':
      return <Options {...props} value={value} />
    case 'integer':
    case 'number':
      return <NumberInput {...props} kind={shape.kind} value={value} />
    case 'string':
      if (typeof value !== 'string' && value !== undefined && value !== null)
        return <JsonInput {...props} value={value} />
      return shape.timeFormat === undefined || shape.secret ? (
        <TextInput {...props} value={value} />
      ) : (
        <TimeInput {...props} format={shape.timeFormat} value={value} />
      )
    case 'object':
    case 'array':
    case 'union':
    case 'json':
      return <JsonInput form={form} pointer={pointer} marks={marks} value={value} />
  }
}

interface Valued extends InputProps {
  readonly value: JsonValue | undefined
}

/** Renders a checkbox, or a select if the value may also be unset or null. */
function BooleanInput(props: Valued) {
  const { form, pointer, shape, marks, value } = props
  if (typeof value !== 'boolean' || shape.nullable)
    return <Options {...props} shape={{ ...shape, options: [true, false] }} />
  const { 'aria-required': _, ...boxMarks } = marks
  return (
    <label className="switch">
      <input
        {...boxMarks}
        type="checkbox"
        checked={value}
        onChange={(event) => set(form, pointer, event.target.checked)}
      />{' '}
      <span aria-hidden="true">{value ? 'on' : 'off'}</span>
    </label>
  )
}

function Options({ form, pointer, shape, required, marks, value }: Valued): ReactNode {
  const text = value === undefined ? '' : JSON.stringify(value)
  const options = shape.options.map((option) => JSON.stringify(option))
  const known = shape.nullable && !options.includes('null') ? [...shape.options, null] : shape.options
  return (
    <select
      {...marks}
      value={text}
      onChange={(event) =>
        set(form, pointer, event.target.value === '' ? undefined : (JSON.parse(event.target.value) as JsonValue))
      }
    >
      {(value === undefined || !required) && <option value="">not set</option>}
      {value !== undefined && !known.some((option) => JSON.stringify(option) === text) && (
        <option value={text}>{text}</option>
      )}
      {known.map((option) => (
        <option key={JSON.stringify(option)} value={JSON.stringify(option)}>
          {optionText(option)}
        </option>
      ))}
    </select>
  )
}

function NumberInput({ form, pointer, kind, marks, value }: Valued & { readonly kind: 'integer' | 'number' }) {
  const text = form.draft.texts.get(pointer)?.text ?? (value === undefined ? '' : JSON.stringify(value))
  return (
    <input
      {...marks}
      type="text"
      inputMode={kind === 'integer' ? 'numeric' : 'decimal'}
      className="number-input"
      placeholder="not set"
      value={text}
      onChange={(event) => type(form, pointer, kind, event.target.value)}
    />
  )
}

/** In a form of new values, a required text begins empty, which needs no words. */
function placeholderOf({ form: { before }, value }: Pick<Valued, 'form'> & TextValue): string {
  if (value === undefined) return 'not set'
  if (value === null) return 'null'
  return before === undefined ? '' : 'empty text'
}

interface TextValue {
  readonly value: string | null | undefined
}

const LONG_TEXT = 80

function TextInput({ form, pointer, shape, marks, value }: Valued & TextValue) {
  if (shape.secret)
    return (
      <input
        {...marks}
        type="password"
        autoComplete="new-password"
        placeholder="not set"
        value={value ?? ''}
        onChange={(event) => set(form, pointer, event.target.value)}
      />
    )
  const same = {
    ...marks,
    spellCheck: false,
    autoComplete: 'off',
    dir: 'auto',
    placeholder: placeholderOf({ form, value }),
    value: value ?? '',
  } as const
  const onChange = (event: { readonly target: { readonly value: string } }): void =>
    set(form, pointer, event.target.value)
  return (value ?? '').length > LONG_TEXT || /\n/.test(value ?? '') ? (
    <textarea {...same} rows={3} onChange={onChange} />
  ) : (
    <input {...same} type="text" onChange={onChange} />
  )
}

/** The browser's input for dates and times. A value that it cannot show is edited as text. */
function TimeInput(props: Valued & TextValue & { readonly format: TimeFormat }) {
  const { form, pointer, required, marks, value, format } = props
  const native = nativeTime(format, value ?? '')
  // Text that becomes valid while the user types it stays text.
  const [beganAsText] = useState(native === null)
  if (beganAsText || native === null) return <TextInput {...props} />
  const { offset } = native
  const onChange = (typed: string): void => {
    const text = textOfNative(format, typed, offset)
    set(form, pointer, text === '' && !required ? undefined : text)
  }
  return (
    <span className="moment-input">
      <input
        {...marks}
        type={INPUT_TYPES[format]}
        step={native.value.includes('.') ? 0.001 : 1}
        value={native.value}
        onChange={(event) => onChange(event.target.value)}
      />
      {offset !== '' && <span className="soft"> UTC{offset === 'Z' ? '' : offset}</span>}
    </span>
  )
}

export function JsonInput({ form, pointer, marks, value }: Pick<Valued, 'form' | 'pointer' | 'marks' | 'value'>) {
  const text = form.draft.texts.get(pointer)?.text ?? (value === undefined ? '' : prettyJson(value))
  const rows = Math.min(MANY_LINES, Math.max(2, text.split('\n').length))
  return (
    <textarea
      {...marks}
      className="code"
      spellCheck={false}
      rows={rows}
      placeholder="not set (JSON)"
      value={text}
      onChange={(event) => type(form, pointer, 'json', event.target.value)}
    />
  )
}
