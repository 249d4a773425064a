// Formats a JSON Schema as a short text, for example {limit: 1..10000, wait_ms?: 0..30000}.

const NAMED_PATTERNS = new Map([
  ['^[ -~]+$', 'printable ASCII'],
  ['^[ -~]*$', 'printable ASCII'],
  ['^[^\\u0000-\\u001f\\u007f-\\u009f]+$', 'without control characters'],
  ['^([1-9][0-9]?|100)%$', '1% to 100%'],
  ['^https?://', 'http or https URL'],
  ['^[^\\u0000-\\u001f\\u007f]*$', 'without control characters'],
  [
    '^(https?://)?(\\*\\.)?(\\[[0-9a-fA-F:.]{2,45}\\]|[a-zA-Z0-9.:_-]{1,253})(:[0-9]{1,5})?$',
    'host name or *.suffix, with or without scheme and port',
  ],
])

function range({ minimum, maximum }, unit) {
  if (minimum !== undefined && maximum === undefined) return `${unit} >= ${minimum}`
  if (minimum === undefined || maximum === undefined) return unit
  if (maximum === Number.MAX_SAFE_INTEGER) return minimum === 0 ? `${unit} >= 0` : unit
  if (maximum === 2 ** 31 - 1 && minimum === -(2 ** 31)) return '32-bit integer'
  return `${minimum}..${maximum}`
}

function textShape({ minLength, maxLength, pattern }) {
  const words =
    pattern === undefined
      ? 'string'
      : (NAMED_PATTERNS.get(pattern) ?? (pattern.startsWith('^((25[0-5]') ? 'CIDR' : pattern))
  if (maxLength === undefined || words.startsWith('host name')) return words
  const length = minLength === undefined ? `at most ${maxLength}` : `${minLength}..${maxLength}`
  return `${words}, ${length} characters`
}

function objectShape(schema, named) {
  const { properties = {}, required = [] } = schema
  const fields = Object.entries(properties).map(
    ([name, field]) => `${name}${required.includes(name) ? '' : '?'}: ${shapeOf(field, named)}`,
  )
  if (fields.length > 0) return `{${fields.join(', ')}}`
  const [each] = Object.values(schema.patternProperties ?? {})
  if (schema.additionalProperties === false && each === undefined) return '{}'
  const inner = each === undefined ? 'any' : shapeOf(each, named)
  return inner === 'any' ? 'object' : `{name: ${inner}}`
}

const choice = (shapes) => [...new Set(shapes)].join(' or ')

/** @param named shapes that have a name of their own, by the JSON text of their schema. */
export function shapeOf(schema, named = new Map()) {
  const name = named.get(JSON.stringify(schema))
  if (name !== undefined) return name
  if (schema.const !== undefined) return JSON.stringify(schema.const)
  if (schema.enum !== undefined) return choice(schema.enum.map((value) => JSON.stringify(value)))
  if (schema.anyOf !== undefined) return choice(schema.anyOf.map((each) => shapeOf(each, named)))
  switch (schema.type) {
    case 'integer':
      return range(schema, 'integer')
    case 'number':
      return range(schema, 'number')
    case 'string':
      return textShape(schema)
    case 'object':
      return objectShape(schema, named)
    case 'array': {
      const length = schema.maxItems === undefined ? '' : `, ${schema.minItems ?? 0}..${schema.maxItems}`
      return `[${shapeOf(schema.items, named)}${length}]`
    }
    default:
      return schema.type ?? 'any'
  }
}

const inCell = (text) => text.replaceAll('|', '\\|')
/** Text as code; a table's cell may hold a pipe only behind a backslash. */
export const code = (text) => (text === '' ? '' : `\`${text}\``)

/** A Markdown table. */
export function table(head, rows) {
  const line = (cells) => `| ${cells.map((cell) => inCell(String(cell))).join(' | ')} |`
  return [line(head), `|${'---|'.repeat(head.length)}`, ...rows.map(line)].join('\n')
}
