import { describe, expect, it } from '@jest/globals'
import {
  AutomationError,
  buildCatalog,
  defineBatch,
  defineContinuous,
  toCatalogEntry,
  toDescriptor,
  Type,
} from '../../src/automation/index.ts'
import { AutomationDescriptor, CatalogEntryBody, compileValidator } from '../../src/protocol/index.ts'

const run = (): void => {}
const withConfig = (config: object) => () => buildCatalog([defineContinuous({ type: 'probe', config, run })])
const withField = (field: object, more: object = {}) =>
  withConfig({ type: 'object', properties: { a: field }, ...more })

const thumbnail = defineBatch({
  type: 'thumbnail',
  config: Type.Object({
    width: Type.Integer({ minimum: 16, default: 320 }),
    bucket: Type.String(),
    api_key: Type.Optional(Type.String({ writeOnly: true })),
  }),
  payload: Type.Object({ url: Type.String() }),
  output: Type.Object({ bytes: Type.Integer() }),
  pools: { proxies: { payload: Type.Object({ host: Type.String() }) } },
  visibilityTimeoutSeconds: 90,
  run,
})

function entryOf(automation: Parameters<typeof buildCatalog>[0][number]) {
  const entry = buildCatalog([automation]).get(automation.type)
  if (entry === undefined) throw new Error('not in the catalog')
  return entry
}

describe('buildCatalog', () => {
  it('adds the base fields and rejects unknown ones (D4)', () => {
    const { validateConfig, defaults } = entryOf(thumbnail)
    expect(validateConfig({ ...defaults, bucket: 'b' })).toEqual([])
    expect(
      validateConfig({ ...defaults, bucket: 'b', slots: 1_025, heigth: 1 })
        .map(({ path }) => path)
        .toSorted(),
    ).toEqual(['/heigth', '/slots'])
  })

  it('omits a required field without default from the defaults, and accepts no config without it', () => {
    const { validateConfig, defaults } = entryOf(thumbnail)
    expect(defaults).toEqual({ enabled: false, slots: 1, max_attempts: 3, recycle_seconds: 0, width: 320 })
    expect(validateConfig(defaults)).toMatchObject([{ path: '/bucket', message: 'is required' }])
  })

  it('finds the secrets (D17)', () => {
    expect(entryOf(thumbnail).secrets).toEqual([['api_key']])
  })

  it('validates payloads, outputs and pool items, and accepts any output without a schema', () => {
    const { validateOutput, validatePayload, pools, visibilityMs } = entryOf(thumbnail)
    expect(
      [validateOutput({ bytes: 1.5 }), validatePayload?.({}), pools.get('proxies')?.validatePayload({})].map(
        (faults) => faults?.[0]?.path,
      ),
    ).toEqual(['/bytes', '/url', '/host'])
    expect(pools.get('proxies')?.validateTags({ any: 1 })).toEqual([])
    expect(visibilityMs).toBe(90_000)
    expect(entryOf(defineContinuous({ type: 'free', run })).validateOutput({ any: 'thing' })).toEqual([])
  })

  it('rejects a second automation of the same type (D35)', () => {
    expect(() => buildCatalog([thumbnail, thumbnail])).toThrow('automation "thumbnail": is defined twice')
  })

  it('returns an entry in the specified form', () => {
    const descriptor = toDescriptor(entryOf(thumbnail))
    expect(compileValidator(AutomationDescriptor)(descriptor)).toEqual([])
    expect(descriptor).toMatchObject({
      type: 'thumbnail',
      class: 'Thumbnail',
      kind: 'BatchAutomation',
      config_schema: { additionalProperties: false },
    })
    const body = toCatalogEntry(entryOf(thumbnail))
    expect(compileValidator(CatalogEntryBody)(body)).toEqual([])
    expect(body).toMatchObject({
      queue: { payload: { required: ['url'] } },
      stream: { payload: { required: ['bytes'] } },
      pools: { proxies: { payload: { required: ['host'] }, tags: {} } },
    })
    expect(Object.keys(toCatalogEntry(entryOf(defineContinuous({ type: 'free', run }))))).toEqual([
      'type',
      'kind',
      'config',
    ])
  })
})

