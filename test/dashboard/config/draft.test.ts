import { describe, expect, it } from '@jest/globals'
import fc from 'fast-check'
import { Type } from 'typebox'
import {
  configSchemaOf,
  defaultsOf,
  maskSecrets,
  mergeConfig,
  secretPathsOf,
  type JsonObject,
  type JsonSchema,
  type JsonValue,
} from '../../../src/protocol/index.ts'
import {
  changesIn,
  draftOn,
  faultsIn,
  formOf,
  isDirty,
  patchOf,
  revertTo,
  sideText,
  withoutSecrets,
  type ConfigDraft,
} from '../../../src/dashboard/config/draft.ts'
import { mergeOf, rebase, type Side } from '../../../src/dashboard/config/merge.ts'
import { setAt, typeAt, typeWhole } from '../../../src/dashboard/config/value-draft.ts'

const schema = configSchemaOf(
  JSON.parse(
    JSON.stringify(
      Type.Object({
        host: Type.Optional(Type.String()),
        mode: Type.Enum(['fast', 'safe'], { default: 'safe' }),
        targets: Type.Array(Type.String(), { default: [] }),
        limit: Type.Union([Type.Integer(), Type.Null()], { default: 5 }),
        note: Type.Optional(Type.Union([Type.String(), Type.Null()])),
        smtp: Type.Optional(Type.Object({ user: Type.String(), password: Type.String({ writeOnly: true }) })),
        keys: Type.Optional(Type.Array(Type.String({ writeOnly: true }))),
        key: Type.Optional(Type.String({ writeOnly: true })),
        must: Type.String(),
      }),
    ),
  ) as JsonSchema,
)
const secrets = secretPathsOf(schema)
const form = formOf(schema)
const stored: JsonObject = {
  ...defaultsOf(schema),
  slots: 4,
  smtp: { user: 'u', password: 'deep' },
  key: 'sesame',
  keys: ['one'],
  must: 'be',
}
const shown = maskSecrets(stored, secrets)
const base = { config: shown, gen: 14, epoch: 'e' }

const untouched = draftOn(base)
const edited = (
  edits: Readonly<Record<string, JsonValue | undefined>>,
  draft: ConfigDraft = untouched,
): ConfigDraft => ({
  ...draft,
  mine: Object.entries(edits).reduce((mine, [name, value]) => setAt(mine, `/${name}`, value), draft.mine),
})
const patch = (draft: ConfigDraft): JsonObject => patchOf(changesIn(form, draft))
const faults = (draft: ConfigDraft): readonly string[] =>
  faultsIn(form, draft).map(({ path, message }) => `${path} ${message}`)

describe('a draft', () => {
  it('without edits has no changes and no errors', () => {
    expect([patch(untouched), faults(untouched), isDirty(form, untouched)]).toEqual([{}, [], false])
  })

  it('has no changes after edits to the same values', () => {
    expect(patch(edited(shown))).toEqual({})
  })

  it('sends only the top-level fields that differ', () => {
    const draft = edited({ slots: 8, host: 'smtp.example', mode: 'safe', targets: ['a'], 'smtp/user': 'v' })
    expect(patch(draft)).toEqual({
      slots: 8,
      host: 'smtp.example',
      targets: ['a'],
      smtp: { user: 'v', password: '********' },
    })
  })

  it('resets a field to its default with null, or with the default itself if null is a valid value (D13)', () => {
    expect(patch(edited({ slots: undefined }))).toEqual({ slots: null })
    const nulled = draftOn({ ...base, config: { ...shown, limit: null } })
    expect(patch(edited({ limit: undefined }, nulled))).toEqual({ limit: 5 })
    expect(changesIn(form, edited({ slots: undefined }))[0]).toMatchObject({ before: 4, after: 1, isDefault: true })
  })

  it('has no change when a field with its default value is reset', () => {
    expect(patch(edited({ mode: undefined, targets: undefined }))).toEqual({})
  })

  it('rejects unsetting a field that accepts null and has no default', () => {
    expect(faults(edited({ note: undefined }, draftOn({ ...base, config: { ...shown, note: 'x' } })))).toEqual([
      '/note cannot be unset: null is a valid value of this field',
    ])
  })

  it('is dirty and has an error while a text cannot be parsed', () => {
    const draft = { ...untouched, mine: typeAt(untouched.mine, '/slots', 'integer', 'many') }
    expect([isDirty(form, draft), faults(draft)]).toEqual([true, ['/slots expected a whole number, got "many"']])
  })

  it('keeps unknown fields of the JSON text, which the master rejects', () => {
    const draft = { ...untouched, mine: typeWhole(untouched.mine, JSON.stringify({ ...shown, unknown: 1 })) }
    expect([patch(draft), faults(draft)]).toEqual([{ unknown: 1 }, ['/unknown is not a known field']])
  })

  it('requires fields that are required and have no default', () => {
    expect(faults(edited({ must: undefined }))).toEqual(['/must is required'])
    expect(faults(edited({ slots: undefined }))).toEqual([])
  })
})

