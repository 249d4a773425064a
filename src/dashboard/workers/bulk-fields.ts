/**
 * @module dashboard/workers/bulk-fields
 * The fields of a config that can be set on many workers at once: those of the type where all are of one, else the four
 * that every config has (D4). A value is typed as its field says; what is not simple is JSON.
 */
import type { JsonObject, JsonSchema, JsonValue } from '../../protocol/index.ts'

export interface BulkField {
  readonly name: string
  readonly kind: 'boolean' | 'integer' | 'number' | 'string' | 'json'
  readonly secret: boolean
  readonly about: string
}

const BASE: readonly BulkField[] = [
  { name: 'enabled', kind: 'boolean', secret: false, about: 'Whether the worker runs its slots.' },
  { name: 'slots', kind: 'integer', secret: false, about: 'Concurrent slots; 0 is scaled to zero.' },
  { name: 'max_attempts', kind: 'integer', secret: false, about: 'Attempts of a batch task before it is dead-lettered.' },
  { name: 'recycle_seconds', kind: 'number', secret: false, about: 'Age in seconds at which a slot is replaced; 0 is never.' },
]
const SIMPLE = ['boolean', 'integer', 'number', 'string'] as const

/** @param schema the config schema of the one type; undefined: there are several. */
export function bulkFields(schema: JsonSchema | undefined): readonly BulkField[] {
  if (schema === undefined) return BASE
  const own = Object.entries((schema['properties'] ?? {}) as Readonly<Record<string, JsonSchema>>)
  return own.map(([name, field]) => ({
    name, kind: SIMPLE.find((kind) => field['type'] === kind) ?? 'json', secret: field['writeOnly'] === true,
    about: typeof field['description'] === 'string' ? field['description'] : '',
  }))
}

/** The text as a value of the field, or what was expected. */
export function readField({ kind }: BulkField, text: string): { readonly value: JsonValue } | { readonly fault: string } {
  switch (kind) {
    case 'string': return { value: text }
    case 'boolean': return text === 'true' || text === 'false' ? { value: text === 'true' } : { fault: 'choose yes or no' }
    case 'integer': return /^-?\d+$/.test(text.trim()) ? { value: Number(text) } : { fault: `expected a whole number, got "${text}"` }
    case 'number': return text.trim() !== '' && Number.isFinite(Number(text)) ? { value: Number(text) } : { fault: `expected a number, got "${text}"` }
    case 'json': return readJson(text)
  }
}

function readJson(text: string): { readonly value: JsonValue } | { readonly fault: string } {
  try {
    return { value: JSON.parse(text) as JsonValue }
  } catch (error) {
    return { fault: `expected JSON: ${(error as Error).message}` }
  }
}

/** The patch of the ticked fields, or the faults by name. */
export function patchOf(fields: readonly BulkField[], texts: ReadonlyMap<string, string>): { readonly patch: JsonObject; readonly faults: ReadonlyMap<string, string> } {
  const readings = fields.filter(({ name }) => texts.has(name)).map((field) => [field.name, readField(field, texts.get(field.name) ?? '')] as const)
  return {
    patch: Object.fromEntries(readings.flatMap(([name, reading]) => ('value' in reading ? [[name, reading.value]] : []))),
    faults: new Map(readings.flatMap(([name, reading]) => ('fault' in reading ? [[name, reading.fault] as const] : []))),
  }
}
