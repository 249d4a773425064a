/**
 * @module dashboard/config/rows
 * Renders one field: label, input, description, error, and actions such as Undo and Remove. Object fields, list items
 * and union options are nested rows. Unset, null, empty string and default are labelled differently.
 */
import { memo, useState, type ReactNode } from 'react'
import type { JsonValue } from '../../protocol/index.ts'
import { sameJson } from '../components/json-text.ts'
import { plural } from '../components/numbers.ts'
import { About, Fault, FieldLabel } from './field-parts.tsx'
import { beforeOf, inputId, sameAt, set, valueOf, type FormState } from './form-state.ts'
import { Input, JsonInput, type Marks } from './input.tsx'
import { SecretInput } from './secret-input.tsx'
import { firstValue, type Field, type Shape } from './shape.ts'
import { branchOf, looksLike } from './union-branch.ts'
import { childPointer } from './value-draft.ts'

interface FieldRowProps {
  readonly form: FormState
  readonly field: Field
  readonly pointer: string
}

/** Memoized, because a form may have hundreds of rows. */
const FieldRow = memo(
  FieldRowContent,
  (a, b) => a.field === b.field && a.pointer === b.pointer && sameAt(a.form, b.form, a.pointer),
)

function FieldRowContent({ form, field, pointer }: FieldRowProps) {
  const { shape } = field
  const id = inputId(form.id, pointer)
  const fault = form.faults.get(pointer)
  const isChanged = form.before !== undefined && !sameJson(valueOf(form, pointer), beforeOf(form, pointer))
  const isGroup = shape.secret || hasRows(shape, valueOf(form, pointer))
  const marks: Marks = {
    id,
    'aria-describedby': `${id}-about${fault === undefined ? '' : ` ${id}-fault`}`,
    'aria-invalid': fault !== undefined,
    'aria-required': field.required,
  }
  return (
    <div className={`field${isChanged ? ' changed' : ''}${isGroup && !shape.secret ? ' group' : ''}`}>
      <FieldLabel id={id} field={field} isGroup={isGroup} />
      <div className="input">
        <div className="value">
          <FieldValue form={form} pointer={pointer} field={field} marks={marks} />
          <FieldActions form={form} field={field} pointer={pointer} />
        </div>
        <Fault id={id} text={fault} />
        <About id={id} field={field} value={valueOf(form, pointer)} />
      </div>
    </div>
  )
}

/** Whether the value is shown as nested rows in a fieldset instead of one labelled input. */
const hasRows = ({ kind }: Shape, value: JsonValue | undefined): boolean =>
  (kind === 'object' || kind === 'array' || kind === 'union') && value !== undefined && value !== null

function FieldValue({
  form,
  pointer,
  field: { shape, required },
  marks,
}: FieldRowProps & { readonly marks: Marks }): ReactNode {
  const value = valueOf(form, pointer)
  if (shape.secret && form.before !== undefined)
    return <SecretInput form={form} pointer={pointer} shape={shape} required={required} marks={marks} />
  if (shape.kind !== 'object' && shape.kind !== 'array' && shape.kind !== 'union')
    return <Input form={form} pointer={pointer} shape={shape} required={required} marks={marks} />
  if (value === undefined || value === null) {
    return (
      <button
        type="button"
        id={marks.id}
        aria-describedby={marks['aria-describedby']}
        onClick={() =>
          set(form, pointer, firstValue({ ...shape, fallback: value === null ? undefined : shape.fallback }))
        }
      >
        {value === null ? 'Set a value' : 'Add'}
      </button>
    )
  }
  return <NestedRows form={form} pointer={pointer} shape={shape} marks={marks} />
}

/** Renders nested rows, or a JSON input if the value does not match the schema. */
function NestedRows({
  form,
  pointer,
  shape,
  marks,
}: {
  readonly form: FormState
  readonly pointer: string
  readonly shape: Shape
  readonly marks: Marks
}): ReactNode {
  const value = valueOf(form, pointer)
  const isObject = typeof value === 'object' && value !== null && !Array.isArray(value)
  if (shape.kind === 'union') return <UnionInput form={form} pointer={pointer} shape={shape} marks={marks} />
  if (shape.kind === 'array' && shape.item !== null && Array.isArray(value))
    return (
      <ItemList form={form} pointer={pointer} item={shape.item} items={value as readonly JsonValue[]} marks={marks} />
    )
  if (shape.kind !== 'object' || !isObject)
    return (
      <Input
        form={form}
        pointer={pointer}
        shape={shape.kind === 'object' || shape.kind === 'array' ? { ...shape, kind: 'json' } : shape}
        required={false}
        marks={marks}
      />
    )
  return (
    <fieldset id={marks.id} tabIndex={-1} aria-labelledby={`${marks.id}-label`} className="rows">
      <ObjectRows form={form} fields={shape.fields} pointer={pointer} />
    </fieldset>
  )
}

