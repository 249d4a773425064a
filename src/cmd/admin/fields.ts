/**
 * @module cmd/admin/fields
 * Reads `FIELD=VALUE` operands as config fields, by the schema of the automation: a string field takes the text as it
 * is, any other field takes JSON. A secret is read from a file or stdin, `FIELD=@FILE` or `FIELD=@-`, because shell
 * history and process lists show command lines.
 */
import {
  compileValidator,
  secretPathsOf,
  withSourceNumbers,
  type JsonObject,
  type JsonSchema,
  type JsonValue,
} from '../../protocol/index.ts'
import { nearest, SettingsError, type SettingFault } from '../settings.ts'
import type { Io } from './io.ts'
import { readInput } from './input.ts'

export interface FieldWords {
  readonly assignments: readonly string[]
  readonly unset: readonly string[]
}

/** @throws SettingsError with every fault. */
export async function readFields(
  { assignments, unset }: FieldWords,
  schema: JsonSchema,
  io: Pick<Io, 'stdin'>,
): Promise<JsonObject> {
  const fields = (schema['properties'] ?? {}) as Readonly<Record<string, JsonSchema>>
  const secrets = new Set(secretPathsOf(schema).map(([name]) => name))
  const faults: SettingFault[] = []
  const patch: Record<string, JsonValue> = {}
  const known = (name: string): boolean => {
    if (Object.hasOwn(fields, name)) return true
    const names = Object.keys(fields)
    const advice = nearest(name, names) || `; it has ${names.join(', ')}`
    faults.push({ name, problem: `is not a field of this config${advice}` })
    return false
  }
  for (const word of assignments) {
    const equals = word.indexOf('=')
    const name = equals === -1 ? word : word.slice(0, equals)
    if (equals === -1) faults.push({ name, problem: 'is not FIELD=VALUE; for example slots=2' })
    else if (known(name)) {
      try {
        patch[name] = secrets.has(name)
          ? await secretValue(name, word.slice(equals + 1), fields[name] ?? {}, io)
          : valueOf(word.slice(equals + 1), fields[name] ?? {})
      } catch (error) {
        faults.push(...(error instanceof SettingsError ? error.faults : [{ name, problem: (error as Error).message }]))
      }
    }
  }
  for (const name of unset) if (known(name)) patch[name] = null
  if (faults.length > 0) throw new SettingsError(faults)
  return patch
}

function valueOf(text: string, field: JsonSchema): JsonValue {
  if (field['type'] === 'string') return text
  try {
    return withSourceNumbers(text, JSON.parse(text)) as JsonValue
  } catch (error) {
    if (compileValidator(field)(text).length === 0) return text // The field accepts strings among other types.
    const takes = typeof field['type'] === 'string' ? field['type'] : 'JSON'
    throw new Error(`${JSON.stringify(text)} is not JSON, and this field expects ${takes}`, { cause: error })
  }
}

async function secretValue(name: string, text: string, field: JsonSchema, io: Pick<Io, 'stdin'>): Promise<JsonValue> {
  if (!text.startsWith('@'))
    throw new Error(`is secret, and other users can read command lines; pass ${name}=@FILE, or ${name}=@- for stdin`)
  const value = (await readInput(name, text.slice(1), io)).replace(/\r?\n$/, '')
  try {
    return valueOf(value, field)
  } catch {
    // The message must not quote the secret.
    throw new Error('the file does not contain JSON, and this field does not accept text')
  }
}
