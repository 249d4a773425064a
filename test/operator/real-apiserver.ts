/**
 * Private Kubernetes API servers for tests: etcd and kube-apiserver on free loopback ports, in a folder that `close`
 * removes. As in a cluster: TLS, one bearer token per user, RBAC, an audit log. There is no kubelet, and there are no
 * controllers before `startControllers`: without them no garbage is collected, and a deleted namespace stays.
 *
 *   const server = await startApiServer({ users: ['operator'] })
 *   await server.request('GET', '/api/v1/namespaces')        // as the admin
 *   await server.kubectl('get', 'namespaces')
 *   await server.close()
 */
import { execFile, type ExecFileException } from 'node:child_process'
import { generateKeyPairSync, randomUUID } from 'node:crypto'
import { cpSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Agent, request } from 'undici'
import { eventually, freePort, makeCertificates, type Certificates } from '../kit/index.ts'
import { Program, programPath } from './programs.ts'

const HOST = '127.0.0.1'
/** Usually three to eight seconds on an idle machine. */
const READY_WITHIN_MS = 60_000
const STARTS_TRIED = 3
const KUBECTL_WITHIN_MS = 30_000
/** The controllers that tests need: those for deletions, and those for the default objects of a namespace. */
const CONTROLLERS =
  'garbage-collector-controller,namespace-controller,serviceaccount-controller,root-ca-certificate-publisher-controller'
const auditPolicy = (resources: readonly string[]): object => ({
  apiVersion: 'audit.k8s.io/v1',
  kind: 'Policy',
  omitStages: ['RequestReceived'],
  rules: [
    ...(resources.length === 0 ? [] : [{ level: 'RequestResponse', resources: [{ group: '', resources }] }]),
    { level: 'Metadata' },
  ],
})

export interface ApiServerOptions {
  /** Users besides the admin, without any permission. */
  readonly users?: readonly string[]
  /** Resources of the core group whose objects the audit log contains as they were returned. */
  readonly auditedObjects?: readonly string[]
}
export interface KubeResponse {
  readonly status: number
  readonly headers: Readonly<Record<string, unknown>>
  readonly body: Readonly<Record<string, unknown>>
}
export interface Ran {
  readonly code: number
  readonly stdout: string
  readonly stderr: string
}
export interface RequestOptions {
  readonly body?: object
  readonly contentType?: string
  readonly token?: string
}
export interface CustomResourceDefinition {
  readonly spec: {
    readonly group: string
    readonly names: { readonly plural: string }
    readonly versions: readonly { readonly name: string }[]
  }
}
export interface AuditEvent {
  readonly verb: string
  readonly user: { readonly username: string; readonly extra?: Readonly<Record<string, readonly string[]>> }
  readonly requestURI: string
  readonly requestReceivedTimestamp: string
  readonly objectRef?: {
    readonly resource: string
    readonly apiGroup?: string
    readonly namespace?: string
    readonly name?: string
    readonly subresource?: string
  }
  readonly responseStatus?: { readonly code: number }
  /** Only for an audited resource. */
  readonly responseObject?: { readonly kind?: string; readonly data?: object }
}

/** @returns the exit code of a program; -1 when it did not start or was killed. */
function exitCodeOf(error: ExecFileException | null): number {
  if (error === null) return 0
  return typeof error.code === 'number' ? error.code : -1
}

export class ApiServer {
  readonly folder = mkdtempSync(join(tmpdir(), 'muster-apiserver-'))
  readonly adminToken = randomUUID()
  readonly #tokens: ReadonlyMap<string, string>
  readonly #certificates: Certificates
  readonly #agent: Agent
  readonly #programs: Program[] = []
  /** Ports of etcd for clients and peers, and of the API server. */
  #ports: readonly [number, number, number] | undefined

