import fc from 'fast-check'
import { describe, expect, it } from '@jest/globals'
import {
  acceptsNull,
  defaultsOf,
  maskSecrets,
  mergeConfig,
  sameJson,
  SECRET_MASK,
  withoutDefaults,
  type JsonObject,
  type JsonSchema,
  type JsonValue,
} from '../../../src/protocol/index.ts'
import {
  boundDifferenceOf,
  desiredOf,
  differenceOf,
  holdsSecret,
  keptSecretFields,
  secretActs,
  type ConfigType,
  type Desired,
  type Difference,
  type SecretActs,
} from '../../../src/operator/fleetworker/index.ts'
import { BASE, configType, fleetWorker } from './samples.ts'

const NOTHING: SecretActs = { due: new Set(), forgotten: new Set() }
const type = configType({
  url: { type: 'string' },
  timeout: { type: 'number', default: 5 },
  note: { type: ['string', 'null'] },
  mark: { type: ['string', 'null'], default: 'm' },
  api_key: { type: 'string', writeOnly: true },
  smtp: {
    type: 'object',
    properties: {
      user: { type: 'string' },
      port: { type: 'integer', default: 25 },
      password: { type: 'string', writeOnly: true },
    },
  },
  targets: { type: 'array', items: { type: 'object', properties: { weight: { type: 'integer', default: 1 } } } },
})
const HELD: JsonObject = { ...BASE, timeout: 5, mark: 'm' }
const wanted = (named: JsonObject): Desired => ({ named, versions: new Map() })

function difference(
  named: JsonObject,
  held: JsonObject,
  { ignored = [], acts = NOTHING }: { readonly ignored?: readonly string[]; readonly acts?: SecretActs } = {},
): Difference {
  return differenceOf(wanted(named), { ...HELD, ...held }, type, acts, ignored)
}
const patch = (...args: Parameters<typeof difference>): JsonObject => difference(...args).patch

describe('differenceOf', () => {
  it('is empty for equal values: key order, defaults written out or omitted, 1 and 1.0', () => {
    expect(
      patch(
        { url: 'u', timeout: 5, smtp: { port: 25, user: 'u' }, targets: [{}] },
        { url: 'u', smtp: { user: 'u' }, targets: [{ weight: JSON.parse('1.0') as number }] },
      ),
    ).toEqual({})
  })

  it('sends whole top-level values, and reports the paths that differ', () => {
    expect(difference({ url: 'u', smtp: { user: 'new' } }, { url: 'u', smtp: { user: 'old', port: 26 } })).toEqual({
      patch: { smtp: { user: 'new' } },
      paths: ['/smtp/port', '/smtp/user'],
    })
  })

  it('resets a field that is not named (D43)', () => {
    expect(difference({}, { url: 'u', timeout: 9, enabled: true })).toEqual({
      patch: { url: null, timeout: null, enabled: null },
      paths: ['/enabled', '/timeout', '/url'],
    })
  })

  it('resets a field that accepts null to its default, and keeps null if there is none (D13)', () => {
    expect(patch({}, { note: 'x', mark: 'y' })).toEqual({ note: null, mark: 'm' })
    expect(patch({}, { note: null })).toEqual({})
    expect(patch({ note: null }, {})).toEqual({ note: null })
  })

  it('respects the order of arrays', () => {
    expect(difference({ targets: [{ weight: 1 }, { weight: 2 }] }, { targets: [{ weight: 2 }, {}] })).toMatchObject({
      paths: ['/targets'],
    })
  })

  it('never compares masked values, and sends them when they are due', () => {
    const named = { api_key: 'k', smtp: { user: 'u', password: 'p' } }
    const held = { api_key: SECRET_MASK, smtp: { user: 'u', password: SECRET_MASK } }
    expect(patch(named, held)).toEqual({})
    expect(difference(named, held, { acts: { ...NOTHING, due: new Set(['api_key', 'smtp']) } })).toEqual({
      patch: named,
      paths: ['/api_key', '/smtp'],
    })
  })

  it('resets a secret only if it is remembered as sent', () => {
    expect(patch({}, { api_key: SECRET_MASK })).toEqual({})
    expect(patch({}, { api_key: SECRET_MASK }, { acts: { ...NOTHING, forgotten: new Set(['api_key']) } })).toEqual({
      api_key: null,
    })
  })
})

