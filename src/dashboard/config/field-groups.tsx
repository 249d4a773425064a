/**
 * @module dashboard/config/field-groups
 * Shows the fields of a config in two groups: those of the automation, then those of every worker.
 */
import { partsOf } from './base-fields.ts'
import type { FormState } from './form-state.ts'
import { FieldRows, OtherRows } from './rows.tsx'
import type { Field } from './shape.ts'

interface FieldGroupsProps {
  readonly form: FormState
  readonly fields: readonly Field[]
  readonly type: string
}

export function FieldGroups({ form, fields, type }: FieldGroupsProps) {
  const { own, base } = partsOf(fields)
  return (
    <>
      <section className="field-group" aria-labelledby={`${form.id}-own`}>
        <h2 id={`${form.id}-own`}>
          Fields of <bdi>{type}</bdi>
        </h2>
        {own.length === 0 && <p className="soft">This automation has none.</p>}
        <FieldRows form={form} fields={own} pointer="" />
        <OtherRows form={form} fields={fields} pointer="" />
      </section>
      <section className="field-group" aria-labelledby={`${form.id}-base`}>
        <h2 id={`${form.id}-base`}>Fields of every worker</h2>
        <FieldRows form={form} fields={base} pointer="" />
      </section>
    </>
  )
}
