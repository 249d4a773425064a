/**
 * @module cmd/admin/schema-fields
 * Describes the fields of a JSON schema for people: type, default, range, secrets and nested fields. Items of lists,
 * values of maps, alternatives and local references are followed, so a field is `targets.name`, whatever is in between.
 */
import { resolveLocal, type JsonSchema } from '../../protocol/index.ts'

export interface SchemaField {
  /** The path below the root: `['targets', 'name']`; the name `*` is any key of a map. */
  readonly path: readonly string[]
  readonly type: string
  /** Whether a value has to be given: it is required, and has no default. */
  readonly required: boolean
  /** undefined: it has none. */
  readonly default: unknown
  /** What values it takes: `1..100`, `"GET" | "POST"`, `at most 64 characters`; empty: any of its type. */
  readonly range: string
  readonly secret: boolean
  readonly description: string | null
}

interface Node {
  readonly schema: JsonSchema
  readonly path: readonly string[]
  readonly isRequired: boolean
  readonly isSecret: boolean
}

/** The name of any key of a map. */
const ANY = '*'
/** Types of types are written up to this depth. */
const MAX_DEPTH = 8

/** The fields of one schema. */
export class SchemaFields {
  readonly #root: JsonSchema

  constructor(root: JsonSchema) {
    this.#root = root
  }

  /**
   * @returns the direct fields below a path, or all of them with `isDeep`: a schema that refers to itself, once.
   *   Empty if it has none.
   */
  below(path: readonly string[], isDeep = false): readonly SchemaField[] {
    const node = this.#find(path)
    return node === undefined ? [] : this.#listed(node, isDeep).map((each) => this.#described(each))
  }

  /** @returns the field at a path; undefined if there is none. */
  at(path: readonly string[]): SchemaField | undefined {
    const node = this.#find(path)
    return node === undefined ? undefined : this.#described(node)
  }

  #listed(node: Node, isDeep: boolean, above: ReadonlySet<JsonSchema> = new Set([this.#root])): readonly Node[] {
    const children = this.#children(node)
    if (!isDeep) return children
    return children.flatMap((child) => {
      const schema = this.#resolved(child.schema)
      return above.has(schema) ? [child] : [child, ...this.#listed(child, true, new Set([...above, schema]))]
    })
  }