describe('a secret in a draft (D17)', () => {
  it('is never shown, neither the stored nor the new value', () => {
    const changes = changesIn(form, edited({ key: 'open sesame', 'smtp/password': 'new' }))
    const [smtp, key] = changes
    expect(changes.map(({ name }) => name)).toEqual(['smtp', 'key'])
    if (key === undefined || smtp === undefined) throw new TypeError('two changes')
    expect([sideText(key.before, key, 'before'), sideText(key.after, key, 'after')]).toEqual([
      'the stored secret',
      'a new secret',
    ])
    expect(withoutSecrets(form.fields, 'smtp', smtp.after)).toEqual({ user: 'u', password: '********' })
  })

  it('is cleared with null; an empty value is rejected', () => {
    expect(patch(edited({ key: undefined }))).toEqual({ key: null })
    expect(faults(edited({ key: '' }))).toEqual(['/key enter a new value or keep the stored one'])
    expect(faults(edited({ 'smtp/password': '' }))).toEqual(['/smtp/password enter a new value or keep the stored one'])
  })

  it('inside an object is kept when another field of the object changes', () => {
    expect(mergeConfig(schema, secrets, stored, patch(edited({ 'smtp/user': 'v' }))).config['smtp']).toEqual({
      user: 'v',
      password: 'deep',
    })
  })

  it('keeps its current value when a draft reverts to an older config', () => {
    const old = { ...shown, slots: 9, smtp: { user: 'old', password: '********' } }
    const { key: _, ...without } = old as JsonObject
    expect(patch(revertTo(form, base, without, 'open'))).toEqual({
      slots: 9,
      smtp: { user: 'old', password: '********' },
    })
    const never = { ...base, config: { ...shown, smtp: { user: 'u' } } }
    expect(patch(revertTo(form, never, old, 'open'))).toEqual({ slots: 9, smtp: { user: 'old' } })
  })
})

const someConfig = fc.record(
  {
    slots: fc.constantFrom(1, 2, 3),
    host: fc.constantFrom('a', 'b'),
    targets: fc.constantFrom<readonly string[]>([], ['x']),
    limit: fc.constantFrom(null, 5, 7),
    mode: fc.constantFrom('fast', 'safe'),
    must: fc.constantFrom('be', 'is'),
  },
  { requiredKeys: ['must'] },
) as fc.Arbitrary<JsonObject>

describe('the PATCH of a draft', () => {
  it('turns the stored config into the edited one and changes no other field', () => {
    fc.assert(
      fc.property(someConfig, someConfig, (before, after) => {
        const old = mergeConfig(schema, [], defaultsOf(schema), before).config
        const draft = { ...draftOn({ ...base, config: old }), mine: { value: after, texts: new Map() } }
        const changes = changesIn(form, draft)
        const { config, changed } = mergeConfig(schema, [], old, patchOf(changes))
        expect(changed).toEqual(changes.map(({ name }) => name).toSorted())
        expect(config).toEqual({ ...defaultsOf(schema), ...after })
      }),
    )
  })
})

describe('a draft whose config was saved by another client', () => {
  const newest = { config: { ...shown, slots: 3, host: 'theirs' }, gen: 15, epoch: 'e' }

  it('has a conflict only if both sides changed a field to different values', () => {
    expect(mergeOf(form, edited({ slots: 8, host: 'theirs', mode: 'fast' }), newest)).toEqual({
      theirs: [],
      mine: ['mode', 'host'].toSorted(
        (a, b) => form.fields.findIndex(({ name }) => name === a) - form.fields.findIndex(({ name }) => name === b),
      ),
      conflicts: [{ name: 'slots', base: 4, theirs: 3, mine: 8 }],
    })
  })

  it('takes their value of a conflicting field unless `mine` is chosen', () => {
    const draft = edited({ slots: 8, mode: 'fast' })
    expect(patch(rebase(form, draft, newest, new Map()))).toEqual({ mode: 'fast' })
    expect(patch(rebase(form, draft, newest, new Map([['slots', 'mine']])))).toEqual({ slots: 8, mode: 'fast' })
  })

  it('keeps text with errors, including the JSON text of the whole config', () => {
    const draft = { ...untouched, mine: typeAt(untouched.mine, '/recycle_seconds', 'number', 'x') }
    expect(faults(rebase(form, draft, newest, new Map()))).toHaveLength(1)
    expect(
      faults(rebase(form, { ...untouched, mine: typeWhole(untouched.mine, '{') }, newest, new Map())),
    ).toHaveLength(1)
  })

  it('loses no change of either side', () => {
    fc.assert(
      fc.property(
        someConfig,
        someConfig,
        someConfig,
        fc.subarray(['slots', 'host', 'targets', 'limit', 'mode', 'must']),
        (before, theirs, mine, chosen) => {
          const draft = { ...draftOn({ config: before, gen: 1, epoch: 'e' }), mine: { value: mine, texts: new Map() } }
          const after = rebase(
            form,
            draft,
            { config: theirs, gen: 2, epoch: 'e' },
            new Map<string, Side>(chosen.map((name) => [name, 'mine'])),
          ).mine.value
          const same = (a: unknown, b: unknown): boolean => JSON.stringify(a) === JSON.stringify(b)
          for (const name of new Set([...Object.keys(before), ...Object.keys(theirs), ...Object.keys(mine)])) {
            const [was, their, my] = [before[name], theirs[name], mine[name]]
            const isUnedited = same(was, my)
            const isLostConflict = !same(was, their) && !same(their, my) && !chosen.includes(name)
            const expected = isUnedited || isLostConflict ? their : my
            expect([name, (after as JsonObject)[name]]).toEqual([name, expected])
          }
        },
      ),
    )
  })
})