describe('differenceOf, ignored pointers', () => {
  it("restores the master's value when the rest of the field is rewritten", () => {
    const ignored = ['/smtp/port']
    expect(patch({ smtp: { user: 'u', port: 25 } }, { smtp: { user: 'u', port: 26 } }, { ignored })).toEqual({})
    expect(patch({ smtp: { user: 'new', port: 25 } }, { smtp: { user: 'u', port: 26 } }, { ignored })).toEqual({
      smtp: { user: 'new', port: 26 },
    })
  })

  it("uses the spec's value as the initial one while the master has none", () => {
    expect(patch({ smtp: { user: 'u', port: 27 } }, {}, { ignored: ['/smtp/port'] })).toEqual({
      smtp: { user: 'u', port: 27 },
    })
    expect(patch({ url: 'seed' }, {}, { ignored: ['/url'] })).toEqual({ url: 'seed' })
  })

  it('ignores a whole field, named or not', () => {
    expect(patch({ slots: 2 }, { slots: 9, url: 'theirs' }, { ignored: ['/slots', '/url'] })).toEqual({})
  })

  it('keeps an ignored part of a field that is not named', () => {
    expect(patch({}, { smtp: { user: 'u', port: 26 } }, { ignored: ['/smtp/port'] })).toEqual({ smtp: { port: 26 } })
  })

  it('addresses array items by index, as far as both arrays reach', () => {
    const ignored = ['/targets/0/weight', '/targets/5/weight']
    expect(patch({ targets: [{ weight: 2 }, { weight: 3 }] }, { targets: [{ weight: 9 }] }, { ignored })).toEqual({
      targets: [{ weight: 9 }, { weight: 3 }],
    })
  })

  it('takes only decimal numbers without leading zeros for indexes of array items', () => {
    const items = (weight: number): { weight: number }[] => Array.from({ length: 12 }, () => ({ weight }))
    for (const step of ['01', '1x', 'x1', '-1', '1.0', ''])
      expect(patch({ targets: items(2) }, { targets: items(9) }, { ignored: [`/targets/${step}/weight`] })).toEqual({
        targets: items(2),
      })
    const ignored = ['/targets/1/weight', '/targets/10/weight']
    expect(patch({ targets: items(2) }, { targets: items(9) }, { ignored })).toEqual({
      targets: items(2).with(1, { weight: 9 }).with(10, { weight: 9 }),
    })
  })

  it('addresses names with a slash or a tilde by their escapes', () => {
    expect(
      patch(
        { smtp: { user: 'new', 'a/b': 1, '~': 1 } },
        { smtp: { user: 'u', 'a/b': 2, '~': 2 } },
        { ignored: ['/smtp/a~1b', '/smtp/~0'] },
      ),
    ).toEqual({ smtp: { user: 'new', 'a/b': 2, '~': 2 } })
  })

  it('keeps a masked value as its mask', () => {
    expect(
      patch(
        { smtp: { user: 'new', password: 'p' } },
        { smtp: { user: 'u', password: SECRET_MASK } },
        { ignored: ['/smtp/password'] },
      ),
    ).toEqual({ smtp: { user: 'new', password: SECRET_MASK } })
  })
})

