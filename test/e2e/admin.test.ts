/**
 * Tests the admin commands of the built binary with a real master and real workers, as a user or a script runs them.
 */
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals'
import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { NOUNS } from '../../src/cmd/admin/index.ts'
import { ADMIN_TOKEN, Fleet } from './fleet.ts'
import { eventually } from '../kit/index.ts'
import { BUILT_COMMAND } from '../kit/built-command.ts'

const MUSTER = `${process.execPath} ${BUILT_COMMAND}`

let fleet: Fleet
const shells = new Set<ChildProcess>()
beforeEach(async () => {
  fleet = new Fleet()
  await fleet.startMaster()
})
afterEach(() => {
  for (const { pid } of shells) if (pid !== undefined) process.kill(-pid, 'SIGKILL') // Ends commands that hang.
  return fleet.stop()
})

interface Ran {
  readonly code: number | null
  readonly out: string
  readonly err: string
}

/** Runs a line of shell in which `muster` is the built command. */
async function shell(line: string, environment: Readonly<Record<string, string>> = {}): Promise<Ran> {
  const child = spawn('bash', ['-c', `muster() { ${MUSTER} "$@"; }; ${line}`], {
    cwd: fleet.directory,
    stdio: ['ignore', 'pipe', 'pipe'],
    detached: true,
    env: { PATH: process.env['PATH'] ?? '', SVC_MASTER_URL: fleet.url, SVC_API_TOKEN: ADMIN_TOKEN, ...environment },
  })
  const ran = { out: '', err: '' }
  child.stdout.on('data', (chunk: Buffer) => (ran.out += chunk.toString()))
  child.stderr.on('data', (chunk: Buffer) => (ran.err += chunk.toString()))
  shells.add(child)
  const [code] = (await once(child, 'close')) as [number | null]
  shells.delete(child)
  return { code, ...ran }
}

describe('the built command', () => {
  it('configures a worker, submits a task and shows its output', async () => {
    fleet.startWorker('http-request', 'r-1')
    await eventually('the worker is registered', async () =>
      (await shell('muster workers ls http-request --connected yes')).out.includes('http-request/r-1'),
    )
    const port = new URL(fleet.url).port
    const set = await shell(
      `muster config set http-request/r-1 enabled=true 'allow_cidrs=["127.0.0.0/8"]' 'allow_ports=[${port}]' --wait`,
    )
    expect(set).toMatchObject({ code: 0, err: 'the config of http-request/r-1 is now at generation 1\n' })
    expect(
      await shell('muster config get http-request/r-1 -o yaml | muster config set http-request/r-1 -f -'),
    ).toMatchObject({ code: 0, err: expect.stringContaining('no changes: the config of http-request/r-1') })
    const followed = shell('muster output tail http-request | head -1')
    expect(
      await shell(
        `muster tasks submit http-request --task-id hello --payload '{"url":"${fleet.url}/healthz"}' -o json`,
      ),
    ).toMatchObject({ code: 0, err: '' })
    const { out, err } = await followed
    expect([JSON.parse(out), err]).toMatchObject([{ payload: { task_id: 'hello', status: 200 } }, ''])
    expect((await shell('muster tasks get http-request hello')).code).toBe(3)
    expect(await shell('muster workers drain http-request/r-1 --wait')).toMatchObject({ code: 0, err: '' })
    expect((await shell('muster workers ls http-request -o yaml')).out).toContain('connected: false')
  }, 60_000)

  it('exits quietly when the reader of its output closes, even if the stream is idle', async () => {
    expect(await shell('muster output tail http-probe | sleep 4; echo "${PIPESTATUS[0]}"')).toEqual({
      code: 0,
      out: '0\n',
      err: '',
    })
    expect(await shell('muster automations ls -o json | head -1; echo "${PIPESTATUS[0]}"')).toEqual({
      code: 0,
      out: '[\n0\n',
      err: '',
    })
  }, 30_000)

  it('returns exit codes for scripts, and requires --yes without a terminal', async () => {
    const codes = [
      'workers get http-probe/ghost',
      'workers gte x',
      'dead clear http-request',
      'workers ls',
      'tasks submit http-probe --payload {}',
    ].map((words) => shell(`muster ${words}`))
    expect((await Promise.all(codes)).map(({ code }) => code)).toEqual([3, 2, 2, 0, 1])
    expect(await shell('muster workers ls', { SVC_API_TOKEN: 'wrong' })).toMatchObject({ code: 4, out: '' })
    const { out } = await shell('muster --help')
    for (const [noun, { summary }] of Object.entries(NOUNS))
      expect(out).toMatch(new RegExp(`^  muster ${noun} +${summary}$`, 'm'))
  }, 30_000)
})
