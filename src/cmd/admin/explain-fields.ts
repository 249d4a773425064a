/**
 * @module cmd/admin/explain-fields
 * `muster explain` describes the fields of the config, payload or output of an automation, from the catalog of the
 * master (D213).
 */
import { MasterError, type MasterClient } from '../../client/index.ts'
import type { CatalogEntryBody, JsonSchema } from '../../protocol/index.ts'
import { automationType, flag } from '../readers.ts'
import { nearest, SettingsError } from '../settings.ts'
import { brief, plain, type Column, type Printer } from './printer.ts'
import { SchemaFields, type SchemaField } from './schema-fields.ts'
import { EXIT, Failure, verb, type Noun } from './verb.ts'

interface FieldRow extends Omit<SchemaField, 'path'> {
  /** `http-probe.targets.name`, which this command accepts. */
  readonly name: string
  /** Below the type: `targets.name`. */
  readonly field: string
}

const defaultText = (value: unknown): string | null => (value === undefined ? null : JSON.stringify(value))

const COLUMNS: readonly Column<FieldRow>[] = [
  { head: 'NAME', cell: ({ name }) => name, isName: true, isWide: true },
  { head: 'FIELD', cell: ({ field, required }) => (required ? `${field} (required)` : field) },
  { head: 'TYPE', cell: ({ type }) => type },
  { head: 'DEFAULT', cell: (row) => defaultText(row.default) },
  { head: 'RANGE', cell: ({ range }) => brief(range) }, // A pattern may be long; the view of one field has all of it.
  { head: 'SECRET', cell: ({ secret }) => (secret ? 'yes' : null) },
  { head: 'MEANING', cell: ({ description }) => description },
]

const explain = verb({
  name: '',
  operands: 'TYPE[.FIELD]',
  least: 1,
  most: 1,
  summary: 'Describes the fields of the config of an automation: type, default, range, whether secret, and meaning.',
  names: 'TYPE.FIELD',
  examples: [
    'http-probe',
    'http-probe.targets',
    'http-probe.targets.url',
    'http-request --payload',
    'http-probe -o name',
  ],
  options: {
    payload: { name: 'payload', help: 'The payload of tasks in place of the config.', read: flag },
    outputSchema: { name: 'output-schema', help: 'The output in place of the config.', read: flag },
    recursive: { name: 'recursive', help: 'Also the fields below the listed ones.', read: flag },
  },
  run: async ({ operands: [word = ''], options, client, printer }) => {
    if (options.payload && options.outputSchema)
      throw new SettingsError([{ name: '--payload', problem: 'cannot be combined with --output-schema' }])
    const { type, path: given } = typeAndPath(word)
    const entry = await entryOf(client, type)
    const fields = new SchemaFields(schemaOf(entry, options))
    const path = resolvedPath(fields, type, given)
    const rowOf = ({ path: below, ...rest }: SchemaField): FieldRow => ({
      name: [type, ...below].join('.'),
      field: below.join('.'),
      ...rest,
    })
    const below = fields.below(path, options.recursive).map(rowOf)
    if (path.length === 0) await printer.rows(below, COLUMNS, { type, fields: below.map(bodyOf) })
    else await printField(printer, rowOf(fields.at(path) as SchemaField), below)
    return EXIT.OK
  },
})

/** `http-probe.targets[].name` is the same as `http-probe.targets.name`. */
function typeAndPath(word: string): { readonly type: string; readonly path: string } {
  const dot = word.indexOf('.')
  const type = dot === -1 ? word : word.slice(0, dot)
  try {
    return { type: automationType(type), path: dot === -1 ? '' : word.slice(dot + 1).replaceAll(/\[[\d*]*\]/g, '') }
  } catch (error) {
    throw new SettingsError([{ name: 'TYPE', problem: (error as Error).message }])
  }
}