describe('a schema that does not compile (D35, S10)', () => {
  const circle: Record<string, unknown> = { type: 'object' }
  circle['properties'] = { self: circle }
  const deep = Array.from({ length: 40 }).reduce<object>((inner) => ({ type: 'object', properties: { a: inner } }), {
    type: 'string',
  })

  it.each<[string, () => unknown, string]>([
    [
      'an unknown keyword',
      withField({ type: 'string', minLenght: 1 }),
      '/config/properties/a unknown keyword: "minLenght"',
    ],
    [
      'an unknown format',
      withField({ type: 'string', format: 'colour' }),
      '/config/properties/a unknown format "colour"',
    ],
    ['a wrong type', withField({ type: 'strin' }), '/config/properties/a schema is invalid'],
    [
      'a remote reference',
      withField({ $ref: 'https://example.com/schema.json' }),
      '/config/properties/a/$ref "https://example.com/schema.json" leads out of this schema',
    ],
    ['a reference to nothing', withField({ $ref: '#/$defs/b' }), '/config/properties/a/$ref "#/$defs/b" leads nowhere'],
    [
      'a circular reference',
      withField({ $ref: '#/$defs/b' }, { $defs: { b: { anyOf: [{ type: 'string' }, { $ref: '#/$defs/b' }] } } }),
      '/config/$defs/b refers to itself',
    ],
    [
      'a look-ahead',
      withField({ type: 'string', pattern: '^(?=a)b' }),
      '/config/properties/a/pattern is no pattern that runs in linear time',
    ],
    [
      'a back-reference',
      withField({ type: 'object', patternProperties: { '(a)\\1': {} } }),
      '/config/properties/a/patternProperties/(a)\\1 is no pattern',
    ],
    ['a large repeat', withField({ type: 'string', pattern: '(a{1,1000}){1,1000}' }), '/config/properties/a/pattern'],
    [
      'uniqueItems without a bound',
      withField({ type: 'array', uniqueItems: true }),
      '/config/properties/a/uniqueItems needs maxItems of at most 1000',
    ],
    [
      'uniqueItems with a large bound',
      withField({ type: 'array', uniqueItems: true, maxItems: 1_001 }),
      '/config/properties/a/uniqueItems',
    ],
    ['$async', withField({ $async: true, type: 'object' }), '/config/properties/a/$async'],
    ['$data', withField({ type: 'number', minimum: { $data: '1/b' } }), '/config/properties/a schema is invalid'],
    [
      'more than 256 KiB',
      withField({ type: 'string', description: 'x'.repeat(262_144) }),
      '/config is larger than 256 KiB',
    ],
    ['more than 64 levels', withConfig(deep), '/config is nested deeper than 64 levels'],
    ['a schema that contains itself', withConfig(circle), '/config is not JSON, or contains itself'],
    [
      'a base field',
      withField({ type: 'string' }, { properties: { slots: { type: 'string' } } }),
      '/config/properties/slots is a base field',
    ],
    [
      'a config that is not an object',
      withConfig({ type: 'string' }),
      '/config/type a config schema must be of type "object"',
    ],
    [
      'an invalid default',
      withField({ type: 'integer', minimum: 5, default: 1 }),
      '/config/properties/a/default must be >= 5',
    ],
    [
      'a writeOnly field outside of properties',
      withConfig({ type: 'object', allOf: [{ properties: { key: { type: 'string', writeOnly: true } } }] }),
      '/config/allOf/0/properties/key writeOnly works below /properties alone',
    ],
    [
      'Type.Refine',
      withConfig(Type.Object({ a: Type.Refine(Type.String(), (text) => text !== '') })),
      '/config/properties/a uses Type.Refine',
    ],
    [
      'an output that is not an object',
      () => buildCatalog([defineContinuous({ type: 'probe', output: Type.String(), run })]),
      '/output/type must be "object"',
    ],
    [
      'a faulty pool',
      () =>
        buildCatalog([
          defineContinuous({ type: 'probe', pools: { a: { payload: {}, tags: { type: 'array' } } }, run }),
        ]),
      '/pools/a/tags/type must be "object"',
    ],
  ])('names the location of %s', (_, build, message) => {
    expect(build).toThrow(AutomationError)
    expect(build).toThrow(`automation "probe": ${message}`)
  })

  it('reports the faults of all schemas together', () => {
    const build = () =>
      buildCatalog([
        defineContinuous({
          type: 'a',
          output: { type: 'object', foo: 1 },
          config: {
            type: 'object',
            properties: { x: { type: 'array', uniqueItems: true }, y: { type: 'string', pattern: '(' } },
          },
          run,
        }),
        defineBatch({ type: 'b', payload: { $ref: 'file:///etc/passwd' }, run }),
      ])
    const lines = [
      '"a": /config/properties/x/uniqueItems',
      '"a": /config/properties/y/pattern',
      '"a": /output',
      '"b": /payload/\\$ref',
    ]
    expect(build).toThrow(new RegExp(lines.join('[^\\n]*\\n[^\\n]*')))
  })

  it('accepts schemas in data, and recursive schemas that consume their value', () => {
    expect(
      withField({ type: 'object', default: { pattern: '(?=', $ref: 'http://x', uniqueItems: true } }),
    ).not.toThrow()
    expect(
      withField(
        { $ref: '#/$defs/tree' },
        {
          $defs: {
            tree: { type: 'object', properties: { left: { $ref: '#/$defs/tree' }, right: { $ref: '#/$defs/tree' } } },
          },
        },
      ),
    ).not.toThrow()
    expect(withField({ type: 'string', pattern: '^(a+)+$', title: 'A', examples: ['a'] })).not.toThrow()
  })

  it('matches hostile values against accepted patterns in linear time', () => {
    const { validateConfig, defaults } = entryOf(
      defineContinuous({
        type: 'probe',
        config: Type.Object({ a: Type.String({ pattern: '^(a+)+$', default: 'a' }) }),
        run,
      }),
    )
    expect(validateConfig({ ...defaults, a: `${'a'.repeat(10_000)}!` })).toMatchObject([
      { path: '/a', keyword: 'pattern' },
    ])
  })
})