  #find(path: readonly string[]): Node | undefined {
    let node: Node | undefined = {
      schema: this.#root,
      path: [],
      isRequired: true,
      isSecret: false,
    }
    for (const name of path) {
      const children: readonly Node[] = node === undefined ? [] : this.#children(node)
      const found = children.find((each) => each.path.at(-1) === name)
      const ofMap = children.find((each) => each.path.at(-1) === ANY)
      node = found ?? (ofMap === undefined ? undefined : { ...ofMap, path: [...ofMap.path.slice(0, -1), name] })
    }
    return node
  }

  /** The fields of an object, of each alternative of a value, of the items of a list, or of the values of a map. */
  #children({ schema, path, isSecret }: Node): readonly Node[] {
    const found = new Map<string, Node>()
    for (const each of this.#shapes(schema)) {
      const required = new Set((each['required'] ?? []) as readonly string[])
      const isBelowSecret = isSecret || each['writeOnly'] === true
      const add = (name: string, child: unknown): void => {
        if (!isSchema(child) || found.has(name)) return
        found.set(name, {
          schema: child,
          path: [...path, name],
          isRequired: required.has(name),
          isSecret: isBelowSecret || this.#shapes(child).some((shape) => shape['writeOnly'] === true),
        })
      }
      for (const [name, child] of Object.entries(each['properties'] ?? {})) add(name, child)
      for (const child of Object.values(each['patternProperties'] ?? {})) add(ANY, child)
      add(ANY, each['additionalProperties'])
    }
    return [...found.values()]
  }

  /** The schema itself, what it refers to, its alternatives, and the items of lists in them. */
  #shapes(schema: JsonSchema, seen: ReadonlySet<unknown> = new Set()): readonly JsonSchema[] {
    if (seen.has(schema)) return []
    const { $ref: reference, items } = schema
    const referred = typeof reference === 'string' ? resolveLocal(this.#root, reference) : undefined
    const inner = [referred, items, ...alternativesOf(schema)].filter(isSchema)
    return [schema, ...inner.flatMap((each) => this.#shapes(each, new Set([...seen, schema])))]
  }

  #described({ schema, path, isRequired, isSecret }: Node): SchemaField {
    const resolved = this.#resolved(schema)
    const description = schema['description'] ?? resolved['description']
    const fallback = schema['default'] ?? resolved['default']
    return {
      path,
      type: this.#typeOf(schema),
      required: isRequired && fallback === undefined,
      default: fallback,
      range: this.#rangeOf(schema),
      secret: isSecret,
      description: typeof description === 'string' ? description : null,
    }
  }

  #resolved(schema: JsonSchema): JsonSchema {
    const { $ref: reference } = schema
    const referred = typeof reference === 'string' ? resolveLocal(this.#root, reference) : undefined
    return isSchema(referred) ? referred : schema
  }

  #typeOf(given: JsonSchema, depth = 0): string {
    const schema = this.#resolved(given)
    const alternatives = alternativesOf(schema)
    if (alternatives.length > 0 && depth < MAX_DEPTH)
      return [...new Set(alternatives.map((each) => this.#typeOf(each, depth + 1)))].join(' | ')
    const { type, items } = schema
    if (type === 'array' && isSchema(items) && depth < MAX_DEPTH) return `list of ${this.#typeOf(items, depth + 1)}`
    if (type === 'array') return 'list'
    if (type === 'object' && schema['properties'] === undefined) return 'map'
    if (typeof type === 'string') return type
    if (Array.isArray(type)) return type.join(' | ')
    const values = valuesOf(schema)
    return values === null ? 'any' : [...new Set(values.map(typeOfValue))].join(' | ')
  }

  #rangeOf(given: JsonSchema): string {
    const schema = this.#resolved(given)
    const values = valuesOf(schema)
    if (values !== null) return values.map((each) => JSON.stringify(each)).join(' | ')
    const alternatives = alternativesOf(schema).map((each) => this.#rangeOf(each))
    if (alternatives.length > 0) return [...new Set(alternatives.filter((each) => each !== ''))].join(' | ')
    const { format, pattern, multipleOf, items } = schema
    const ofItems = isSchema(items) ? this.#rangeOf(items) : ''
    return [
      numbersOf(schema),
      boundsOf(schema['minLength'], schema['maxLength'], 'characters'),
      boundsOf(schema['minItems'], schema['maxItems'], 'items'),
      boundsOf(schema['minProperties'], schema['maxProperties'], 'keys'),
      ...(typeof multipleOf === 'number' ? [`multiple of ${multipleOf}`] : []),
      ...(typeof format === 'string' ? [`format ${format}`] : []),
      ...(typeof pattern === 'string' ? [`pattern ${pattern}`] : []),
      ...(ofItems === '' ? [] : [`each ${ofItems}`]),
    ]
      .filter((each) => each !== '')
      .join(', ')
  }
}

const isSchema = (value: unknown): value is JsonSchema =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

const alternativesOf = (schema: JsonSchema): readonly JsonSchema[] =>
  ['anyOf', 'oneOf', 'allOf'].flatMap((keyword) => ((schema[keyword] ?? []) as readonly unknown[]).filter(isSchema))

/** The values of an enum; null if it is none. */
function valuesOf(schema: JsonSchema): readonly unknown[] | null {
  if (Array.isArray(schema['enum'])) return schema['enum']
  if (Object.hasOwn(schema, 'const')) return [schema['const']]
  const alternatives = alternativesOf(schema)
  const values = alternatives.map((each) => (Object.hasOwn(each, 'const') ? [each['const']] : each['enum']))
  return alternatives.length > 0 && values.every((each) => Array.isArray(each)) ? values.flat() : null
}

function typeOfValue(value: unknown): string {
  if (value === null) return 'null'
  return Array.isArray(value) ? 'list' : typeof value
}

function numbersOf(schema: JsonSchema): string {
  const { minimum, maximum, exclusiveMinimum: above, exclusiveMaximum: below } = schema
  const exclusive = [
    ...(typeof above === 'number' ? [`above ${above}`] : []),
    ...(typeof below === 'number' ? [`below ${below}`] : []),
  ]
  return [boundsOf(minimum, maximum, ''), ...exclusive].filter((each) => each !== '').join(', ')
}

/** `1..10 items`, `at least 1`, `at most 64 characters`. */
function boundsOf(least: unknown, most: unknown, unit: string): string {
  let bounds = ''
  if (typeof least === 'number') bounds = typeof most === 'number' ? `${least}..${most}` : `at least ${least}`
  else if (typeof most === 'number') bounds = `at most ${most}`
  if (bounds === '') return ''
  return unit === '' ? bounds : `${bounds} ${unit}`
}
