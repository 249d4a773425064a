/** Tests the generator of Lua mutants, and that the list of survivors names mutants that exist. */
import { readFileSync } from 'node:fs'
import { describe, expect, it } from '@jest/globals'
import { SCRIPT_FILES } from '../../../src/storage/redis/script-files.ts'
import { keyOf, mutantsOf } from './mutants.ts'

interface Listed {
  readonly file: string
  readonly code: string
  readonly becomes: string
  readonly occurrence?: number
  readonly reason: string
}

const changesOf = (text: string): readonly string[] => mutantsOf({ 'a.lua': text }).map(({ becomes }) => becomes)

describe('Lua mutants', () => {
  it.each([
    ['a comparison', 'if a == b and c <= d then', ['if a ~= b and c <= d then', 'if a == b and c < d then']],
    ['a write', "redis.call('HSET', key, value)", ['do end']],
    ['a write of several lines', "call('HSET',\n  key, f(value))\nreturn 1", ['do end']],
    [
      'a write behind a condition',
      'if n > 0 then wake() end',
      ['if n >= 0 then wake() end', 'if n > 0 then do end end'],
    ],
    ['the end of a push', "n = write('RPUSH', list, all)", ["n = write('LPUSH', list, all)"]],
    ['the end of a trim', "n = call('LTRIM', list, int(n), '-1')", ["n = call('LTRIM', list, 0, -1 - (int(n)))"]],
    [
      'the order of a range',
      "n = call('ZRANGE', set, 0, 0, 'REV', 'LIMIT')",
      ["n = call('ZRANGE', set, 0, 0, 'LIMIT')"],
    ],
    ['the direction of a loop', 'for i = #list, 1, -1 do', ['for i = 1, #list do']],
    ['nothing in comments and strings', "-- a < b, call('x')\nlocal x = 'a < b' .. f(y)", []],
    ['no call whose result is used', "local x = call('HGET', key)\nreturn { call('A'), f(x) }", []],
  ])('change %s', (_, text, expected) => {
    expect(changesOf(text)).toEqual(expected)
  })

  it('have a key that differs for equal changes of one file', () => {
    const keys = mutantsOf({ 'a.lua': 'wake()\nwake()\n', 'b.lua': 'wake()\n' }).map(keyOf)
    expect(new Set(keys).size).toBe(3)
  })

  it('change each script that compares or writes, the same way each time', () => {
    const mutants = mutantsOf(SCRIPT_FILES)
    expect(mutants).toEqual(mutantsOf({ ...SCRIPT_FILES }))
    expect(new Set(mutants.map(keyOf)).size).toBe(mutants.length)
    expect(mutants.filter(({ file, text }) => text === SCRIPT_FILES[file])).toEqual([])
    const compareOrWrite = Object.keys(SCRIPT_FILES).filter((file) =>
      /^[^-'\n]*(?: (?:==|~=|[<>]=?) |^ *write\()/m.test(SCRIPT_FILES[file] ?? ''),
    )
    expect(compareOrWrite.filter((file) => mutants.every((mutant) => mutant.file !== file))).toEqual([])
  })

  it('are listed as survivors only once, with a reason, and only if they exist', () => {
    const known = new Set(mutantsOf(SCRIPT_FILES).map(keyOf))
    const listed = JSON.parse(readFileSync(new URL('survivors.json', import.meta.url), 'utf8')) as readonly Listed[]
    const keys = listed.map((each) => keyOf({ occurrence: 1, ...each }))
    expect(keys.filter((key) => !known.has(key))).toEqual([])
    expect(new Set(keys).size).toBe(keys.length)
    expect(listed.filter(({ reason }) => reason.length < 20)).toEqual([])
  })
})
