import { describe, expect, it } from '@jest/globals'
import fc from 'fast-check'
import { Type } from 'typebox'
import { configSchemaOf, defaultsOf, maskSecrets, mergeConfig, secretPathsOf, type JsonObject, type JsonSchema } from '../../../src/protocol/index.ts'
import { changedFields, faultsByField, isDefault, optionText, patchOf, readDraft, readText, textOf, type Draft, type Edit } from '../../../src/dashboard/config/draft.ts'
import { fieldsOf, type Field } from '../../../src/dashboard/config/fields.ts'

const schema = configSchemaOf(JSON.parse(JSON.stringify(Type.Object({
  host: Type.Optional(Type.String()), mode: Type.Enum(['fast', 'safe'], { default: 'safe' }), targets: Type.Array(Type.String(), { default: [] }),
  limit: Type.Union([Type.Integer(), Type.Null()], { default: 5 }), smtp: Type.Optional(Type.Object({ user: Type.String(), password: Type.String({ writeOnly: true }) })),
  key: Type.Optional(Type.String({ writeOnly: true })), must: Type.String(),
}))) as JsonSchema)
const secrets = secretPathsOf(schema)
const fields = fieldsOf(schema)
const field = (name: string): Field => fields.find((each) => each.name === name) as Field
const stored: JsonObject = { ...defaultsOf(schema), slots: 4, smtp: { user: 'u', password: 'deep' }, key: 'sesame', must: 'be' }
const shown = maskSecrets(stored, secrets)

const set = (text: string): Edit => ({ kind: 'set', text })
const reset: Edit = { kind: 'reset' }
const read = (edits: Record<string, Edit>) => readDraft(fields, shown, new Map(Object.entries(edits)))

describe('a draft', () => {
  it('without edits changes nothing', () => {
    expect(read({})).toEqual({ changes: [], faults: new Map() })
  })

  it('that writes what is there already changes nothing, for every field', () => {
    const open = fields.filter((each) => !each.secret && Object.hasOwn(shown, each.name))
    const draft: Draft = new Map(open.map((each) => [each.name, set(textOf(each, shown))]))
    expect(readDraft(fields, shown, draft)).toEqual({ changes: [], faults: new Map() })
  })

  it('sends only what differs, read by the type of its field', () => {
    const { changes, faults } = read({ slots: set(' 8 '), enabled: set('true'), host: set('smtp.example'), mode: set('"fast"'), targets: set('["a"]'), recycle_seconds: set('0'), must: set('be') })
    expect(faults.size).toBe(0)
    expect(patchOf(changes)).toEqual({ slots: 8, enabled: true, host: 'smtp.example', mode: 'fast', targets: ['a'] })
    expect(changes.find((change) => change.field.name === 'slots')).toMatchObject({ before: '4', after: '8' })
  })

  it('keeps a text that cannot be read, with a sentence beside its field', () => {
    const { changes, faults } = read({ slots: set('many'), recycle_seconds: set(''), targets: set('[') })
    expect(changes).toEqual([])
    expect(faults.get('slots')).toBe('expected a whole number, got "many"')
    expect(faults.get('recycle_seconds')).toBe('expected a number, got nothing')
    expect(faults.get('targets')).toMatch(/^not JSON/)
  })

  it('refuses numbers that JSON would bend', () => {
    expect(readText(field('slots'), '9007199254740993')).toHaveProperty('fault')
    expect(readText(field('slots'), '1.0')).toHaveProperty('fault')
    expect(readText(field('recycle_seconds'), '1e999')).toHaveProperty('fault')
    expect(readText(field('recycle_seconds'), '1.5')).toEqual({ value: 1.5 })
  })

  it('goes back to a default by null, and by the default itself where null is a value (D13)', () => {
    expect(patchOf(read({ slots: reset }).changes)).toEqual({ slots: null })
    const nullable = readDraft(fields, { ...shown, limit: null }, new Map([['limit', reset]]))
    expect(patchOf(nullable.changes)).toEqual({ limit: 5 })
  })

  it('has nothing to reset where the default stands already', () => {
    expect(read({ mode: reset, targets: reset, host: reset }).changes).toEqual([])
    expect([isDefault(field('mode'), shown), isDefault(field('slots'), shown)]).toEqual([true, false])
  })

  it('does not set a field by an input that was opened and left empty', () => {
    expect(read({ host: set('') }).changes).toEqual([])
    expect(patchOf(readDraft(fields, { ...shown, host: 'x' }, new Map([['host', set('')]])).changes)).toEqual({ host: '' })
  })
})

