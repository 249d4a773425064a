/**
 * Runs a cluster with a fleet for one file of tests: a real kube-apiserver with the FleetWorker definition, a real
 * master on the memory store with real worker processes, and `muster operator` with its own ServiceAccount and exactly
 * the permissions of manifests/operator. All processes run the built command.
 */
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { parse, parseAllDocuments } from 'yaml'
import type { FleetWorkerStatus } from '../../src/operator/fleetworker/index.ts'
import { ADMIN_TOKEN, Fleet, freePort, type Proc } from '../e2e/fleet.ts'
import { Replica, type ReplicaOptions } from './replica.ts'
import {
  startApiServer,
  type KubeResponse,
  type ApiServer,
  type ApiServerOptions,
  type AuditEvent,
  type CustomResourceDefinition,
  type Ran,
} from './real-apiserver.ts'
import { canaries } from '../kit/canary.ts'
import { eventually } from '../kit/index.ts'

const OPERATOR = /^system:serviceaccount:[^:]+:muster-operator$/
const WITHIN_MS = 30_000
const TOKEN_SECONDS = 7_200
/** A tenant map that permits every namespace to manage every worker. */
const EVERYONE = '{"*": {"types": ["*"], "workers": ["*"]}}'

type Json = Readonly<Record<string, unknown>>
export interface Resource {
  readonly metadata: {
    readonly name: string
    readonly uid: string
    readonly resourceVersion: string
    readonly generation: number
    readonly finalizers?: readonly string[]
  }
  readonly status?: FleetWorkerStatus
}
export interface Worker {
  readonly config: Json
  readonly config_gen: number
  readonly managed_by: string | null
  readonly draining: boolean
}

interface List<T> {
  readonly items: readonly T[]
}

export class Cluster {
  readonly server: ApiServer
  readonly fleet: Fleet
  #operator: Proc | undefined
  #replica: Proc | undefined
  #metricsPort = 0
  #kubeconfig = ''
  #token = ''
  #replicas = 0

  private constructor(server: ApiServer, fleet: Fleet) {
    this.server = server
    this.fleet = fleet
  }

  /**
   * Starts a cluster with a master, without workers and without an operator. `rights`: a folder of manifests/operator;
   * by default nothing is installed. `fleet`: by default the master has its store in memory.
   */
  static async start(
    rights?: 'namespaced' | 'cluster-wide',
    options: ApiServerOptions = {},
    fleet = new Fleet('memory://'),
  ): Promise<Cluster> {
    const cluster = new Cluster(await startApiServer(options), fleet)
    try {
      if (rights !== undefined) await cluster.#install(rights)
      await cluster.fleet.startMaster()
    } catch (error) {
      await cluster.close()
      throw error
    }
    return cluster
  }