/** @throws {Failure} with the nearest type if it is not installed. */
async function entryOf(client: MasterClient, type: string): Promise<CatalogEntryBody> {
  try {
    return (await client.catalogEntry(type)).body
  } catch (error) {
    if (!(error instanceof MasterError) || error.code !== 'NOT_FOUND') throw error
    const types = (await client.automations()).body.map((each) => each.type)
    const advice = nearest(type, types) || `; installed: ${types.join(', ')}`
    throw new Failure(EXIT.NOT_FOUND, 'muster explain failed', `no automation "${type}" is installed${advice}`)
  }
}

function schemaOf(
  { type, config, queue, stream }: CatalogEntryBody,
  { payload, outputSchema }: { readonly payload: boolean; readonly outputSchema: boolean },
): JsonSchema {
  if (!payload && !outputSchema) return config
  const found = payload ? queue?.payload : stream?.payload
  if (found !== undefined) return found
  const why = payload ? `"${type}" takes no tasks, so it has no payload` : `"${type}" declares no output`
  throw new Failure(EXIT.NOT_FOUND, 'muster explain failed', why, `muster explain ${type}`)
}

/**
 * Splits a path at its dots. Names may contain dots themselves, so the longest known name counts.
 * @throws {SettingsError} for an unknown field, with the nearest names.
 */
function resolvedPath(fields: SchemaFields, type: string, given: string): readonly string[] {
  const path: string[] = []
  for (let rest = given; rest !== '';) {
    const names = fields.below(path).map((each) => each.path.at(-1) ?? '')
    const name = nameAtStart(rest, names)
    if (name === undefined) throw unknownField(type, path, rest, names)
    path.push(name)
    rest = rest.slice(name.length + 1)
  }
  return path
}

function nameAtStart(rest: string, names: readonly string[]): string | undefined {
  const [known] = names
    .filter((name) => rest === name || rest.startsWith(`${name}.`))
    .toSorted((one, other) => other.length - one.length)
  if (known !== undefined) return known
  return names.includes('*') ? rest.split('.', 1)[0] : undefined
}

function unknownField(type: string, path: readonly string[], rest: string, names: readonly string[]): SettingsError {
  const [name = ''] = rest.split('.', 1)
  const parent = [type, ...path].join('.')
  const near = nearest(name, names)
  const others = names.length === 0 ? `; ${parent} has no fields` : `; it has ${names.join(', ')}`
  return new SettingsError([
    {
      name: [parent, rest].join('.'),
      problem: `is not known: ${parent} has no field ${JSON.stringify(name)}${near || others}`,
    },
  ])
}

const bodyOf = ({ name, field, type, required, default: value, range, secret, description }: FieldRow) => ({
  name,
  field,
  type,
  required,
  ...(value === undefined ? {} : { default: value }),
  range: range === '' ? null : range,
  secret,
  description,
})

/** One field, and the fields below it. */
async function printField(printer: Printer, row: FieldRow, below: readonly FieldRow[]): Promise<void> {
  const facts: readonly (readonly [string, string | null])[] = [
    ['type', row.type],
    ['required', row.required ? 'yes' : 'no'],
    ['default', defaultText(row.default)],
    ['range', row.range === '' ? null : row.range],
    ['secret', row.secret ? 'yes: shown as a mask, and set with FIELD=@FILE' : 'no'],
    ['meaning', row.description],
  ]
  const text = facts
    .flatMap(([head, value]) => (value === null ? [] : [`  ${head.padEnd(9)} ${plain(value)}\n`]))
    .join('')
  await printer.value(
    { ...bodyOf(row), fields: below.map(bodyOf) },
    () => `${row.name}\n${text}${below.length === 0 ? '' : `\n${printer.table(below, COLUMNS)}`}`,
    below.length === 0 ? [row.name] : below.map(({ name }) => name),
  )
}

export const explainNoun: Noun = {
  summary: 'describe the fields of the config, payload or output of a type',
  verbs: [explain],
}