describe('boundDifferenceOf (D88)', () => {
  const secret = (...fields: string[]): JsonSchema => ({
    type: 'string',
    writeOnly: true,
    'x-muster-bound-to': fields,
  })
  const bound = configType({
    url: { type: 'string' },
    login: { type: 'object', properties: { user: { type: 'string' }, key: secret('url') } },
    next: secret('login'),
    free: { type: 'string', writeOnly: true },
  })
  const held: JsonObject = {
    ...BASE,
    url: 'old',
    login: { user: 'u', key: SECRET_MASK },
    next: SECRET_MASK,
    free: SECRET_MASK,
  }
  const named = { url: 'old', login: { user: 'u', key: 'k' }, next: 'n', free: 'f' }
  const of = (more: JsonObject, acts = NOTHING) =>
    boundDifferenceOf(wanted({ ...named, ...more }), held, bound, acts, [])

  it('is the plain difference while no destination of a secret changes', () => {
    expect(of({})).toEqual({ acts: NOTHING, difference: { patch: {}, paths: [] } })
  })

  it('sends each secret whose destination changes, and those that this sends in turn', () => {
    expect(of({ url: 'new' })).toEqual({
      acts: { due: new Set(['login', 'next']), forgotten: new Set() },
      difference: {
        patch: { url: 'new', login: { user: 'u', key: 'k' }, next: 'n' },
        paths: ['/login', '/next', '/url'],
      },
    })
  })

  it('clears such a secret if the resource does not name it, and keeps what was due or forgotten already', () => {
    const { next: _, ...others } = named
    const acts: SecretActs = { due: new Set(['free']), forgotten: new Set(['other']) }
    expect(boundDifferenceOf(wanted({ ...others, url: 'new' }), held, bound, acts, [])).toEqual({
      acts: { due: new Set(['free', 'login']), forgotten: new Set(['other', 'next']) },
      difference: {
        patch: { url: 'new', login: { user: 'u', key: 'k' }, next: null, free: 'f' },
        paths: ['/free', '/login', '/next', '/url'],
      },
    })
  })

  it('leaves an ignored secret to another client', () => {
    const { acts, difference: found } = boundDifferenceOf(wanted({ ...named, url: 'new' }), held, bound, NOTHING, [
      '/login',
      '/next',
    ])
    expect([found.patch, acts.due]).toEqual([{ url: 'new' }, new Set(['login'])])
    expect(keptSecretFields(held, found.patch, bound)).toEqual(['login'])
    expect(keptSecretFields(held, { login: null }, bound)).toEqual(['next'])
    expect(keptSecretFields(held, { free: 'x' }, bound)).toEqual([])
  })
})

// ── Over generated schemas ─────────────────────────────────────────────────────────────────────────────────────────

const NAMES = ['a', 'b', 'c', 'd/e'] as const
const anyValue: fc.Arbitrary<JsonValue> = fc.letrec<{ value: JsonValue }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 3, withCrossShrink: true },
    fc.constantFrom<JsonValue>(null, true, 0, -0, 1, 25, 'x', '', [], {}),
    fc.array(tie('value'), { maxLength: 2 }),
    fc.dictionary(fc.constantFrom(...NAMES), tie('value'), { maxKeys: 3 }),
  ),
})).value
const withDefault = (schema: JsonSchema): fc.Arbitrary<JsonSchema> =>
  fc.option(anyValue, { nil: undefined }).map((value) => (value === undefined ? schema : { ...schema, default: value }))

const anyField: fc.Arbitrary<JsonSchema> = fc.letrec<{ field: JsonSchema }>((tie) => ({
  field: fc.oneof(
    { maxDepth: 3 },
    fc
      .constantFrom<JsonSchema>(
        { type: 'integer' },
        { type: 'string' },
        { type: ['string', 'null'] },
        {},
        { type: 'string', writeOnly: true },
        { $ref: '#/$defs/a' },
        { $ref: '#/$defs/b' },
      )
      .chain(withDefault),
    fc
      .dictionary(fc.constantFrom(...NAMES), tie('field'), { maxKeys: 3 })
      .map((properties): JsonSchema => ({ type: 'object', properties }))
      .chain(withDefault),
    tie('field')
      .map((items): JsonSchema => ({ type: 'array', items }))
      .chain(withDefault),
    fc.tuple(tie('field'), tie('field')).map((anyOf): JsonSchema => ({ anyOf })),
  ),
})).field
const anyFields = fc.dictionary(fc.constantFrom(...NAMES), anyField, { maxKeys: 4 })
const anyType: fc.Arbitrary<ConfigType> = fc
  .tuple(anyFields, anyField, anyField)
  .map(([fields, a, b]) => configType(fields, { a, b }))
