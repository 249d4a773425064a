import { spawnSync } from 'node:child_process'
import { dirname } from 'node:path'
import { afterEach, describe, expect, it } from '@jest/globals'
import { type Files, type Ran, hackPath, started, Tree } from './tree.ts'

const trees: Tree[] = []
afterEach(() => trees.splice(0).forEach((tree) => tree.remove()))

const FOLDER = 'src/storage/redis/scripts'
const HEADER = '#!lua\n-- Adds to a number.\n--\n-- KEYS[1]   the number\n-- ARGV[2..] summands\n-- Returns the sum.\n'
const BODY = "return redis.call('INCRBY', KEYS[1], add(ARGV[2], LIMIT))\n"
const SOUND: Files = {
  'src/storage/redis/script-constants.ts': 'export const SCRIPT_CONSTANTS = {\n  LIMIT: 5,\n}\n',
  'src/storage/redis/sums.ts': "const ADD = script('sums.add')\n",
  [`${FOLDER}/sums.add.lua`]: `${HEADER}--- @define LIMIT\n--- @include "add"\n${BODY}`,
  [`${FOLDER}/include/add.lua`]: '-- Adds.\nlocal function add(a, b) return a + b end\n',
}
const NO_LUACHECK = spawnSync('luacheck', ['--version']).error !== undefined

function verified(files: Files, options: readonly string[] = []): Ran {
  const tree = new Tree({ ...SOUND, ...files })
  trees.push(tree)
  return tree.run('verify-lua.mjs', options)
}

describe('hack/verify-lua', () => {
  it('accepts a script with its header, constants and includes', () => {
    expect(verified({})).toMatchObject({ status: 0, stderr: NO_LUACHECK ? expect.any(String) : '' })
  })

  it.each([
    ['a KEYS[n] that the header does not name', `${HEADER}return redis.call('GET', KEYS[2])\n`, 'KEYS[2], which'],
    ['an ARGV[n] that the header does not name', '#!lua\n-- Does.\n-- Returns it.\nreturn ARGV[3]\n', 'ARGV[3], which'],
    [
      'computed ARGV without a range',
      '#!lua\n-- Does.\n-- ARGV[2]  a\n-- Returns it.\nreturn #ARGV\n',
      'as in ARGV[2..]',
    ],
    [
      'keys that the header names differently',
      `${HEADER}--- @keys N\nreturn redis.call('GET', N)\n`,
      'must call KEYS[1]',
    ],
    ['a missing result', '#!lua\n-- Does nothing.\nreturn 1\n', 'names no result'],
    [
      'a missing constant',
      `${HEADER}--- @define MORE\nreturn MORE\n`,
      'sums.add.lua:7: script-constants.ts has no MORE',
    ],
    ['a missing include', `${HEADER}--- @include "more"\nreturn 1\n`, 'sums.add.lua:7: there is no include/more.lua'],
  ])('rejects %s', (_, text, message) => {
    const { status, stderr } = verified({ [`${FOLDER}/sums.add.lua`]: text })
    expect(status).toBe(1)
    expect(stderr).toContain(message)
  })

  it('rejects constants, includes and commands that no code uses', () => {
    const { status, stderr } = verified({
      'src/storage/redis/script-constants.ts': 'export const SCRIPT_CONSTANTS = {\n  LIMIT: 5,\n  SPARE: 6,\n}\n',
      [`${FOLDER}/include/spare.lua`]: '-- Does nothing.\n',
      [`${FOLDER}/sums.spare.lua`]: '#!lua\n-- Does nothing.\n-- Returns 1.\nreturn 1\n',
    })
    expect(status).toBe(1)
    expect(stderr).toContain('script-constants.ts:3: no script defines SPARE')
    expect(stderr).toContain('include/spare.lua:1: is not included')
    expect(stderr).toContain('sums.spare.lua:1: src/storage/redis uses no such script')
  })

  it('prints the text that Redis gets with the origin of each line', () => {
    expect(verified({}, ['--print', 'sums.add']).stdout).toContain('   3  include/add.lua:2  local function add(a, b)')
  })

  it('fails with CI=true if luacheck is not installed, and counts a skip otherwise', () => {
    const tree = new Tree(SOUND)
    trees.push(tree)
    const run = (CI: string): Ran =>
      started(process.execPath, [hackPath('verify-lua.mjs'), tree.root], { PATH: dirname(tree.root), CI })
    expect(run('')).toMatchObject({ status: 0, stdout: '0 passed, 0 failed, 1 skipped\n' })
    expect(run('true').status).toBe(1)
  })
})

const withLuacheck = NO_LUACHECK && process.env['CI'] !== 'true' ? describe.skip : describe
withLuacheck('hack/verify-lua with luacheck', () => {
  it('rejects an undefined name, with the file and line of an include', () => {
    const { status, stderr } = verified({
      [`${FOLDER}/include/add.lua`]: '-- Adds.\nlocal function add(a, b) return a + c + b end\n',
    })
    expect(status).toBe(1)
    expect(stderr).toContain(`${FOLDER}/include/add.lua:2: (W113) accessing undefined variable 'c'`)
  })

  it('rejects what an include defines only if no command uses it', () => {
    const both = '-- Adds.\nlocal function add(a, b) return a + b end\nlocal function spare() return 1 end\n'
    expect(verified({ [`${FOLDER}/include/add.lua`]: both }).stderr).toContain("unused function 'spare'")
    const other = {
      'src/storage/redis/spare.ts': "const SPARE = script('sums.spare')\n",
      [`${FOLDER}/sums.spare.lua`]: '#!lua\n-- Does nothing.\n-- Returns 1.\n--- @include "add"\nreturn spare()\n',
    }
    expect(verified({ [`${FOLDER}/include/add.lua`]: both, ...other })).toMatchObject({ status: 0, stderr: '' })
  })
})