interface RowsProps {
  readonly form: FormState
  readonly fields: readonly Field[]
  readonly pointer: string
}

export const ObjectRows = (props: RowsProps) => (
  <>
    <FieldRows {...props} />
    <OtherRows {...props} />
  </>
)

export function FieldRows({ form, fields, pointer }: RowsProps) {
  return fields
    .filter((field) => !isSettled(field, valueOf(form, childPointer(pointer, field.name))))
    .map((field) => <FieldRow key={field.name} form={form} field={field} pointer={childPointer(pointer, field.name)} />)
}

/** What the object has besides the given fields. */
export function OtherRows({ form, fields, pointer }: RowsProps) {
  const value = valueOf(form, pointer)
  const names = new Set(fields.map(({ name }) => name))
  const others =
    typeof value === 'object' && value !== null ? Object.keys(value).filter((name) => !names.has(name)) : []
  return others.map((name) => <OtherRow key={name} form={form} name={name} pointer={childPointer(pointer, name)} />)
}

/** Whether the field is a required constant with its only value, such as the discriminator of a union. Not shown. */
const isSettled = ({ required, shape: { kind, options } }: Field, value: JsonValue | undefined): boolean =>
  required && kind === 'enum' && options.length === 1 && sameJson(value, options[0])

/** A field that is not in the schema: shown as JSON, kept until the user removes it. */
function OtherRow({
  form,
  name,
  pointer,
}: {
  readonly form: FormState
  readonly name: string
  readonly pointer: string
}) {
  const id = inputId(form.id, pointer)
  const fault = form.faults.get(pointer)
  return (
    <div className="field">
      <label className="label" htmlFor={id}>
        <bdi>{name}</bdi>
      </label>
      <div className="input">
        <div className="value">
          <Input
            form={form}
            pointer={pointer}
            shape={OTHER}
            required={false}
            marks={{ id, 'aria-describedby': `${id}-fault`, 'aria-invalid': fault !== undefined }}
          />
          <div className="actions">
            <button type="button" className="link" onClick={() => set(form, pointer, undefined)}>
              Remove<span className="hidden"> {name}</span>
            </button>
          </div>
        </div>
        <Fault id={id} text={fault} />
      </div>
    </div>
  )
}

const OTHER: Shape = {
  kind: 'json',
  title: null,
  description: null,
  hint: '',
  options: [],
  fields: [],
  item: null,
  branches: [],
  nullable: false,
  secret: false,
  readOnly: false,
  deprecated: false,
  fallback: undefined,
}

interface FieldAction {
  readonly text: string
  readonly to: JsonValue | undefined
}

function FieldActions({ form, field, pointer }: FieldRowProps) {
  const actions = fieldActionsOf(form, field, pointer)
  const title = field.shape.title ?? field.name
  if (actions.length === 0) return null
  return (
    <div className="actions">
      {actions.map(({ text, to }) => (
        <button key={text} type="button" className="link" onClick={() => set(form, pointer, to)}>
          {text}
          <span className="hidden"> {title}</span>
        </button>
      ))}
    </div>
  )
}

function fieldActionsOf(form: FormState, field: Field, pointer: string): readonly FieldAction[] {
  const { shape } = field
  const [value, before] = [valueOf(form, pointer), beforeOf(form, pointer)]
  const isTyped = form.draft.texts.get(pointer)?.fault != null
  const actions: FieldAction[] =
    form.before !== undefined && (isTyped || !sameJson(value, before)) ? [{ text: 'Undo', to: before }] : []
  if (shape.secret) return actions
  const reset = resetOf(field, value)
  if (reset !== null) actions.push(reset)
  if (shape.nullable && value !== null && shape.kind !== 'enum' && shape.kind !== 'boolean')
    actions.push({ text: 'Set to null', to: null })
  return actions
}

