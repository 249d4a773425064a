// Completion in the shells themselves, with the built command and a real master.
import { chmodSync, existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import { beforeEach, describe, expect, it, jest } from '@jest/globals'
import { register } from '../../client/fixture.ts'
import { BUILT_COMMAND, startProgram } from '../../kit/built-command.ts'
import { freePort } from '../../kit/index.ts'
import { runMaster, TOKENS, type TestMaster } from '../../kit/running-master.ts'
import { temporaryFolder } from '../../kit/temporary-folder.ts'

jest.setTimeout(60_000)

/** Runs `words` of the array `typed` through the script of each shell. @returns what it offers */
const SHELLS: Readonly<Record<string, (typed: readonly string[]) => readonly string[]>> = {
  bash: (typed) => [
    '-c',
    `source <(muster completion bash); COMP_WORDS=(muster "$@"); COMP_CWORD=$#; _muster
    printf '%s\\n' "\${COMPREPLY[@]}"`,
    'bash',
    ...typed,
  ],
  zsh: (typed) => [
    '-f',
    '-c',
    `compdef() {}; _describe() { print -rl -- "\${(@P)2%%:*}" }
    source <(muster completion zsh); words=(muster "$@"); CURRENT=$(($# + 1)); _muster`,
    'zsh',
    ...typed,
  ],
  fish: (typed) => [
    '--no-config',
    '-c',
    `muster completion fish | source; complete -C "muster ${typed.join(' ')}" | string split -f 1 \\t`,
  ],
}

const isInstalled = (program: string): boolean =>
  (process.env['PATH'] ?? '').split(delimiter).some((folder) => existsSync(join(folder, program)))

let master: TestMaster
let bin: string

beforeEach(async () => {
  master = await runMaster()
  for (const id of ['m-7', 'm-8']) await register(master, id)
  bin = temporaryFolder()
  const file = join(bin, 'muster')
  writeFileSync(file, `#!/bin/sh\nexec '${process.execPath}' '${BUILT_COMMAND}' "$@"\n`)
  chmodSync(file, 0o755)
})

async function offered(
  shell: string,
  typed: readonly string[],
  environment: Readonly<Record<string, string>> = { SVC_MASTER_URL: master.url, SVC_API_TOKEN: TOKENS.admin },
): Promise<readonly string[]> {
  const PATH = `${bin}${delimiter}${process.env['PATH'] ?? ''}`
  const ran = startProgram(shell, SHELLS[shell]?.(typed) ?? [], { PATH, HOME: bin, ...environment })
  await ran.exited
  return ran
    .output()
    .split('\n')
    .filter((line) => line !== '')
    .toSorted()
}

for (const shell of Object.keys(SHELLS))
  describe(`completion in ${shell}`, () => {
    const test = isInstalled(shell) ? it : it.skip
    test('offers subcommands, verbs, options, values, types and workers', async () => {
      expect(await offered(shell, ['wor'])).toEqual(['worker', 'worker-test', 'workers'])
      expect(await offered(shell, ['dead', 're'])).toEqual(expect.arrayContaining(['replay']))
      expect(await offered(shell, ['dead', 'replay', 'mailer', '--task'])).toEqual(['--task-id'])
      expect(await offered(shell, ['workers', 'ls', '-o', 'y'])).toEqual(['yaml'])
      expect(await offered(shell, ['workers', 'list', '-o', 'json'])).toEqual(['json', 'jsonpath='])
      expect(await offered(shell, ['workers', 'drain', 'mail'])).toEqual(['mailer/'])
      expect(await offered(shell, ['workers', 'drain', '--yes', 'mailer/m'])).toEqual(['mailer/m-7', 'mailer/m-8'])
      expect(await offered(shell, ['why', 'mailer', 'm-8'])).toEqual(['m-8'])
      expect(await offered(shell, ['explain', 'mail'])).toEqual(['mailer'])
      expect(await offered(shell, ['explain', 'mailer.ho'])).toEqual(['mailer.host'])
      expect(await offered(shell, ['master', '--lis'])).toEqual(['--listen'])
      expect(await offered(shell, ['doctor', '--mas'])).toEqual(['--master-url'])
      expect(await offered(shell, ['doctor', '-o', ''])).toEqual(['json', 'table'])
      expect(await offered(shell, ['nonsense', 'x'])).toEqual([])
    })

    test('offers contexts, and what their master knows', async () => {
      const context = { 'master-url': master.url, 'token-file': join(bin, 'token') }
      const config = temporaryFolder()
      mkdirSync(join(config, 'muster'))
      writeFileSync(join(bin, 'token'), TOKENS.admin)
      const needsProgram = { 'master-url': master.url, 'token-command': ['touch', join(bin, 'was-run')] }
      const file = { current: 'there', contexts: { here: context, there: needsProgram } }
      writeFileSync(join(config, 'muster', 'config.yaml'), JSON.stringify(file))
      const environment = { XDG_CONFIG_HOME: config }
      expect(await offered(shell, ['context', 'use', ''], environment)).toEqual(['here', 'there'])
      expect(await offered(shell, ['workers', 'ls', '--context', 'h'], environment)).toEqual(['here'])
      expect(await offered(shell, ['workers', 'ls', '--context', 'here', 'mail'], environment)).toEqual(['mailer'])
      expect(await offered(shell, ['workers', 'ls', 'mail'], environment)).toEqual([])
      expect(existsSync(join(bin, 'was-run'))).toBe(false)
    })

    test('offers what needs no master when none responds', async () => {
      const noMaster = { SVC_MASTER_URL: `http://127.0.0.1:${await freePort()}`, SVC_API_TOKEN: TOKENS.admin }
      for (const environment of [noMaster, {}]) {
        expect(await offered(shell, ['workers', 'dra'], environment)).toEqual(['drain'])
        expect(await offered(shell, ['workers', 'drain', 'mail'], environment)).toEqual([])
      }
    })
  })

describe('muster completion', () => {
  it('names the shells that it knows, for another one and for none', async () => {
    for (const words of [['tcsh'], [], ['bash', 'twice']]) {
      const ran = startProgram(join(bin, 'muster'), ['completion', ...words], {})
      expect(await ran.exited).toBe(2)
      expect(ran.output()).toMatch(/give one of bash, zsh, fish/)
    }
  })
})
