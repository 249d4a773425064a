/**
 * Tests the master as a process: its start, its output, token changes and its stop. Token rotation under load is in
 * rotation.test.ts.
 */
import { afterEach, describe, expect, it } from '@jest/globals'
import { execFile } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { eventually, SLACK } from '../kit/index.ts'
import { BUILT_COMMAND } from '../kit/built-command.ts'
import { temporaryFolder } from '../kit/temporary-folder.ts'
import { Fleet, WORKER_TOKEN, type Proc } from './fleet.ts'

const fleets: Fleet[] = []
afterEach(async () => {
  await Promise.all(fleets.splice(0).map((fleet) => fleet.stop()))
})
function open(): Fleet {
  const fleet = new Fleet()
  fleets.push(fleet)
  return fleet
}

const NEW_TOKEN = 'worker-token-that-is-new'
const POLL = '/automations/http-probe/workers/unknown-worker/config'
const CANARY = 'canary-5b1e-secret'

/** Runs the command until it exits, in a folder without automations. */
function muster(
  args: readonly string[],
  environment: Readonly<Record<string, string>> = {},
): Promise<{ code: number; stdout: string; stderr: string }> {
  const options = { cwd: tmpdir(), env: { PATH: process.env['PATH'] ?? '', ...environment }, timeout: 20_000 }
  return new Promise((resolve) => {
    execFile(process.execPath, [BUILT_COMMAND, ...args], options, (error, stdout, stderr) =>
      resolve({ code: typeof error?.code === 'number' ? error.code : 0, stdout, stderr }),
    )
  })
}

/** Status 404: the token is a worker token, but the worker is not registered. 403: it is no worker token. */
const pollStatus = async (fleet: Fleet, token: string): Promise<number> =>
  (await fetch(`${fleet.url}/api/v1${POLL}`, { headers: { authorization: `Bearer ${token}` } })).status
const accepts = async (fleet: Fleet): Promise<{ old: boolean; new: boolean }> => ({
  old: (await pollStatus(fleet, WORKER_TOKEN)) === 404,
  new: (await pollStatus(fleet, NEW_TOKEN)) === 404,
})

async function ended(proc: Proc): Promise<number | null> {
  proc.child.kill('SIGTERM')
  return proc.exited
}

