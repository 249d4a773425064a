/** @module dashboard/config/field-parts  Renders the label, description and error of an input. */
import type { JsonValue } from '../../protocol/index.ts'
import { sameJson } from '../components/json-text.ts'
import type { Field } from './shape.ts'

export function FieldLabel({
  id,
  field: { name, shape, required },
  isGroup,
}: {
  readonly id: string
  readonly field: Field
  readonly isGroup: boolean
}) {
  const text = (
    <>
      <bdi>{shape.title ?? name}</bdi>
      {required && <span className="soft"> (required)</span>}
      {shape.deprecated && <span className="warn"> (deprecated)</span>}
    </>
  )
  return isGroup ? (
    <span className="label" id={`${id}-label`}>
      {text}
    </span>
  ) : (
    <label className="label" id={`${id}-label`} htmlFor={id}>
      {text}
    </label>
  )
}

export function Fault({ id, text }: { readonly id: string; readonly text: string | undefined }) {
  return (
    <p id={`${id}-fault`} className="fault">
      {text !== undefined && (
        <>
          <span aria-hidden="true">✗ </span>
          <bdi>{text}</bdi>
        </>
      )}
    </p>
  )
}

export function About({
  id,
  field: { name, shape },
  value,
}: {
  readonly id: string
  readonly field: Field
  readonly value: JsonValue | undefined
}) {
  const { title, description, hint, fallback, readOnly } = shape
  const isDefault = fallback !== undefined && (value === undefined || sameJson(value, fallback))
  return (
    <p id={`${id}-about`} className="soft about">
      {title !== null && title !== name && (
        <>
          <code>
            <bdi>{name}</bdi>
          </code>
          {(description !== null || hint !== '') && ' · '}
        </>
      )}
      {description !== null && (
        <>
          <bdi>{description}</bdi>{' '}
        </>
      )}
      {hint !== '' && <bdi className="hint">{description === null ? hint : `(${hint})`}</bdi>}
      {value === null && <strong> The value is null.</strong>}
      {isDefault && value === undefined && <strong> Uses the default.</strong>}
      {readOnly && <strong> Set by the worker.</strong>}
    </p>
  )
}
