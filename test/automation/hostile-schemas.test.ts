/**
 * Validates hostile values of the largest size against expensive schemas that the catalog accepts. Each takes less than
 * 50 ms of CPU time, so that one client cannot block the master (S10). The time of a pattern grows with the text and
 * with its counted repeats, so the schema of a long text needs a `maxLength`.
 */
import { describe, expect, it } from '@jest/globals'
import { buildCatalog, defineContinuous } from '../../src/automation/index.ts'
import { MAX_CONFIG_BYTES } from '../../src/protocol/index.ts'
import { SLACK } from '../kit/index.ts'

const WITHIN_MS = 50
/** The largest value of a config, less the other fields. */
const BYTES = MAX_CONFIG_BYTES - 1_024
/** A body has at most 100,000 values. */
const MAX_VALUES = 90_000
const text = (part: string): string => part.repeat(Math.floor(BYTES / part.length))
const list = (part: string): unknown =>
  JSON.parse(`[${`${part},`.repeat(Math.min(MAX_VALUES, Math.floor(BYTES / (part.length + 1))))}0]`)
const nested = (open: string, close: string, levels: number): unknown =>
  JSON.parse(open.repeat(levels) + 'null' + close.repeat(levels))
const keys = (count: number): Record<string, unknown> =>
  Object.fromEntries(Array.from({ length: count }, (_, i) => [`key-${i}`, i]))
const times = (count: number, schema: (i: number) => object): readonly object[] =>
  Array.from({ length: count }, (_, i) => schema(i))

const TREE = { tree: { type: ['object', 'null'], properties: { a: { $ref: '#/$defs/tree' } } } }
/** A schema for the field `a` of a config, with hostile values for it. */
const CORPUS: readonly (readonly [name: string, schema: object, values: readonly unknown[], defs?: object])[] = [
  ['a repeat in a repeat', { type: 'string', pattern: '^(a+)+$' }, [`${text('a')}!`, text('a')]],
  ['alternatives of the same text', { type: 'string', pattern: '^(a|a|aa)*b$' }, [text('a')]],
  ['many optional parts', { type: 'string', pattern: `^${'a?'.repeat(50)}${'a'.repeat(50)}$` }, [text('a')]],
  ['a pattern without an anchor', { type: 'string', pattern: '.*.*.*=.*' }, [text('x'), text('\u00e9')]],
  ['counts', { type: 'string', pattern: '^([a-z]{1,30}[0-9]{1,30})+$', maxLength: 9_000 }, ['a1'.repeat(4_500)]],
  ['keys with patterns', { type: 'object', patternProperties: { '^(a+)+$': {}, 'x.*y': {} } }, [keys(10_000)]],
  ['names of keys', { type: 'object', propertyNames: { pattern: '^(k|ke|key)+-[0-9]*$' } }, [keys(10_000)]],
  ['a long enum', { enum: times(2_000, (i) => ({ i })) }, [{ i: 1_999 }, keys(5_000), text('x')]],
  ['many alternatives', { anyOf: times(200, (i) => ({ type: 'array', minItems: 100_000 + i })) }, [list('0')]],
  ['exactly one of many', { oneOf: times(200, (i) => ({ type: 'string', minLength: i })) }, [text('x'), text('😀')]],
  ['unique items', { type: 'array', uniqueItems: true, maxItems: 1_000 }, [times(9_000, (i) => ({ i })), list('0')]],
  ['items that contain', { type: 'array', contains: { const: 'x' }, minContains: 1_000 }, [list('0'), list('"y"')]],
  ['a list of formats', { type: 'array', items: { type: 'string', format: 'email' } }, [list('"a@a.aa"')]],
  ...['email', 'uri', 'hostname', 'ipv6', 'date-time', 'uuid', 'json-pointer', 'uri-template', 'regex'].map(
    (format) =>
      [
        `the format ${format}`,
        { type: 'string', format },
        [text('a'), text('a.'), text('a@'), text('%'), text('1:'), text('{'), text('(')],
      ] as const,
  ),
  ['multiples', { type: 'array', items: { type: 'number', multipleOf: 0.01 } }, [list('1e300'), list('0.07')]],
  ['a tree', { $ref: '#/$defs/tree' }, [nested('{"a":', '}', 60)], TREE],
  ['lists in lists', { type: 'array', items: { type: 'array' } }, [list('[]'), nested('[', ']', 60)]],
  ['negations', { not: { not: { not: { type: 'array', items: { type: 'string' } } } } }, [list('"x"')]],
  ['dependent keys', { type: 'object', dependentRequired: { 'key-1': ['key-2', 'x'] } }, [keys(10_000)]],
]

describe('a hostile value', () => {
  it.each(CORPUS)('is validated in 50 ms of CPU time: %s', (name, schema, values, $defs = {}) => {
    const catalog = buildCatalog([
      defineContinuous({
        type: 'probe',
        config: { type: 'object', properties: { a: schema }, $defs },
        run: async () => {},
      }),
    ])
    const entry = catalog.get('probe')
    if (entry === undefined) throw new Error(`${name} is not in the catalog`)
    const tookMs = values.map((a) => {
      const config = { ...entry.defaults, a } as Parameters<typeof entry.validateConfig>[0]
      const runs = [0, 1].map(() => {
        const before = process.cpuUsage()
        expect(Array.isArray(entry.validateConfig(config))).toBe(true)
        const { user, system } = process.cpuUsage(before)
        return (user + system) / 1_000
      })
      return Math.min(...runs) // The first one also compiles.
    })
    expect(Math.max(...tookMs)).toBeLessThan(WITHIN_MS * SLACK)
  })
})
