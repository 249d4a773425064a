/**
 * Accesses the fleet from outside the cluster: by its public name, through the ingress controller, over TLS with a
 * certificate of the test's authority. Contains an API client and a worker.
 */
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import type { LookupFunction } from 'node:net'
import { join } from 'node:path'
import { connect } from 'node:tls'
import { Agent, request } from 'undici'
import { killAll, startMuster, type Proc } from '../kit/built-command.ts'
import { HOST, type Authority } from './authority.ts'
import { ingress } from './cluster.ts'
import type { EchoTask } from './load.ts'

const HERE = join(process.cwd(), 'test/cluster/automations')

export interface PublicResponse<T> {
  readonly status: number
  readonly body: T
}
export interface CallOptions {
  readonly body?: object | string
  readonly token?: string
  readonly headers?: Readonly<Record<string, string>>
}
/** Address of a proxy in front of the fleet. */
export interface Door {
  readonly address: string
  readonly port: string
}

export class Public {
  readonly authority: Authority
  readonly #door: Door
  readonly #agent: Agent
  readonly #workers: Proc[] = []
  adminToken = ''

  constructor(authority: Authority, door = ingress()) {
    this.authority = authority
    this.#door = door
    this.#agent = new Agent({ connect: this.tls })
  }

  /** TLS options: the trusted authority, and a lookup that resolves the public name. */
  get tls(): { readonly ca: string; readonly lookup: LookupFunction } {
    const { address } = this.#door
    return {
      ca: this.authority.ca,
      lookup: (_, { all }, done) => (all === true ? done(null, [{ address, family: 4 }]) : done(null, address, 4)),
    }
  }

  get workerTokenFile(): string {
    return join(this.authority.folder, 'worker-token')
  }

  /** SHA-256 fingerprint of the certificate that a new connection gets. */
  async fingerprint(): Promise<string> {
    const socket = connect({ host: HOST, servername: HOST, port: Number(this.#door.port), ...this.tls })
    await once(socket, 'secureConnect')
    const { fingerprint256 } = socket.getPeerCertificate()
    socket.destroy()
    return fingerprint256
  }

  get url(): string {
    return `https://${HOST}:${this.#door.port}`
  }

  async get(path: string): Promise<number> {
    const answer = await request(`${this.url}${path}`, { dispatcher: this.#agent })
    await answer.body.dump()
    return answer.statusCode
  }

  /** @param body an object, or its JSON. */
  async call<T>(
    method: string,
    path: string,
    { body, token = this.adminToken, headers: more }: CallOptions = {},
  ): Promise<PublicResponse<T>> {
    const headers = {
      authorization: `Bearer ${token}`,
      ...(body !== undefined && { 'content-type': 'application/json' }),
      ...more,
    }
    const answer = await request(`${this.url}/api/v1${path}`, {
      method,
      headers,
      dispatcher: this.#agent,
      ...(body !== undefined && { body: typeof body === 'string' ? body : JSON.stringify(body) }),
    })
    const text = await answer.body.text()
    return {
      status: answer.statusCode,
      body: (text.startsWith('{') || text.startsWith('[') ? JSON.parse(text) : text) as T,
    }
  }

  /** The text of the event stream, until the signal is aborted. */
  async *events(signal: AbortSignal): AsyncGenerator<string> {
    const { body } = await request(`${this.url}/api/v1/events`, {
      headers: { authorization: `Bearer ${this.adminToken}` },
      dispatcher: this.#agent,
      bodyTimeout: 0,
      signal,
    })
    for await (const chunk of body.setEncoding('utf8')) yield chunk as string
  }

  /** Like `call`, but throws if the call fails. */
  async ok<T>(method: string, path: string, body?: object): Promise<T> {
    const answer = await this.call<T>(method, path, body === undefined ? {} : { body })
    if (answer.status !== 200) throw new Error(`${method} ${path}: ${answer.status} ${JSON.stringify(answer.body)}`)
    return answer.body
  }

  /** Whether the fleet acknowledged this task. */
  async submit(task: EchoTask): Promise<boolean> {
    return (await this.call('POST', '/automations/echo/tasks', { body: task })).status === 200
  }

  /** Status of an API call with this token: 200 if the fleet accepts it. */
  async statusOf(token: string): Promise<number> {
    return (await this.call('GET', '/me', { token }).catch(() => ({ status: 0 }))).status
  }

  /** Starts a worker on this machine, outside the cluster; it knows the public name only. */
  startWorker(id: string): Proc {
    const env = {
      SVC_MASTER_URL: this.url,
      SVC_WORKER_TOKEN_FILE: this.workerTokenFile,
      SVC_AUTOMATION_TYPE: 'echo',
      SVC_WORKER_ID: id,
      SVC_AUTOMATIONS: join(HERE, 'echo.mjs'),
      NODE_EXTRA_CA_CERTS: this.authority.caFile,
      NODE_OPTIONS: `--import=${join(HERE, 'resolve.mjs')}`,
      MUSTER_TEST_NAME: `${HOST}=${this.#door.address}`,
    }
    const worker = startMuster(['worker'], env)
    this.#workers.push(worker)
    return worker
  }

  writeWorkerToken(token: string): void {
    writeFileSync(this.workerTokenFile, token, { mode: 0o600 })
  }

  async close(): Promise<void> {
    await killAll(this.#workers)
    await this.#agent.close()
  }
}
