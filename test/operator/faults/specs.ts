/**
 * Generates specs from the FleetWorker's own schema: everything that the API server accepts. The values of `config` are
 * generated from the automation's schema, both valid and invalid.
 */
import fc from 'fast-check'
import type { JsonSchema } from '../../../src/protocol/index.ts'
import { FleetWorkerSpec } from '../../../src/operator/fleetworker/index.ts'
import { TYPE } from './worker.ts'

interface Schema extends JsonSchema {
  readonly type?: string
  readonly enum?: readonly unknown[]
  readonly properties?: Readonly<Record<string, Schema>>
  readonly required?: readonly string[]
  readonly items?: Schema
  readonly pattern?: string
  readonly minimum?: number
  readonly maximum?: number
  readonly maxItems?: number
}

const MAX_ITEMS = 2
const MAX_INTEGER = 100_000

/** Generates any value that the schema accepts, mostly small ones. */
function valueOf(schema: Schema): fc.Arbitrary<unknown> {
  const { type, enum: words, minimum = 0, maximum = MAX_INTEGER } = schema
  if (words !== undefined) return fc.constantFrom(...words)
  if (type === 'boolean') return fc.boolean()
  if (type === 'integer') return fc.integer({ min: minimum, max: Math.min(maximum, MAX_INTEGER) })
  if (type === 'number') return fc.integer({ min: minimum, max: 9 }).map((value) => value / 2)
  if (type === 'array')
    return fc.array(valueOf(schema.items ?? {}), { maxLength: Math.min(schema.maxItems ?? MAX_ITEMS, MAX_ITEMS) })
  if (type === 'object') return objectOf(schema)
  return schema.pattern === undefined
    ? fc.string({ minLength: 1, maxLength: 8 })
    : fc.stringMatching(new RegExp(schema.pattern)).map((text) => text.slice(0, 40))
}

const objectOf = ({ properties = {}, required = [] }: Schema): fc.Arbitrary<unknown> =>
  fc.record(Object.fromEntries(Object.entries(properties).map(([name, schema]) => [name, valueOf(schema)])), {
    requiredKeys: [...required],
  })

const CONFIG = fc.record(
  {
    enabled: fc.boolean(),
    url: fc.oneof({ weight: 4, arbitrary: fc.webUrl() }, { weight: 1, arbitrary: fc.constant(7) }),
    ratio: fc.oneof(
      { weight: 4, arbitrary: fc.constantFrom(0, 0.25, 1) },
      { weight: 1, arbitrary: fc.constant('half') },
    ),
    limits: fc.record(
      { cpu: fc.integer({ min: 0, max: 4 }), memory: fc.integer({ min: 0, max: 4 }) },
      { requiredKeys: [] },
    ),
    tags: fc.array(fc.constantFrom('a', 'b'), { maxLength: 2 }),
    max_attempts: fc.integer({ min: 1, max: 9 }),
    unknown_field: fc.constant(true),
  },
  { requiredKeys: [] },
)

const SOURCE = fc
  .record({
    field: fc.constantFrom('api_key', 'url', 'tags', 'login'),
    how: fc.constantFrom({ as: 'String' }, { as: 'JSON' }, { format: 'String' }, { format: 'JSON', as: 'String' }),
    ref: fc.constantFrom(
      { secretKeyRef: { name: 'keys', key: 'api' } },
      { secretKeyRef: { name: 'keys', key: 'none' } },
      { secretKeyRef: { name: 'absent', key: 'api' } },
      { configMapKeyRef: { name: 'texts', key: 'text' } },
      { configMapKeyRef: { name: 'texts', key: 'list' } },
    ),
  })
  .map(({ ref, how, ...rest }) => ({ ...rest, ...how, ...ref }))

/** Fields that have a narrower generator, or none. */
const DRAWN_APART: ReadonlySet<string> = new Set([
  'desiredState',
  'drain',
  'workerID',
  'workerId',
  'config',
  'configFrom',
  'registrationTimeoutSeconds',
])

/**
 * Everything that the rules between fields allow. The worker and its type are immutable; a drain would stop the
 * process.
 */
export const anySpec: fc.Arbitrary<FleetWorkerSpec> = fc
  .record({
    whole: objectOf(FleetWorkerSpec as unknown as Schema) as fc.Arbitrary<FleetWorkerSpec>,
    config: fc.option(CONFIG, { nil: undefined }),
    configFrom: fc.option(fc.uniqueArray(SOURCE, { maxLength: 2, selector: ({ field }) => field }), {
      nil: undefined,
      freq: 2,
    }),
    isKept: fc.boolean(),
  })
  .map(({ whole: { ignoreDifferences, ...whole }, config, configFrom, isKept }) => ({
    ...Object.fromEntries(Object.entries(whole).filter(([name]) => !DRAWN_APART.has(name))),
    type: TYPE,
    ...(config !== undefined && { config }),
    ...(configFrom !== undefined && { configFrom: configFrom as never }),
    ...(isKept && ignoreDifferences !== undefined && { ignoreDifferences: [...new Set(ignoreDifferences), '/ratio'] }),
  }))
  // As read from the wire: objects with a prototype.
  .map((spec) => JSON.parse(JSON.stringify(spec)) as FleetWorkerSpec)