describe('a secret in a draft (D17)', () => {
  it('is never shown, neither the stored one nor the new one', () => {
    expect(textOf(field('key'), shown)).toBe('')
    const { changes } = read({ key: set('open sesame') })
    expect(changes).toMatchObject([{ before: 'the stored secret', after: 'a new secret', value: 'open sesame' }])
  })

  it('is cleared by null', () => {
    expect(patchOf(read({ key: reset }).changes)).toEqual({ key: null })
  })

  it('is not replaced by nothing or by the mask', () => {
    expect(read({ key: set('') }).faults.get('key')).toMatch(/^type the new value/)
    expect(read({ key: set('********') }).faults.get('key')).toMatch(/^this is the mask/)
  })

  it('inside an object is kept by its mask when something beside it changes', () => {
    const { changes } = read({ smtp: set(textOf(field('smtp'), shown).replace('"u"', '"v"')) })
    expect(mergeConfig(schema, secrets, stored, patchOf(changes)).config['smtp']).toEqual({ user: 'v', password: 'deep' })
  })
})

describe('a PATCH made of a draft', () => {
  it('turns the stored config into what the form shows, and touches no other field', () => {
    const edits = fc.record({
      slots: fc.option(fc.oneof(fc.nat(1_024).map((n) => set(String(n))), fc.constant(reset)), { nil: undefined }),
      host: fc.option(fc.oneof(fc.string().map(set), fc.constant(reset)), { nil: undefined }),
      targets: fc.option(fc.oneof(fc.array(fc.string()).map((list) => set(JSON.stringify(list))), fc.constant(reset)), { nil: undefined }),
      limit: fc.option(fc.oneof(fc.constantFrom(set('null'), set('7')), fc.constant(reset)), { nil: undefined }),
    })
    fc.assert(fc.property(edits, (some) => {
      const draft = new Map(Object.entries(some).flatMap(([name, edit]) => (edit === undefined ? [] : [[name, edit] as const])))
      const { changes } = readDraft(fields, shown, draft)
      const { config, changed } = mergeConfig(schema, secrets, stored, patchOf(changes))
      expect(changed).toEqual(changes.map((change) => change.field.name).toSorted())
      const untouched = Object.keys(stored).filter((name) => !draft.has(name))
      expect(untouched.map((name) => config[name])).toEqual(untouched.map((name) => stored[name]))
      expect(readDraft(fields, maskSecrets(config, secrets), draft).changes).toEqual([])
    }))
  })
})

describe('faults of the master', () => {
  const fault = (path: string, message: string) => ({ path, message, keyword: 'x', params: {} })

  it('stand beside their fields, also those from inside a value', () => {
    const found = faultsByField([fault('/slots', 'must be <= 1024'), fault('/targets/0', 'must be string'), fault('/targets/1', 'must be string')], fields)
    expect(found).toEqual(new Map([['slots', 'must be <= 1024'], ['targets', '/0 must be string; /1 must be string']]))
  })

  it('of no field are kept, with their path', () => {
    expect(faultsByField([fault('', 'is too large'), fault('/unknown', 'is not a known field')], fields)).toEqual(new Map([['', 'the config is too large; /unknown is not a known field']]))
  })

  it('find a field whose name is escaped in the pointer', () => {
    expect(faultsByField([fault('/a~1b', 'is wrong')], fieldsOf({ properties: { 'a/b': { type: 'string' } } }))).toEqual(new Map([['a/b', 'is wrong']]))
  })
})

describe('what somebody else saved', () => {
  it('is named field by field', () => {
    expect(changedFields(fields, shown, { ...shown, slots: 5, host: 'new' })).toEqual(['slots', 'host'])
  })
})

describe('an option of an enumeration', () => {
  it('is its text, or JSON where the text would say nothing', () => {
    expect(['a', '', 2, null].map(optionText)).toEqual(['a', '""', '2', 'null'])
  })
})
