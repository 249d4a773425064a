/**
 * @module test/e2e/fleet
 * Runs a fleet of real processes of the built command for one test: a master on a SQLite file in its own folder,
 * workers, and a small typed REST client. `stop` ends everything it started, and throws if an output contains a token
 * or a secret field that the test PATCHed. Two fleets on one shared store form one fleet with two masters.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { buildCatalog } from '../../src/automation/index.ts'
import { httpProbe, httpRequest } from '../../src/automations/index.ts'
import { killAll, startMuster, startProgram, type Proc } from '../kit/built-command.ts'
import { canaries } from '../kit/canary.ts'
import { eventually, freePort } from '../kit/index.ts'
import { learnSecrets } from '../kit/outputs.ts'
import { scanCommandLines, scanOutput, scanReads } from '../kit/process-outputs.ts'

export type { Proc } from '../kit/built-command.ts'
export { freePort } from '../kit/index.ts'

export const ADMIN_TOKEN = canaries.create('admin')
export const WORKER_TOKEN = canaries.create('worker')
const CATALOG = buildCatalog([httpProbe, httpRequest])

export interface ApiResponse<T = unknown> {
  readonly status: number
  readonly body: T
  readonly headers: Headers
}

export class Fleet {
  /** The checkout whose built command runs the processes that start from now on. */
  checkout = process.cwd()
  readonly directory = mkdtempSync(join(tmpdir(), 'muster-e2e-'))
  readonly #backendUrl: string
  readonly #started: Proc[] = []
  #port = 0
  #master: Proc | undefined

  constructor(backendUrl?: string) {
    this.#backendUrl = backendUrl ?? `filedb://${join(this.directory, 'master.db')}`
  }

  get url(): string {
    return `http://127.0.0.1:${this.#port}`
  }

  /**
   * Starts the master, on the same port and store each time, without the settings in `unset`. Resolves when it is
   * ready.
   */
  async startMaster(settings: Readonly<Record<string, string>> = {}, unset: readonly string[] = []): Promise<Proc> {
    this.#port ||= await freePort()
    const environment = {
      SVC_LISTEN: `127.0.0.1:${this.#port}`,
      SVC_BACKEND_URL: this.#backendUrl,
      SVC_AUTOMATIONS: 'muster/automations',
      SVC_ADMIN_TOKEN: ADMIN_TOKEN,
      SVC_WORKER_TOKEN: WORKER_TOKEN,
      ...settings,
    }
    const master = this.spawn(
      'master',
      Object.fromEntries(Object.entries(environment).filter(([name]) => !unset.includes(name))),
    )
    this.#master = master
    await eventually(
      `the master is ready`,
      async () => (await fetch(`${this.url}/readyz`).catch(() => null))?.status === 200,
      { context: () => master.output() },
    )
    return master
  }

  /** Kills the master, like a crash. */
  async stopMaster(): Promise<void> {
    this.#master?.child.kill('SIGKILL')
    await this.#master?.exited
  }

  /** The log of the running master, or of the last one. */
  masterOutput(): string {
    return this.#master?.output() ?? ''
  }

  startWorker(type: string, id: string, settings: Readonly<Record<string, string>> = {}): Proc {
    return this.spawn('worker', {
      SVC_MASTER_URL: this.url,
      SVC_WORKER_TOKEN: WORKER_TOKEN,
      SVC_AUTOMATION_TYPE: type,
      SVC_WORKER_ID: id,
      SVC_AUTOMATIONS: 'muster/automations',
      ...settings,
    })
  }

  /** Starts a worker that is a program of another language. */
  startForeignWorker(
    command: readonly [program: string, ...args: string[]],
    type: string,
    id: string,
    settings: Readonly<Record<string, string>> = {},
  ): Proc {
    const [program, ...args] = command
    const proc = startProgram(program, args, {
      SVC_MASTER_URL: this.url,
      SVC_WORKER_TOKEN: WORKER_TOKEN,
      SVC_AUTOMATION_TYPE: type,
      SVC_WORKER_ID: id,
      ...settings,
    })
    this.#started.push(proc)
    return proc
  }

  spawn(subcommand: string, environment: Readonly<Record<string, string>>): Proc {
    const proc = startMuster([subcommand], environment, this.checkout)
    this.#started.push(proc)
    return proc
  }

  async call<T>(
    method: string,
    path: string,
    body?: unknown,
    headers: Readonly<Record<string, string>> = {},
  ): Promise<ApiResponse<T>> {
    learnSecrets(CATALOG, path.replace(/^\/automations/, ''), body)
    const response = await fetch(`${this.url}/api/v1${path}`, {
      method,
      headers: {
        authorization: `Bearer ${ADMIN_TOKEN}`,
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        ...headers,
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    })
    return { status: response.status, headers: response.headers, body: (await response.json()) as T }
  }

  /** Like `call`, for a request that must succeed. */
  async ok<T>(method: string, path: string, body?: unknown): Promise<T> {
    const answer = await this.call<T>(method, path, body)
    if (answer.status !== 200) throw new Error(`${method} ${path}: ${answer.status} ${JSON.stringify(answer.body)}`)
    return answer.body
  }

  /** Waits until the worker is registered, then PATCHes its config. @returns the new generation. */
  async configure(type: string, id: string, config: object): Promise<number> {
    const path = `/automations/${type}/workers/${id}`
    await eventually(`${type}/${id} is registered`, async () => (await this.call(`GET`, path)).status === 200)
    return (await this.ok<{ config_gen: number }>('PATCH', `${path}/config`, config)).config_gen
  }

  /** @throws {Error} if an output of the fleet contains a secret of the test. */
  async stop(): Promise<void> {
    if (this.#port !== 0) await scanReads(this.url, ADMIN_TOKEN)
    const running = this.#started.filter(({ child }) => child.exitCode === null && child.signalCode === null)
    scanCommandLines(running.flatMap(({ child }) => child.pid ?? []))
    await killAll(this.#started)
    rmSync(this.directory, { recursive: true, force: true })
    scanOutput(this.#started)
    canaries.assertNone()
  }
}