describe('muster master', () => {
  it('exits with 2 without an automation and says how to install one (D35)', async () => {
    const { code, stderr } = await muster(['master'])
    expect(code).toBe(2)
    expect(stderr).toMatch(/no automation is installed: npm install .*\n[^]*muster master --help/)
  })

  it('runs no worker for a type that a manifest declares, and exits with 2 (D108)', async () => {
    const manifest = join(temporaryFolder(), 'crawler.automation.yaml')
    writeFileSync(manifest, '{muster: automation/v1, type: crawler, kind: batch, payload: {}}')
    const worker = (type: string) =>
      muster(['worker', '--automation-type', type, '--automations', manifest, '--master-url', 'http://127.0.0.1:1'], {
        SVC_WORKER_TOKEN: CANARY,
      })
    const { code, stderr } = await worker('crawler')
    expect(code).toBe(2)
    expect(stderr).toContain('"crawler" is declared by a manifest and has no code here; start its own program')
    const other = await worker('other')
    expect(other.code).toBe(2)
    expect(other.stderr).toContain('"other" is not installed; installed: no automation with code')
  })

  it('reports all faults of its settings together, exits with 2 and shows no secret (D21, D34)', async () => {
    const { code, stdout, stderr } = await muster(['master', '--listen', '80', '--worker-token', CANARY, '--colour'], {
      SVC_ADMIN_TOKEN: CANARY,
      SVC_WORKER_TOKEN: CANARY,
      SVC_TOKEN_SCOPES: `{"${CANARY}":`,
      SVC_BACKEND_URL: 'postgres://h',
      SVC_MAX_BODY_BYTES: 'much',
    })
    expect(code).toBe(2)
    for (const each of [
      'SVC_LISTEN',
      '--worker-token',
      '--colour',
      'SVC_WORKER_TOKEN and SVC_ADMIN_TOKEN are the same token',
      'SVC_TOKEN_SCOPES',
      'SVC_BACKEND_URL',
      'SVC_MAX_BODY_BYTES',
      'SVC_AUTOMATIONS',
    ])
      expect(stderr).toContain(each)
    expect(stdout + stderr).not.toContain(CANARY)
  })

  it('rejects short tokens unless they are allowed, and writes audit lines at every log level (D86, D87)', async () => {
    const settings = {
      SVC_ADMIN_TOKEN: 'short',
      SVC_WORKER_TOKEN: WORKER_TOKEN,
      SVC_AUTOMATIONS: 'muster/automations',
      SVC_BACKEND_URL: 'memory://',
    }
    const refused = await muster(['master', '--listen', '127.0.0.1:0'], settings)
    expect([refused.code, refused.stderr]).toEqual([
      2,
      expect.stringContaining(
        'SVC_ADMIN_TOKEN is shorter than 16 characters and can be guessed; ' +
          'use a longer one, or set SVC_ALLOW_SHORT_TOKENS=1',
      ),
    ])
    const fleet = open()
    const master = await fleet.startMaster({ ...settings, SVC_ALLOW_SHORT_TOKENS: '1', SVC_LOG_LEVEL: 'error' })
    expect(await pollStatus(fleet, NEW_TOKEN)).toBe(403)
    await eventually('the audit line is logged', () => Promise.resolve(master.output().includes('token.refused')), {
      context: () => master.output(),
    })
    expect(JSON.parse(master.output().trim())).toMatchObject({
      audit: 1,
      action: 'token.refused',
      reason: 'wrong',
      count: 1,
      peer: '127.0.0.1',
    })
  }, 30_000)

  it('exits with 2 for an unknown subcommand, and with 0 for the help of each (D34)', async () => {
    expect(await muster(['mastre'])).toMatchObject({ code: 2, stderr: expect.stringContaining('did you mean master?') })
    for (const [subcommand, setting] of [
      ['master', 'SVC_IDEMPOTENCY_TTL_SECONDS, --idempotency-ttl-seconds'],
      ['worker', 'SVC_DRAIN_TIMEOUT_SECONDS'],
      ['dev', '--state-dir'],
    ] as const) {
      expect(await muster([subcommand, '--help'])).toMatchObject({
        code: 0,
        stdout: expect.stringContaining(setting),
        stderr: '',
      })
    }
  })

  it('generates missing tokens, prints them once and accepts them (D21)', async () => {
    const fleet = open()
    const master = await fleet.startMaster({ SVC_WORKER_TOKENS: NEW_TOKEN }, ['SVC_ADMIN_TOKEN', 'SVC_WORKER_TOKEN'])
    const [, admin = '', worker = ''] = /admin {3}(\S{43})\nworker {2}(\S{43})\n/.exec(master.output()) ?? []
    expect(await pollStatus(fleet, worker)).toBe(404)
    expect(await accepts(fleet)).toEqual({ old: false, new: true })
    expect(
      (await fetch(`${fleet.url}/api/v1/automations`, { headers: { authorization: `Bearer ${admin}` } })).status,
    ).toBe(200)
    expect(await ended(master)).toBe(0)
    for (const token of [admin, worker]) expect(master.output().split(token)).toHaveLength(2)
    expect(master.output()).not.toContain(NEW_TOKEN)
  }, 30_000)

  it('reloads a changed token file and closes the sockets of the old token within 5 s (D22)', async () => {
    const fleet = open()
    const file = join(fleet.directory, 'worker-token')
    writeFileSync(file, `${WORKER_TOKEN}\n`)
    const master = await fleet.startMaster({ SVC_WORKER_TOKEN_FILE: file }, ['SVC_WORKER_TOKEN'])
    const worker = fleet.startWorker('http-probe', 'p-1')
    const isConnected = async (): Promise<boolean> =>
      (await fleet.call<{ connected: boolean }>('GET', '/automations/http-probe/workers/p-1')).body.connected
    await eventually('the worker is connected', isConnected, { context: () => worker.output() })
    writeFileSync(file, `${NEW_TOKEN}\n`)
    await eventually('its socket is closed', async () => !(await isConnected()), {
      context: () => master.output(),
      withinMs: 6_000,
    })
    expect(await accepts(fleet)).toEqual({ old: false, new: true })
    expect(master.output()).not.toContain('worker-token-')
  }, 60_000)

  it('completes waiting reserves at SIGTERM, closes the sockets of its workers and exits with 0', async () => {
    const fleet = open()
    const master = await fleet.startMaster()
    const worker = fleet.startWorker('http-request', 'r-1')
    await fleet.configure('http-request', 'r-1', { enabled: true })
    await eventually(
      'the worker waits for tasks',
      async () =>
        /svc_reserve_waiters\{automation_type="http-request"\} [1-9]/.test(
          await (await fetch(`${fleet.url}/metrics`)).text(),
        ),
      { context: () => worker.output() },
    )
    const waiting = fetch(`${fleet.url}/api/v1/automations/http-request/workers/r-1/rpc`, {
      method: 'POST',
      headers: { authorization: `Bearer ${WORKER_TOKEN}`, 'content-type': 'application/json' },
      body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tasks.reserve', params: { limit: 1, wait_ms: 30_000 } }),
    })
    await eventually('the second reserve waits too', async () =>
      /svc_reserve_waiters\{automation_type="http-request"\} ([2-9]|\d\d)/.test(
        await (await fetch(`${fleet.url}/metrics`)).text(),
      ),
    )
    const startedMs = performance.now()
    expect(await ended(master)).toBe(0)
    expect(performance.now() - startedMs).toBeLessThan(5_000 * SLACK)
    expect(await (await waiting).json()).toEqual({ jsonrpc: '2.0', id: 1, result: { tasks: [] } })
    expect(worker.child.exitCode).toBeNull() // It reconnects to the next master.
  }, 60_000)
})