const anyConfig = fc.dictionary(fc.constantFrom(...NAMES, 'slots'), anyValue, { maxKeys: 4 })
const anyPointers = fc.array(
  fc
    .array(fc.constantFrom('a', 'b', 'd~1e', '0'), { minLength: 1, maxLength: 3 })
    .map((steps) => `/${steps.join('/')}`),
  { maxLength: 2 },
)

/** A single worker: the config that the master stores, unmasked. */
interface Case {
  readonly type: ConfigType
  readonly config: JsonObject
  readonly stored: JsonObject
  readonly ignored: readonly string[]
}
const anyCase: fc.Arbitrary<Case> = fc
  .record({ type: anyType, config: anyConfig, theirs: anyConfig, ignored: anyPointers })
  .map(({ type: own, config, theirs, ignored }) => {
    const known = Object.entries(theirs).filter(([name]) => Object.hasOwn(own.schema['properties'] as object, name))
    return { type: own, config, stored: { ...defaultsOf(own.schema), ...Object.fromEntries(known) }, ignored }
  })

/** Runs one reconcile with empty memory. @returns the patch and the resulting state of the master. */
function pass({ type: own, config, stored, ignored }: Case) {
  const result = desiredOf(fleetWorker({ config }), new Map(), own)
  if (result.kind === 'invalid') throw new Error(result.message)
  const { desired } = result
  const acts = secretActs(
    desired,
    { epoch: undefined, generation: undefined, sources: new Map() },
    { epoch: 'e', configGen: 1, changedSince: null },
  )
  const first = differenceOf(desired, maskSecrets(stored, own.secrets), own, acts, ignored)
  return { desired, first, after: mergeConfig(own.schema, own.secrets, stored, first.patch).config }
}

describe('differenceOf, for generated schemas', () => {
  it('is empty after its own PATCH', () => {
    fc.assert(
      fc.property(anyCase, (each) => {
        const { desired, after } = pass(each)
        const memory = { epoch: 'e', generation: 2, sources: desired.versions }
        const acts = secretActs(desired, memory, { epoch: 'e', configGen: 2, changedSince: new Set() })
        expect(differenceOf(desired, maskSecrets(after, each.type.secrets), each.type, acts, each.ignored)).toEqual({
          patch: {},
          paths: [],
        })
      }),
      { numRuns: 2_000 },
    )
  })

  it('results in the named values, secrets included, and defaults for the other fields', () => {
    fc.assert(
      fc.property(anyCase, (each) => {
        const { desired, after } = pass({ ...each, ignored: [] })
        const { schema } = each.type
        const expected: JsonObject = { ...defaultsOf(schema), ...desired.named }
        const form = (config: JsonObject, name: string): JsonObject =>
          Object.hasOwn(config, name) ? withoutDefaults(schema, { [name]: config[name] as JsonValue }) : {}
        const isFree = (name: string): boolean =>
          // Unchanged, or null.
          !Object.hasOwn(desired.named, name) && (holdsSecret(name, each.type) || acceptsNull(schema, name))
        const wrong = Object.keys({ ...after, ...expected }).filter(
          (name) => !isFree(name) && !sameJson(form(after, name), form(expected, name)),
        )
        expect(wrong).toEqual([])
      }),
      { numRuns: 2_000 },
    )
  })

  it('has a path for each field that it sends, and none if it sends nothing', () => {
    fc.assert(
      fc.property(anyCase, (each) => {
        const { first } = pass(each)
        const fields = new Set(first.paths.map((path) => (path.split('/')[1] ?? '').replaceAll('~1', '/')))
        expect([...fields].toSorted()).toEqual(Object.keys(first.patch).toSorted())
      }),
    )
  })
})
