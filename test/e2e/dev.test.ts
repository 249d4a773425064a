/** Tests `muster dev` with real processes, as a new user runs it after the installation. */
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { Fleet, freePort, type Proc } from './fleet.ts'
import { eventually } from '../kit/index.ts'

let fleet: Fleet
let port: number
beforeEach(async () => {
  fleet = new Fleet()
  port = await freePort()
})
afterEach(() => fleet.stop())

const state = (name: string): string => join(fleet.directory, 'state', name)
const start = (settings: Readonly<Record<string, string>> = {}): Proc =>
  fleet.spawn('dev', {
    SVC_LISTEN: `127.0.0.1:${port}`,
    SVC_STATE_DIR: join(fleet.directory, 'state'),
    SVC_LOG_LEVEL: 'info',
    ...settings,
  })
const isUp = (dev: Proc): Promise<void> =>
  eventually('the first output is seen', async () => dev.output().includes('first output of'), { context: dev.output })
const interrupted = (dev: Proc): Promise<number | null> => {
  dev.child.kill('SIGINT')
  return dev.exited
}

/** Runs a line of the printed output in a shell. */
async function shell(line: string): Promise<unknown> {
  const child = spawn('bash', ['-c', line], { stdio: ['ignore', 'pipe', 'inherit'] })
  let text = ''
  child.stdout.on('data', (chunk: Buffer) => (text += chunk.toString()))
  await once(child, 'close')
  return JSON.parse(text)
}

const isAlive = (pid: number): boolean => {
  try {
    return !/^State:\s+Z/m.test(readFileSync(`/proc/${pid}/status`, 'utf8'))
  } catch {
    return false
  }
}
const childrenOf = (pid: number): readonly number[] =>
  readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8')
    .trim()
    .split(' ')
    .filter((each) => each !== '')
    .map(Number)

describe('muster dev', () => {
  it('starts a fleet whose printed commands work, and keeps its state at the second start (D57)', async () => {
    const first = start()
    await isUp(first)
    const tokens = ['admin-token', 'worker-token'].map((name) => readFileSync(state(name), 'utf8').trim())
    for (const token of tokens) expect(first.output().split(token)).toHaveLength(2)
    for (const name of ['admin-token', 'worker-token', 'master.db'])
      expect(statSync(state(name)).mode & 0o777).toBe(0o600)

    const lines = first
      .output()
      .split('\n')
      .map((line) => line.trim())
      .filter((line) => line.startsWith('curl '))
    expect(lines).toHaveLength(3)
    const [workers = '', submit = '', peek = ''] = lines
    expect(await shell(workers)).toMatchObject([{ worker_id: 'dev-http-probe', state: 'RUNNING', connected: true }])
    expect(await shell(submit)).toMatchObject({ queued: true })
    await eventually('the task has its output', async () => ((await shell(peek)) as unknown[]).length === 1)
    expect(await shell(peek)).toMatchObject([{ payload: { status: 200 } }])
    expect(await interrupted(first)).toBe(0)

    const second = start()
    await isUp(second)
    expect(second.output()).toContain('dev-http-request (as configured before)')
    expect(second.output()).toContain('tokens: unchanged since the first start')
    for (const token of tokens) expect(second.output()).not.toContain(token)
    expect(await shell(peek)).toMatchObject([{ payload: { status: 200 } }])
    expect(await interrupted(second)).toBe(0)
  }, 60_000)

  it('restarts a worker that died, and leaves no worker running when it is killed', async () => {
    const dev = start()
    await isUp(dev)
    const [victim = 0] = childrenOf(dev.child.pid ?? 0)
    process.kill(victim, 'SIGKILL')
    await eventually(
      'the worker is restarted',
      async () =>
        dev.output().includes('exited with SIGKILL; restarting in') && childrenOf(dev.child.pid ?? 0).length === 2,
    )

    const children = childrenOf(dev.child.pid ?? 0)
    dev.child.kill('SIGKILL')
    await dev.exited
    const next = start()
    await isUp(next)
    await eventually('the old workers have exited', async () => !children.some(isAlive))
    expect(await interrupted(next)).toBe(0)
  }, 60_000)

  it('reports an address or a file in use, and prints the tokens at the first successful start', async () => {
    const taken = createServer().listen(port, '127.0.0.1')
    await once(taken, 'listening')
    const refused = start()
    expect(await refused.exited).toBe(1)
    expect(refused.output()).toContain(
      `the master cannot listen on 127.0.0.1:${port}; choose another address with --listen`,
    )
    taken.close()
    await once(taken, 'close')
    const dev = start()
    await isUp(dev)
    expect(dev.output()).toContain(readFileSync(state('admin-token'), 'utf8').trim())

    const double = start({ SVC_LISTEN: `127.0.0.1:${await freePort()}` })
    expect(await double.exited).toBe(1)
    expect(double.output()).toContain(`another master uses this file: ${state('master.db')}`)
    expect(await interrupted(dev)).toBe(0)
  }, 60_000)

  it('names the state that it cannot use and exits with 1', async () => {
    const file = join(fleet.directory, 'file')
    writeFileSync(file, 'no directory')
    mkdirSync(join(fleet.directory, 'foreign'))
    writeFileSync(join(fleet.directory, 'foreign/master.db'), 'this is no database'.repeat(100))
    const starts = [start({ SVC_STATE_DIR: file }), start({ SVC_STATE_DIR: join(fleet.directory, 'foreign') })]
    expect(await Promise.all(starts.map(({ exited }) => exited))).toEqual([1, 1])
    expect(starts[0]?.output()).toContain(
      `the state directory ${file} cannot be used; choose another one with --state-dir`,
    )
    expect(starts[1]?.output()).toContain(`${join(fleet.directory, 'foreign/master.db')} is damaged`)
  }, 60_000)

  it('starts the program that a manifest names, and says which type has none (D108)', async () => {
    const program = join(fleet.directory, 'worker.mjs')
    const manifest = join(fleet.directory, 'other.automation.yaml')
    writeFileSync(
      program,
      'const { SVC_AUTOMATION_TYPE: type, SVC_WORKER_ID: id, SVC_MASTER_URL: url } = process.env\n' +
        'console.log(`started ${type} ${id} ${url}`)\n' +
        "process.on('SIGTERM', () => process.exit(0))\nsetInterval(() => {}, 1_000)\n",
    )
    writeFileSync(
      manifest,
      '- {muster: automation/v1, type: crawler, kind: batch, payload: {}, dev: {command: ' +
        `[${JSON.stringify(process.execPath)}, ${JSON.stringify(program)}]}}\n` +
        '- {muster: automation/v1, type: sender, kind: batch, payload: {}}\n',
    )
    const dev = start({ SVC_AUTOMATIONS: manifest })
    await eventually('the program runs', async () => dev.output().includes('dev-crawler | started'), {
      context: dev.output,
    })
    expect(dev.output()).toContain(`started crawler dev-crawler http://127.0.0.1:${port}`)
    expect(dev.output()).toContain('worker   none    sender (its manifest names no dev.command; start its program')
    expect(await interrupted(dev)).toBe(0)
  }, 60_000)

  it('exits with 0 when it is interrupted during its start', async () => {
    const dev = start()
    await eventually('the master is ready', async () => dev.output().includes('master   ready'), {
      context: dev.output,
    })
    expect(await interrupted(dev)).toBe(0)
    expect(dev.output()).toContain('stopped; the state was kept')
  }, 60_000)
})
