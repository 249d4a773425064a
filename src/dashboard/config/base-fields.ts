/** @module dashboard/config/base-fields  Separates the fields of every config (D4) from those of an automation. */
import type { Field } from './shape.ts'

/** Copied from protocol, of which the dashboard imports only types. */
export const BASE_FIELDS: readonly string[] = ['enabled', 'slots', 'max_attempts', 'recycle_seconds']

/** Both parts keep the order of the schema. */
export function partsOf(fields: readonly Field[]): { readonly own: readonly Field[]; readonly base: readonly Field[] } {
  const isBase = ({ name }: Field): boolean => BASE_FIELDS.includes(name)
  return { own: fields.filter((field) => !isBase(field)), base: fields.filter(isBase) }
}
