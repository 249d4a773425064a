/** Tests how a Lua file and its includes become the text that Redis gets. */
import { describe, expect, it } from '@jest/globals'
import { resolveScript } from '../../../src/storage/redis/script-text.ts'

const linesOf = (files: Readonly<Record<string, string>>, constants = {}): readonly string[] =>
  resolveScript('a.lua', files, constants).source.trimEnd().split('\n')

describe('a Lua file', () => {
  it('contains each include once, before its first use, without comments and empty lines', () => {
    const files = {
      'a.lua': '#!lua\n-- Does a.\n\n--- @include "b"\n--- @include "c"\nreturn c -- c',
      'include/b.lua': '-- Does b.\n--- @include "c"\nlocal b = c\n',
      'include/c.lua': '  -- Does c.\nlocal c = 1\n',
    }
    expect(linesOf(files)).toEqual(['#!lua', 'local c = 1', 'local b = c', 'return c -- c'])
  })

  it('reports the file and line of each line of its text', () => {
    const files = { 'a.lua': '#!lua\n-- Does a.\n--- @include "b"\nreturn b', 'include/b.lua': '\nlocal b = 1\n' }
    expect(resolveScript('a.lua', files, {}).origins).toEqual(['a.lua:1', 'include/b.lua:2', 'a.lua:4'])
  })

  it('reads its flags from the first line', () => {
    expect(resolveScript('a.lua', { 'a.lua': '#!lua flags=allow-oom,no-writes\nreturn 1' }, {}).flags).toEqual([
      'allow-oom',
      'no-writes',
    ])
    expect(resolveScript('a.lua', { 'a.lua': '#!lua\nreturn 1' }, {}).flags).toEqual([])
  })

  it('takes constants from TypeScript, numbers and texts, each once', () => {
    const files = {
      'a.lua': '#!lua\n--- @define LIMIT\n--- @include "b"\nreturn LIMIT',
      'include/b.lua': '--- @define LIMIT\n--- @define NEW',
    }
    expect(linesOf(files, { LIMIT: 5, NEW: 'new one' })).toEqual([
      '#!lua',
      'local LIMIT = 5',
      'local NEW = "new one"',
      'return LIMIT',
    ])
  })

  it('names its keys, for Lua and for its callers', () => {
    const files = { 'a.lua': '#!lua\n--- @keys P0 T\nreturn T' }
    expect(linesOf(files)).toEqual(['#!lua', 'local P0, T = KEYS[1], KEYS[2]', 'return T'])
    expect(resolveScript('a.lua', files, {}).keys).toEqual(['p0', 't'])
  })

  it('has a grouped variant with lines, includes and keys of its own', () => {
    const files = {
      'a.lua': '#!lua\n--- @keys P0 T\n--- @include "b"\nif T then\n  --- @group count()\n  return b\nend',
      'include/b.lua': 'local b = P0',
      'include/grouped-b.lua': '--- @include "c"\nlocal b = P0',
      'include/c.lua': 'local function count() return T .. GQ .. GL .. M end',
    }
    expect(linesOf(files)).toEqual([
      '#!lua',
      'local P0, T = KEYS[1], KEYS[2]',
      'local b = P0',
      'if T then',
      '  return b',
      'end',
    ])
    const { source, keys, origins } = resolveScript('a.lua', files, {}, true)
    expect(source.trimEnd().split('\n')).toEqual([
      '#!lua',
      'local P0, T = KEYS[1], KEYS[2]',
      'local M, GQ, GL = KEYS[3], KEYS[4], KEYS[5]',
      'local function count() return T .. GQ .. GL .. M end',
      'local b = P0',
      'if T then',
      'count()',
      '  return b',
      'end',
    ])
    expect(keys).toEqual(['p0', 't', 'm', 'gq', 'gl'])
    expect(origins[6]).toBe('a.lua:5')
    const including = { ...files, 'a.lua': '#!lua\n--- @group @include "c"\nreturn 1' }
    expect(resolveScript('a.lua', including, {}).source).toBe('#!lua\nreturn 1\n')
    expect(resolveScript('a.lua', including, {}, true).source).toContain('count()')
  })

  it.each([
    ['#!lua\n\n--- @include "b"', 'a.lua:3: there is no include/b.lua'],
    ['#!lua\n--- @define LIMIT', 'a.lua:2: script-constants.ts has no LIMIT'],
    ['#!lua\n--- @keys A\n--- @keys B', 'a.lua:3: the script has another @keys already'],
    ['#!lua\n--- @import "b"', 'a.lua:2: unknown directive @import'],
    ['return 1', 'a.lua:1: must be #!lua, with or without flags'],
  ])('rejects %j', (text, message) => {
    expect(() => resolveScript('a.lua', { 'a.lua': text }, {})).toThrow(new TypeError(message))
  })
})
