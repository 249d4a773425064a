import { describe, expect, it } from '@jest/globals'
import { inPageWords, onePerField } from '../../../src/dashboard/config/fault-text.ts'
import { validate } from '../../../src/dashboard/config/validator.ts'
import { compileValidator, type JsonSchema, type JsonValue } from '../../../src/protocol/index.ts'

/** The words of the page and of the master about one value. */
function wordsOf(
  schema: JsonSchema,
  value: JsonValue,
): readonly [page: string | undefined, master: string | undefined] {
  const ofMaster = compileValidator({ type: 'object', properties: { field: schema } })({ field: value })
  return [validate(schema, value)[0]?.message, ofMaster.map(inPageWords)[0]?.message]
}

describe('the errors of a config', () => {
  it.each<[JsonSchema, JsonValue, string]>([
    [{ type: 'integer', minimum: 1 }, 0, 'expected 1 or more'],
    [{ type: 'integer', maximum: 1024 }, 5_000, 'expected 1024 or less'],
    [{ type: 'string', minLength: 1 }, '', 'expected 1 character or more'],
    [{ type: 'string', maxLength: 2 }, 'abc', 'expected 2 characters or less'],
    [{ type: 'array', maxItems: 1 }, [1, 2], 'expected 1 item or less'],
    [{ type: 'string', pattern: '^a' }, 'b', 'expected text that matches ^a'],
    [{ enum: ['a', 'b'] }, 'c', 'expected one of "a", "b"'],
  ])('of %j have the same words by the page and by the master', (schema, value, words) => {
    const [page, master] = wordsOf(schema, value)
    expect(page).toMatch(new RegExp(`^${words.replaceAll(/[\^$]/g, String.raw`\$&`)}(?:, got|$)`))
    expect(master).toBe(words)
  })

  it('that only the master finds have the words of the page', () => {
    expect(wordsOf({ type: 'number', multipleOf: 5 }, 7)).toEqual([undefined, 'expected a multiple of 5'])
    expect(wordsOf({ type: 'string', format: 'uri' }, 'x')[1]).toBe('expected a URL, such as https://example.net/path')
  })

  it('are one for each field', () => {
    const fault = (path: string, message: string) => ({ path, message, keyword: 'type', params: {} })
    expect(onePerField([fault('/a', 'first'), fault('/b', 'x'), fault('/a', 'second')])).toEqual([
      fault('/a', 'first'),
      fault('/b', 'x'),
    ])
  })
})