  constructor({ users = [], auditedObjects = [] }: ApiServerOptions) {
    this.#tokens = new Map(users.map((user) => [user, randomUUID()]))
    this.#certificates = makeCertificates()
    this.#agent = new Agent({ connect: { ca: this.#certificates.ca.cert } })
    const { privateKey, publicKey } = generateKeyPairSync('rsa', {
      modulusLength: 2048,
      publicKeyEncoding: { type: 'spki', format: 'pem' },
      privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
    })
    const people = [...this.#tokens].map(([user, token]) => `${token},${user},${user}\n`)
    this.#write('tokens.csv', `${this.adminToken},admin,admin,"system:masters"\n${people.join('')}`)
    this.#write('accounts.key', privateKey)
    this.#write('accounts.pub', publicKey)
    this.#write('audit-policy.json', JSON.stringify(auditPolicy(auditedObjects)))
  }

  get url(): string {
    return `https://${HOST}:${this.#ports?.[2] ?? 0}`
  }

  /** The authority that signed the server's certificate. */
  get caFile(): string {
    return this.#certificates.ca.certFile
  }

  /** Token of a user that the server was started with. */
  tokenOf(user: string): string {
    const token = this.#tokens.get(user)
    if (token === undefined) throw new TypeError(`the API server was not started with the user ${user}`)
    return token
  }

  /** Starts the server with the same ports and the same content each time. */
  async start(): Promise<void> {
    this.#ports ??= [await freePort(), await freePort(), await freePort()]
    const [client, peer, port] = this.#ports
    const etcd = `http://${HOST}:${client}`
    this.#run('etcd', [
      '--name=default',
      `--data-dir=${this.#file('etcd')}`,
      '--unsafe-no-fsync',
      '--log-level=error',
      `--listen-client-urls=${etcd}`,
      `--advertise-client-urls=${etcd}`,
      `--listen-peer-urls=http://${HOST}:${peer}`,
      `--initial-advertise-peer-urls=http://${HOST}:${peer}`,
      `--initial-cluster=default=http://${HOST}:${peer}`,
    ])
    const { server, ca } = this.#certificates
    const apiServer = this.#run('kube-apiserver', [
      `--etcd-servers=${etcd}`,
      `--secure-port=${port}`,
      `--bind-address=${HOST}`,
      `--advertise-address=${HOST}`,
      '--endpoint-reconciler-type=none',
      `--cert-dir=${this.#file('certificates')}`,
      `--tls-cert-file=${server.certFile}`,
      `--tls-private-key-file=${server.keyFile}`,
      `--client-ca-file=${ca.certFile}`,
      `--token-auth-file=${this.#file('tokens.csv')}`,
      '--authorization-mode=RBAC',
      '--service-cluster-ip-range=10.0.0.0/24',
      '--service-account-issuer=https://kubernetes.default.svc',
      `--service-account-key-file=${this.#file('accounts.pub')}`,
      `--service-account-signing-key-file=${this.#file('accounts.key')}`,
      `--audit-policy-file=${this.#file('audit-policy.json')}`,
      `--audit-log-path=${this.#file('audit.log')}`,
    ])
    this.#write('kubeconfig.json', JSON.stringify(this.#kubeconfig()))
    await until(
      'the API server is ready',
      apiServer,
      async () => (await this.#status('/readyz')) === 200 && (await this.#status('/api/v1/namespaces/default')) === 200,
    )
  }

  /** Kills all processes simultaneously, like a power failure. */
  async kill(): Promise<void> {
    for (const program of this.#programs.splice(0).toReversed()) await program.kill()
  }

  /** Saves the current content of etcd. The server is unavailable for a moment. */
  async backup(): Promise<void> {
    await this.kill()
    cpSync(this.#file('etcd'), this.#file('backup'), { recursive: true })
    await this.start()
  }

  /** Restores the backup, as an administrator would after losing etcd: versions and objects are older then. */
  async restore(): Promise<void> {
    await this.kill()
    rmSync(this.#file('etcd'), { recursive: true })
    cpSync(this.#file('backup'), this.#file('etcd'), { recursive: true })
    await this.start()
  }

  /** Starts garbage collection and the deletion of namespaces. */
  async startControllers(): Promise<void> {
    const port = await freePort()
    const controllers = this.#run('kube-controller-manager', [
      `--kubeconfig=${this.kubeconfig}`,
      `--controllers=${CONTROLLERS}`,
      '--leader-elect=false',
      `--bind-address=${HOST}`,
      `--secure-port=${port}`,
      `--cert-dir=${this.#file('certificates')}`,
      `--service-account-private-key-file=${this.#file('accounts.key')}`,
      `--root-ca-file=${this.caFile}`,
    ])
    // Controllers create a ServiceAccount in every namespace as soon as they run.
    await until(
      'the controllers run',
      controllers,
      async () => (await this.#status('/api/v1/namespaces/default/serviceaccounts/default')) === 200,
    )
  }

  /** Creates a CustomResourceDefinition and waits until its kind is served; until then the API returns 404 or 429. */
  async install(definition: CustomResourceDefinition): Promise<void> {
    const { status, body } = await this.request('POST', '/apis/apiextensions.k8s.io/v1/customresourcedefinitions', {
      body: definition,
    })
    if (status !== 201) throw new Error(`the definition was rejected: ${String(body['message'])}`)
    const { group, names, versions } = definition.spec
    const path = `/apis/${group}/${versions[0]?.name}/${names.plural}`
    await until(`${path} is served`, this.#programs.at(-1), async () => (await this.#status(path)) === 200)
  }

  /** Sends one request, as the admin unless a token is given. Returns the response whatever its status is. */
  async request(
    method: string,
    path: string,
    { body, contentType = 'application/json', token = this.adminToken }: RequestOptions = {},
  ): Promise<KubeResponse> {
    const headers = {
      authorization: `Bearer ${token}`,
      accept: 'application/json',
      ...(body !== undefined && { 'content-type': contentType }),
    }
    const answer = await request(`${this.url}${path}`, {
      method,
      headers,
      dispatcher: this.#agent,
      ...(body !== undefined && { body: JSON.stringify(body) }),
    })
    const text = await answer.body.text()
    return {
      status: answer.statusCode,
      headers: answer.headers,
      body: (/^[{[]/.test(text) ? JSON.parse(text) : { message: text }) as KubeResponse['body'],
    }
  }

  /** Runs kubectl as the admin. Its caches are in this folder. */
  kubectl(...args: readonly string[]): Promise<Ran> {
    const program = programPath('kubectl')
    if (program === undefined) throw new Error('kubectl is not installed: run make tools, or skip with withApiServer')
    const all = [`--kubeconfig=${this.kubeconfig}`, `--cache-dir=${this.#file('kubectl')}`, ...args]
    return new Promise((done) => {
      execFile(
        program,
        all,
        { timeout: KUBECTL_WITHIN_MS, env: { ...process.env, HOME: this.folder } },
        (error, stdout, stderr) => {
          done({ code: exitCodeOf(error), stdout, stderr })
        },
      )
    })
  }

  /** Runs kubectl apply with a file of this object. */
  apply(object: object, ...args: readonly string[]): Promise<Ran> {
    this.#write('applied.json', JSON.stringify(object))
    return this.kubectl('apply', '-f', this.#file('applied.json'), ...args)
  }

  /** All requests so far, one event per completed request. */
  audit(): readonly AuditEvent[] {
    const lines = existsSync(this.#file('audit.log')) ? readFileSync(this.#file('audit.log'), 'utf8').split('\n') : []
    return lines.slice(0, -1).map((line) => JSON.parse(line) as AuditEvent)
  }

  async close(): Promise<void> {
    await this.kill()
    await this.#agent.destroy()
    this.#certificates.close()
    rmSync(this.folder, { recursive: true, force: true })
  }

  async #status(path: string): Promise<number | undefined> {
    try {
      return (await this.request('GET', path)).status
    } catch {
      return undefined // Not listening yet.
    }
  }

  /** The path of the kubeconfig of an administrator. */
  get kubeconfig(): string {
    return this.#file('kubeconfig.json')
  }

  #kubeconfig(): object {
    return {
      apiVersion: 'v1',
      kind: 'Config',
      'current-context': 'test',
      clusters: [{ name: 'test', cluster: { server: this.url, 'certificate-authority': this.caFile } }],
      users: [{ name: 'admin', user: { token: this.adminToken } }],
      contexts: [{ name: 'test', context: { cluster: 'test', user: 'admin', namespace: 'default' } }],
    }
  }

  #run(name: string, args: readonly string[]): Program {
    const program = new Program(name, args, this.#file(`${name}.log`))
    this.#programs.push(program)
    return program
  }

  #file(name: string): string {
    return join(this.folder, name)
  }

  #write(name: string, text: string): void {
    writeFileSync(this.#file(name), text, { mode: 0o600 })
  }
}

/** Starts an empty server. If another process takes a free port first, it tries other ports. */
export async function startApiServer(options: ApiServerOptions = {}): Promise<ApiServer> {
  for (let tried = 1; ; tried += 1) {
    const server = new ApiServer(options)
    try {
      await server.start()
      return server
    } catch (error) {
      await server.close()
      if (tried === STARTS_TRIED || !/address already in use/.test(String(error))) throw error
    }
  }
}

/** Waits for a condition that a running program brings about. */
async function until(what: string, program: Program | undefined, isSo: () => Promise<boolean>): Promise<void> {
  const context = (): string => program?.log() ?? ''
  const holds = (): Promise<boolean> => {
    if (program?.ended !== false) throw new Error(`the program ended before ${what}\n${context()}`)
    return isSo()
  }
  await eventually(what, holds, { context, withinMs: READY_WITHIN_MS })
}
