/** Runs the built `muster worker-test` as a user does: exit codes, both formats, the manifest, and an interruption. */
import { describe, expect, it } from '@jest/globals'
import { spawn, type ChildProcess } from 'node:child_process'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { buildCatalog } from '../../src/automation/index.ts'
import { readManifest } from '../../src/automation/manifest.ts'
import { ROWS } from '../../src/worker-test/index.ts'
import { BUILT_COMMAND } from '../kit/built-command.ts'
import { eventually } from '../kit/index.ts'
import { temporaryFolder } from '../kit/temporary-folder.ts'

const MINIMAL = join(process.cwd(), 'test/worker-test/minimal-worker.mjs')
const GOOD = `'${process.execPath}' '${MINIMAL}'`
const folder = temporaryFolder()

interface Ran {
  readonly code: number | null
  readonly out: string
  readonly err: string
}

function start(args: readonly string[]): { readonly child: ChildProcess; readonly ended: Promise<Ran> } {
  const child = spawn(process.execPath, [BUILT_COMMAND, 'worker-test', ...args])
  const ran = { out: '', err: '' }
  child.stdout.on('data', (chunk: Buffer) => (ran.out += chunk.toString()))
  child.stderr.on('data', (chunk: Buffer) => (ran.err += chunk.toString()))
  return { child, ended: new Promise((resolve) => void child.once('close', (code) => resolve({ code, ...ran }))) }
}
const run = (...args: readonly string[]): Promise<Ran> => start(args).ended

/** @returns a command that writes its process id to `file`, and never connects. */
const silent = (file: string): string =>
  `'${process.execPath}' -e 'require("fs").writeFileSync("${file}", String(process.pid)); setInterval(() => {}, 1000)'`

const isRunning = (pid: number): boolean => {
  try {
    return process.kill(pid, 0)
  } catch {
    return false
  }
}

describe('muster worker-test', () => {
  it('exits with 0 when every row passed, with one line of progress for each', async () => {
    const { code, out, err } = await run('--command', GOOD, '--only', 'W13', '--only=W07')
    expect(code).toBe(0)
    expect(out.split('\n')).toEqual([
      'ROW  AREA    LEVEL  RESULT  SECONDS',
      expect.stringMatching(/^W07 {2}config {2}must {3}passed {2}[\d.]+$/),
      expect.stringMatching(/^W13 {2}tasks {3}must {3}passed {2}[\d.]+$/),
      '',
      '2 of 2 rows passed',
      '',
    ])
    expect(err.trim().split('\n').toSorted()).toEqual([
      expect.stringMatching(/^W07 {2}passed {3}[\d.]+ s {2}The worker polls its config/),
      expect.stringMatching(/^W13 {2}passed {3}[\d.]+ s {2}A run that succeeds is acked/),
    ])
  })

  it('exits with 1 and says what it expected and saw, with the calls, in JSON', async () => {
    const file = join(folder, 'wrong.mjs')
    const text = readFileSync(MINIMAL, 'utf8').replace(
      "from 'ws'",
      `from '${process.cwd()}/node_modules/ws/wrapper.mjs'`,
    )
    writeFileSync(file, text.replace('.slice(0, 4_096)', ''))
    const { code, out } = await run('--command', `'${process.execPath}' '${file}'`, '--only', 'W13', '-o', 'json')
    expect(code).toBe(1)
    expect(JSON.parse(out)).toEqual({
      passed: false,
      rows: [
        {
          id: 'W13',
          area: 'tasks',
          level: 'must',
          holds: expect.stringContaining('cut to 4,096'),
          passed: false,
          seconds: expect.any(Number),
          expected: 'an error text of at most 4096 characters',
          seen: '12000',
          events: expect.arrayContaining([expect.stringContaining('worker: tasks.nack')]),
          output: expect.arrayContaining([expect.stringContaining('run failed')]),
        },
      ],
    })
  })

  it('exits with 1 and shows the output of a program that ends before it connects', async () => {
    const { code, out } = await run('--command', "sh -c 'echo no such module >&2; exit 3'", '--only', 'W01')
    expect(code).toBe(1)
    expect(out).toContain('seen      its process exited with 3\n')
    expect(out).toContain('    no such module\n')
  })

  it.each([
    [['--only', 'W99', '--command', 'x'], `--only  "W99" is not a row; the rows are W01 to ${ROWS.at(-1)?.id}`],
    [[], '--command  is required; for example --command "python3 my_worker.py"'],
    [['--command', 'x', '-o', 'yaml'], '"yaml" is not known; known: table, json'],
    [['x', '--command', 'x', '--commando', 'y'], '--commando  is not known; did you mean --command?'],
  ])('exits with 2 for %j', async (args, fault) => {
    const { code, out, err } = await run(...args)
    expect({ code, out }).toEqual({ code: 2, out: '' })
    expect(err).toContain(fault)
    expect(err).toContain('next:  muster worker-test --help\n')
  })

  it('prints a manifest that a master accepts', async () => {
    const file = join(folder, 'worker-test.automation.yaml')
    writeFileSync(file, (await run('--manifest')).out)
    expect(buildCatalog(readManifest(file)).get('worker-test')).toMatchObject({
      kind: 'BatchAutomation',
      visibilityMs: 3_000,
      defaults: { enabled: false, label: '' },
    })
  })

  it('ends the processes of the worker when it is interrupted', async () => {
    const file = join(folder, 'pid')
    const { child, ended } = start(['--command', silent(file), '--only', 'W01'])
    await eventually('the worker has started', () => existsSync(file) && readFileSync(file, 'utf8') !== '')
    const pid = Number(readFileSync(file, 'utf8'))
    expect(isRunning(pid)).toBe(true)
    child.kill('SIGINT')
    expect(await ended).toEqual({ code: 1, out: '', err: 'error: muster worker-test failed: stopped by SIGINT\n' })
    expect(isRunning(pid)).toBe(false)
  })
})
