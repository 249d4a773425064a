import { afterEach, describe, expect, it } from '@jest/globals'
import { type Files, type Ran, Tree } from './tree.ts'

const trees: Tree[] = []
afterEach(() => trees.splice(0).forEach((tree) => tree.remove()))

function verified(files: Files): Ran {
  const tree = new Tree(files)
  trees.push(tree)
  return tree.run('verify-docstrings.mjs')
}

const faultsIn = (files: Files): readonly string[] => verified(files).stdout.trim().split('\n').filter(Boolean)

const READ = `  /**
   * Reads entries.
   *
   * @param type The automation type.
   * @param limit At most this many, 1 to 500.
   * @returns an empty list for an empty stream.
   * @throws {FleetError} STORAGE_UNAVAILABLE. Safe to retry.
   */
  read(type: string, limit: number): Promise<readonly string[]>`

const contract = (...members: readonly string[]): Files => ({
  'src/storage/contract/streams.ts': `/** Streams. */\nexport interface Streams {\n${members.join('\n')}\n}\n`,
})

describe('hack/verify-docstrings', () => {
  it('accepts a complete docstring, and files of other areas', () => {
    const { status, stdout } = verified({ ...contract(READ), 'src/worker/a.ts': 'export const a = 1\n' })
    expect({ status, stdout }).toEqual({ status: 0, stdout: '' })
  })

  it('requires a docstring of each export and of each public method', () => {
    const { status } = verified({ 'src/protocol/a.ts': 'export const MAX_N = 1\n' })
    expect(status).toBe(1)
    expect(
      faultsIn({
        'src/protocol/a.ts': [
          'export type Name = string',
          'export class Client {',
          '  constructor(url: string) {}',
          '  close(): void {}',
          '  #own(): void {}',
          '  private old(): void {}',
          '}',
          'interface Hidden { close(): void }',
        ].join('\n'),
      }),
    ).toEqual([
      'src/protocol/a.ts:1: Name: has no docstring',
      'src/protocol/a.ts:2: Client: has no docstring',
      'src/protocol/a.ts:3: Client.constructor: has no docstring',
      'src/protocol/a.ts:4: Client.close: has no docstring',
    ])
  })

  it('does not take the head of a file for a docstring', () => {
    expect(
      faultsIn({ 'src/protocol/a.ts': '/** @module protocol/a  Defines a. */\nexport type A = string\n' }),
    ).toEqual(['src/protocol/a.ts:2: A: has no docstring'])
  })

  it('lets the type of a constant share its docstring', () => {
    const text = '/** A body. */\nexport const Body = { type: 1 }\nexport type Body = typeof Body\n'
    expect(faultsIn({ 'src/protocol/a.ts': text })).toEqual([])
  })

  it('requires a sentence before the first tag', () => {
    const text = '/** @returns a text. */\nexport const a = (): string => ""\n'
    expect(faultsIn({ 'src/protocol/a.ts': text })).toEqual([
      'src/protocol/a.ts:2: a: its docstring has to begin with a sentence, not with a tag',
    ])
  })

  it.each([
    ['@param type The automation type.', 'has no @param type'],
    ['@returns an empty list for an empty stream.', 'has no @returns'],
    ['@throws {FleetError} STORAGE_UNAVAILABLE. Safe to retry.', 'has no @throws with a code'],
    ['Safe to retry.', '@throws does not say whether a retry is safe'],
    [', 1 to 500', null],
  ])('requires "%s" in the storage contract', (part, fault) => {
    expect(faultsIn(contract(READ.replace(part, '')))).toEqual(
      fault === null ? [] : [`src/storage/contract/streams.ts:11: Streams.read: ${fault}`],
    )
  })

  it('rejects a @param that names no parameter', () => {
    expect(faultsIn(contract(READ.replace('limit: number', 'count: number')))).toEqual([
      'src/storage/contract/streams.ts:11: Streams.read: has no @param count',
      'src/storage/contract/streams.ts:11: Streams.read: @param limit: there is no such parameter',
    ])
  })

  it('requires the unit of a number in its name or its docstring', () => {
    const number = (line: string): Files => contract(`  ${line}`)
    expect(faultsIn(number('readonly holdMs: number'))).toEqual([])
    expect(faultsIn(number('readonly items: readonly number[]'))).toEqual([])
    expect(faultsIn(number('/** In milliseconds. */ readonly hold: number | null'))).toEqual([])
    expect(faultsIn(number('/** How long it lasts. */ readonly hold: number | null'))).toEqual([
      'src/storage/contract/streams.ts:3: Streams.hold: the number hold has no unit',
    ])
    expect(faultsIn({ 'src/protocol/a.ts': '/** Longest hold. */\nexport const MAX_HOLD = 5 * 60\n' })).toEqual([
      'src/protocol/a.ts:2: MAX_HOLD: the number MAX_HOLD has no unit',
    ])
  })

  it('checks functions in object types of the context of a run', () => {
    const text =
      '/** The context. */\nexport interface Context {\n  readonly kv: { readonly get: (key: string) => string }\n}\n'
    expect(faultsIn({ 'src/automation/context.ts': text })).toEqual([
      'src/automation/context.ts:3: Context.kv.get: has no docstring',
    ])
  })

  it('requires in the client what a reader cannot guess', () => {
    const text = (doc: string): Files => ({
      'src/client/a.ts': [
        `/** ${doc} */`,
        "export function get(type: string, { n }: { n?: number } = {}): string { return '' }",
        '',
      ].join('\n'),
    })
    expect(faultsIn(text('Returns the items. @param options `n`: how many.'))).toEqual([])
    expect(faultsIn(text('Gets the items. @param options How many.'))).toEqual([
      'src/client/a.ts:2: get: @param options does not name `n`',
      'src/client/a.ts:2: get: has no @returns',
    ])
    expect(faultsIn(text('Returns the items.'))).toEqual(['src/client/a.ts:2: get: has no @param options'])
  })
})