  async #install(rights: string): Promise<void> {
    for (const plural of ['fleetworkers', 'fleetworkersets'])
      await this.server.install(
        parse(readFileSync(`crds/${plural}.muster.dev.yaml`, 'utf8')) as CustomResourceDefinition,
      )
    for (const name of ['muster', 'team-a']) await this.ok('POST', '/api/v1/namespaces', { metadata: { name } })
    await this.kubectl('apply', '-k', join('manifests/operator', rights))
  }

  /** Permits the operator to read these Secrets, as in manifests/operator/secrets. */
  async allowSecrets(namespace: string, ...resourceNames: readonly string[]): Promise<void> {
    const [role, binding] = parseAllDocuments(readFileSync('manifests/operator/secrets/rights.yaml', 'utf8')).map(
      (document) => document.toJS() as object,
    )
    const rules = [{ apiGroups: [''], resources: ['secrets'], resourceNames, verbs: ['get'] }]
    for (const each of [{ ...role, rules }, binding])
      await this.kubectl('apply', '-n', namespace, '-f', this.file('secret-rights.json', each ?? {}))
  }

  /** The kubeconfig of the operator that was started last. */
  get kubeconfig(): string {
    return this.#kubeconfig
  }

  /** Log of the operator, or of the replica that was started last. */
  get log(): string {
    return (this.#operator ?? this.#replica)?.output() ?? ''
  }

  get metricsUrl(): string {
    return `http://127.0.0.1:${this.#metricsPort}`
  }

  /**
   * Starts the operator; resolves when it is the leader and has reconciled everything once. `server`: a proxy in front
   * of the API server.
   */
  async startOperator({ server, ...settings }: Readonly<Record<string, string>> = {}): Promise<Proc> {
    this.#metricsPort = await freePort()
    this.#kubeconfig = await this.writeKubeconfig(server)
    const operator = this.fleet.spawn('operator', {
      KUBECONFIG: this.#kubeconfig,
      SVC_MASTER_URL: this.fleet.url,
      SVC_API_TOKEN: ADMIN_TOKEN,
      SVC_TENANTS: EVERYONE,
      SVC_METRICS_LISTEN: `127.0.0.1:${this.#metricsPort}`,
      ...settings,
    })
    this.#operator = operator
    await this.until('the operator is the leader and its queue is empty', async () => {
      const metrics = await this.metrics().catch(() => '')
      return (
        /^leader_election_master_status\{[^}]*\} 1$/m.test(metrics) && /^workqueue_depth\{[^}]*\} 0$/m.test(metrics)
      )
    })
    return operator
  }

  /** @returns the path of a kubeconfig of the operator's account, or of another account of its namespace. */
  async writeKubeconfig(server?: string, account?: string): Promise<string> {
    if (account !== undefined)
      return this.file(
        `${account}.kubeconfig`,
        this.#kubeconfigOf(await this.#accountToken('muster', account), 'muster', server),
      )
    return this.file('operator.kubeconfig', this.#kubeconfigOf(await this.operatorToken(), 'muster', server))
  }

  async operatorToken(): Promise<string> {
    this.#token ||= await this.#accountToken()
    return this.#token
  }

  #kubeconfigOf(token: string, namespace: string, server?: string): object {
    return {
      apiVersion: 'v1',
      kind: 'Config',
      'current-context': 'test',
      clusters: [
        {
          name: 'test',
          cluster:
            server === undefined
              ? { server: this.server.url, 'certificate-authority': this.server.caFile }
              : { server, 'insecure-skip-tls-verify': true },
        },
      ],
      users: [{ name: 'operator', user: { token } }],
      contexts: [{ name: 'test', context: { cluster: 'test', user: 'operator', namespace } }],
    }
  }

  async #accountToken(namespace = 'muster', account = 'muster-operator'): Promise<string> {
    const { status } = await this.ok<{ status: { token: string } }>(
      'POST',
      `/api/v1/namespaces/${namespace}/serviceaccounts/${account}/token`,
      { spec: { expirationSeconds: TOKEN_SECONDS } },
    )
    canaries.add(`the token of ${account}`, status.token)
    return status.token
  }

  /** Starts another operator in parallel. Resolves when its process listens. */
  async startReplica({ server, namespace = 'muster', settings }: ReplicaOptions = {}): Promise<Replica> {
    this.#replicas += 1
    const [port, token] = [await freePort(), await this.#accountToken(namespace)]
    const KUBECONFIG = this.file(`operator-${this.#replicas}.kubeconfig`, this.#kubeconfigOf(token, namespace, server))
    const proc = this.fleet.spawn('operator', {
      KUBECONFIG,
      SVC_MASTER_URL: this.fleet.url,
      SVC_API_TOKEN: ADMIN_TOKEN,
      SVC_TENANTS: EVERYONE,
      SVC_METRICS_LISTEN: `127.0.0.1:${port}`,
      ...settings,
    })
    this.#replica = proc
    const replica = new Replica(this, proc, port, token)
    await this.until(
      'the operator listens',
      async () => (await replica.probe('/healthz').catch(() => 0)) === 200,
      WITHIN_MS,
      async () => proc.output(),
    )
    return replica
  }

  async metrics(): Promise<string> {
    return (await fetch(`${this.metricsUrl}/metrics`)).text()
  }

  async stopOperator(signal: NodeJS.Signals = 'SIGTERM'): Promise<number | null> {
    const operator = this.#operator
    this.#operator = undefined
    operator?.child.kill(signal)
    return (await operator?.exited) ?? null
  }

  /** Starts a worker process of the bundled http-probe automation, which has a secret field, `authorization`. */
  async startWorker(id: string): Promise<Proc> {
    const worker = this.fleet.startWorker('http-probe', id)
    await this.until(
      `the worker ${id} is connected`,
      async () =>
        (await this.fleet.call<{ connected?: boolean }>('GET', `/automations/http-probe/workers/${id}`)).body
          .connected === true,
    )
    return worker
  }

  /** Creates the account that the pods of team-a have. Its controller does not run. */
  async createDefaultAccount(): Promise<void> {
    await this.server.request('POST', '/api/v1/namespaces/team-a/serviceaccounts', {
      body: { metadata: { name: 'default' } },
    })
  }

  /** Creates a workload in team-a. No controller runs; the pods of a Deployment are created here too. */
  async createWorkload(kind: 'StatefulSet' | 'Deployment', name: string, replicas: number): Promise<void> {
    await this.createDefaultAccount()
    const labels = { app: name }
    const template = { metadata: { labels }, spec: { containers: [{ name: 'worker', image: 'muster' }] } }
    await this.ok('POST', `/apis/apps/v1/namespaces/team-a/${kind.toLowerCase()}s`, {
      metadata: { name },
      spec: {
        replicas,
        selector: { matchLabels: labels },
        template,
        ...(kind === 'StatefulSet' && { serviceName: name }),
      },
    })
    if (kind === 'StatefulSet') return
    for (let index = 0; index < replicas; index += 1) {
      const owner = { apiVersion: 'apps/v1', kind: 'ReplicaSet', name, uid: 'u', controller: true }
      const metadata = { name: `${name}-${index}`, labels, ownerReferences: [owner] }
      await this.ok('POST', '/api/v1/namespaces/team-a/pods', { metadata, spec: { ...template.spec, nodeName: 'n' } })
      await this.ok(
        'PATCH',
        `/api/v1/namespaces/team-a/pods/${name}-${index}/status`,
        { status: { phase: 'Running', conditions: [{ type: 'Ready', status: 'True' }] } },
        'application/merge-patch+json',
      )
    }
  }

  /** Runs kubectl; throws with its output if it fails. */
  async kubectl(...args: readonly string[]): Promise<string> {
    const { code, stdout, stderr }: Ran = await this.server.kubectl(...args)
    if (code !== 0) throw new Error(`kubectl ${args.join(' ')}: exit ${code}\n${stdout}${stderr}`)
    return stdout
  }

  apply(name: string, spec: Json, namespace = 'team-a'): Promise<string> {
    const object = {
      apiVersion: 'muster.dev/v1alpha1',
      kind: 'FleetWorker',
      metadata: { name, namespace },
      spec: { type: 'http-probe', ...spec },
    }
    return this.kubectl('apply', '-f', this.file(`${name}.json`, object))
  }

  async ok<T = Json>(method: string, path: string, body?: object, contentType?: string): Promise<T> {
    const { status, body: answer }: KubeResponse = await this.server.request(method, path, {
      ...(body !== undefined && { body }),
      ...(contentType !== undefined && { contentType }),
    })
    if (status >= 300) throw new Error(`${method} ${path}: ${status} ${String(answer['message'])}`)
    return answer as T
  }

  async resource(name: string, namespace = 'team-a'): Promise<Resource | undefined> {
    const { status, body } = await this.server.request(
      'GET',
      `/apis/muster.dev/v1alpha1/namespaces/${namespace}/fleetworkers/${name}`,
    )
    return status === 404 ? undefined : (body as unknown as Resource)
  }

  async worker(id: string): Promise<Worker | undefined> {
    const { status, body } = await this.fleet.call<Worker>('GET', `/automations/http-probe/workers/${id}`)
    return status === 404 ? undefined : body
  }

  /**
   * Waits for a condition such as `Ready=True` or `Stalled=Rejected`: its status or its reason, at the newest
   * generation.
   */
  async condition(name: string, wanted: string, withinMs = WITHIN_MS, namespace = 'team-a'): Promise<void> {
    const [type = '', value = ''] = wanted.split('=')
    await this.until(
      `${name} has ${wanted}`,
      async () => {
        const resource = await this.resource(name, namespace)
        const found = resource?.status?.conditions?.find((each) => each.type === type)
        return (
          found?.observedGeneration === resource?.metadata.generation &&
          (found?.status === value || found?.reason === value)
        )
      },
      withinMs,
      async () => JSON.stringify((await this.resource(name, namespace))?.status, null, 1),
    )
  }

  async until(
    what: string,
    holds: () => Promise<boolean>,
    withinMs = WITHIN_MS,
    seen: () => Promise<string> = async () => '',
  ): Promise<void> {
    await eventually(what, holds, { withinMs }).catch(async (error: Error) => {
      throw new Error(`${error.message}\n${await seen()}\n${this.log.slice(-3_000)}`)
    })
  }

  /** Requests of operators to the API server since that time in milliseconds. */
  audit(sinceMs = 0): readonly AuditEvent[] {
    return this.server
      .audit()
      .filter(
        ({ user, requestReceivedTimestamp }) =>
          OPERATOR.test(user.username) && Date.parse(requestReceivedTimestamp) >= sinceMs,
      )
  }

  file(name: string, content: object): string {
    const path = join(this.server.folder, name)
    writeFileSync(path, JSON.stringify(content), { mode: 0o600 })
    return path
  }

  /** @throws {Error} if an output of the fleet, a Kubernetes Event or a status contains a secret. */
  async close(): Promise<void> {
    await this.#scan().catch(() => undefined) // The test may have ended the API server.
    try {
      await this.fleet.stop()
    } finally {
      await this.server.close()
    }
  }

  async #scan(): Promise<void> {
    const { items: secrets } = await this.ok<List<{ data?: Record<string, string> }>>('GET', '/api/v1/secrets')
    for (const { data = {} } of secrets)
      for (const value of Object.values(data))
        canaries.add('the value of a Secret', Buffer.from(value, 'base64').toString('utf8'))
    canaries.scan('a Kubernetes Event', JSON.stringify(await this.ok('GET', '/api/v1/events')))
    const { items: resources } = await this.ok<List<Resource>>('GET', '/apis/muster.dev/v1alpha1/fleetworkers')
    canaries.scan('the status of a FleetWorker', JSON.stringify(resources.map(({ status }) => status)))
  }
}