/** Returns the default to set. An optional field without a default is removed instead. null if neither is possible. */
function resetOf({ shape: { fallback }, required }: Field, value: JsonValue | undefined): FieldAction | null {
  if (value === undefined) return null
  if (fallback !== undefined) return sameJson(value, fallback) ? null : { text: 'Use default', to: fallback }
  return required ? null : { text: 'Remove', to: undefined }
}

const MOST_ROWS = 200

interface ItemListProps {
  readonly form: FormState
  readonly pointer: string
  readonly item: Shape
  readonly items: readonly JsonValue[]
  readonly marks: Marks
}

function ItemList({ form, pointer, item, items, marks }: ItemListProps) {
  const { 'aria-required': _, 'aria-invalid': __, ...named } = marks
  if (items.length > MOST_ROWS)
    return (
      <>
        <p className="soft">{plural(items.length, 'item')}, shown as JSON.</p>
        <JsonInput form={form} pointer={pointer} marks={{ ...marks, 'aria-label': 'items' }} value={items} />
      </>
    )
  return (
    <fieldset {...named} tabIndex={-1} aria-labelledby={`${marks.id}-label`} className="rows">
      <ol className="items">
        {items.map((_item, index) => (
          <ItemRow
            key={childPointer(pointer, index)}
            form={form}
            pointer={childPointer(pointer, index)}
            item={item}
            index={index}
          />
        ))}
      </ol>
      <button type="button" onClick={() => set(form, pointer, [...items, firstValue(item)])}>
        Add an item
      </button>
    </fieldset>
  )
}

function ItemRow({
  form,
  pointer,
  item,
  index,
}: {
  readonly form: FormState
  readonly pointer: string
  readonly item: Shape
  readonly index: number
}) {
  const id = inputId(form.id, pointer)
  const fault = form.faults.get(pointer)
  const marks: Marks = {
    id,
    'aria-describedby': `${id}-fault`,
    'aria-invalid': fault !== undefined,
    'aria-label': `item ${index + 1}`,
  }
  const isPlain = item.kind !== 'object' && item.kind !== 'array' && item.kind !== 'union'
  return (
    <li>
      <span className="hidden" id={`${id}-label`}>
        item {index + 1}
      </span>
      <div className="input">
        {isPlain ? (
          <Input form={form} pointer={pointer} shape={item} required marks={marks} />
        ) : (
          <NestedRows form={form} pointer={pointer} shape={item} marks={marks} />
        )}
        <Fault id={id} text={fault} />
      </div>
      <button type="button" className="link" onClick={() => set(form, pointer, undefined)}>
        Remove<span className="hidden"> item {index + 1}</span>
      </button>
    </li>
  )
}

function UnionInput({
  form,
  pointer,
  shape,
  marks,
}: {
  readonly form: FormState
  readonly pointer: string
  readonly shape: Shape
  readonly marks: Marks
}) {
  const value = valueOf(form, pointer)
  const [chosen, setChosen] = useState<number | null>(null)
  const fitting = branchOf(shape.branches, value)
  const open = chosen !== null && looksLike(shape.branches[chosen], value) ? chosen : fitting
  const branch = shape.branches[open]
  const choose = (index: number): void => {
    const next = shape.branches[index]
    if (next === undefined) return
    setChosen(index)
    set(form, pointer, firstValue(next.shape))
  }
  const isPlain =
    branch === undefined ||
    (branch.shape.kind !== 'object' && branch.shape.kind !== 'array' && branch.shape.kind !== 'union')
  const inner = { ...marks, id: `${marks.id}-value`, 'aria-label': branch?.title ?? 'value' }
  return (
    <div className="rows">
      <select
        id={marks.id}
        aria-labelledby={`${marks.id}-label`}
        aria-describedby={marks['aria-describedby']}
        value={open}
        onChange={(event) => choose(Number(event.target.value))}
      >
        {shape.branches.map(({ title }, index) => (
          <option key={`${index} ${title}`} value={index}>
            {title}
          </option>
        ))}
      </select>
      <span className="hidden" id={`${inner.id}-label`}>
        {branch?.title ?? 'value'}
      </span>
      {branch !== undefined &&
        (isPlain ? (
          <Input form={form} pointer={pointer} shape={branch.shape} required marks={inner} />
        ) : (
          <NestedRows form={form} pointer={pointer} shape={branch.shape} marks={inner} />
        ))}
    </div>
  )
}
