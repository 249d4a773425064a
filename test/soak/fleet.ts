/** The processes of a soak: store, masters, operators at a fake API server, and hosts of many workers. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { eventually } from '../kit/eventually.ts'
import { freePort } from '../kit/free-port.ts'
import { EVENTS, FakeApiServer, LEASES } from '../operator/fake-apiserver.ts'
import { FLEET_WORKERS, kubeconfigOf } from '../operator/fake-fleet.ts'
import { SoakProcess } from './process.ts'
import { RedisStore, SqliteStore, type SoakStore } from './store-process.ts'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))
const SOURCE = { command: join(ROOT, 'src/cmd/muster.ts'), api: join(ROOT, 'src/automation/public.ts') }
const BUILD = { command: join(ROOT, 'dist/cmd/muster.js'), api: join(ROOT, 'dist/automation/public.js') }
const APPLY_CONTROL = join(ROOT, 'test/controls/apply.ts')
const HERE = fileURLToPath(new URL('.', import.meta.url))
const NAMESPACE = 'soak'
export const ADMIN_TOKEN = 'admin-token-of-the-soak'
const WORKER_TOKEN = 'worker-token-of-the-soak'
/** A busy machine takes minutes to start a process. */
const READY_MS = 600_000
const TYPES = ['job', 'beat'] as const

export interface FleetOptions {
  readonly store: 'redis' | 'sqlite'
  readonly workers: number
  readonly outputsPerSecond: number
  readonly folder: string
  /** The file of a control: the masters run the source with its defect. Otherwise the build in dist/ runs. */
  readonly control?: string | undefined
  readonly onRecord: (host: string, line: string) => void
  readonly onHostEnd: (host: string) => void
}

export class SoakFleet {
  readonly store: SoakStore
  readonly api: FakeApiServer
  readonly masters: SoakProcess[] = []
  readonly operators: SoakProcess[] = []
  readonly hosts: SoakProcess[] = []
  readonly urls: string[] = []
  readonly #operatorUrls = new Map<SoakProcess, string>()
  readonly #options: FleetOptions
  readonly #perType: number

  private constructor(options: FleetOptions, store: SoakStore) {
    this.#options = options
    this.store = store
    this.api = new FakeApiServer([FLEET_WORKERS, LEASES, EVENTS])
    this.#perType = Math.max(1, Math.floor(options.workers / 2 / TYPES.length))
  }

  static async start(options: FleetOptions): Promise<SoakFleet> {
    const { folder } = options
    const store = options.store === 'redis' ? await RedisStore.create(folder) : new SqliteStore(folder)
    const fleet = new SoakFleet(options, store)
    await store.start()
    await fleet.api.start()
    try {
      for (let n = 0; n < store.masters; n += 1) await fleet.#addMaster(n)
      for (const n of [0, 1]) await fleet.#addOperator(n)
      for (const n of [0, 1]) await fleet.#addHost(n)
    } catch (error) {
      await fleet.stop()
      throw error
    }
    fleet.#createResources()
    return fleet
  }

  get all(): readonly SoakProcess[] {
    return [...this.masters, ...this.operators, ...this.hosts]
  }

  /** Type and id of every worker. */
  get workers(): readonly { readonly type: (typeof TYPES)[number]; readonly id: string }[] {
    return this.hosts.flatMap(({ name }) =>
      TYPES.flatMap((type) => Array.from({ length: this.#perType }, (_, n) => ({ type, id: `${name}-${n}` }))),
    )
  }

  /** The id of a worker of type `job` that runs nothing, because it has no FleetWorker. */
  get spareWorker(): string {
    return `host-0-${this.#perType}`
  }

  /** The operator whose metrics say that it leads. */
  async leader(): Promise<SoakProcess | undefined> {
    for (const operator of this.operators) {
      const response = await fetch(`${this.#operatorUrls.get(operator)}/metrics`).catch(() => null)
      if (/^leader_election_master_status\{[^}]*\} 1$/m.test((await response?.text()) ?? '')) return operator
    }
    return undefined
  }

  /** The holder in the Lease of the operators. */
  leaseHolder(): string {
    const holder = this.api.store.list(LEASES, NAMESPACE)[0]?.spec?.['holderIdentity']
    return typeof holder === 'string' ? holder : ''
  }

  /** Changes the spec of the FleetWorker of a worker. */
  mark(type: string, id: string, mark: number): void {
    this.api.store.patch(
      { kind: FLEET_WORKERS, namespace: NAMESPACE, name: `${type}-${id}` },
      '',
      'application/merge-patch+json',
      { spec: { config: { mark } } },
      'soak',
      false,
    )
  }

  async stop(): Promise<void> {
    await Promise.all(this.all.map((each) => each.stop('SIGKILL')))
    await this.store.close()
    await this.api.close()
  }

  get #automations(): Readonly<Record<string, string>> {
    return { SVC_AUTOMATIONS: join(HERE, 'automations.mjs') }
  }

  async #addMaster(n: number): Promise<void> {
    const { control, folder } = this.#options
    const { command, api } = control === undefined ? BUILD : SOURCE
    const port = await freePort()
    const url = `http://127.0.0.1:${port}`
    const master = new SoakProcess({
      name: `master-${n}`,
      imports: control === undefined ? [] : [APPLY_CONTROL],
      args: [command, 'master'],
      folder,
      env: {
        SVC_LISTEN: `127.0.0.1:${port}`,
        SVC_BACKEND_URL: this.store.url,
        SVC_ADMIN_TOKEN: ADMIN_TOKEN,
        SVC_WORKER_TOKEN: WORKER_TOKEN,
        SVC_IDEMPOTENCY_TTL_SECONDS: '60',
        SVC_AUDIT: 'none',
        SVC_LOG_LEVEL: 'warn',
        SOAK_AUTOMATION_API: api,
        ...(control !== undefined && { CONTROL: control }),
        ...this.#automations,
      },
      ready: () => isReady(`${url}/readyz`),
    })
    this.masters.push(master)
    this.urls.push(url)
    await master.start()
  }

  async #addOperator(n: number): Promise<void> {
    const { folder } = this.#options
    const kubeconfig = join(folder, 'kubeconfig.json')
    writeFileSync(kubeconfig, kubeconfigOf(this.api.url, NAMESPACE))
    const port = await freePort()
    const operator = new SoakProcess({
      name: `operator-${n}`,
      args: [BUILD.command, 'operator'],
      folder,
      env: {
        KUBECONFIG: kubeconfig,
        SVC_MASTER_URL: this.urls.at(n % this.urls.length) ?? '',
        SVC_API_TOKEN: ADMIN_TOKEN,
        SVC_TENANTS: '{"*": {"types": ["*"], "workers": ["*"]}}',
        SVC_METRICS_LISTEN: `127.0.0.1:${port}`,
        SVC_LOG_LEVEL: 'warn',
      },
      ready: () => isReady(`http://127.0.0.1:${port}/readyz`),
    })
    this.operators.push(operator)
    this.#operatorUrls.set(operator, `http://127.0.0.1:${port}`)
    await operator.start()
  }

  async #addHost(n: number): Promise<void> {
    const { folder, onRecord, onHostEnd } = this.#options
    const name = `host-${n}`
    const host = new SoakProcess({
      name,
      args: [join(HERE, 'workers.ts')],
      folder,
      env: {
        SOAK_HOST: name,
        SOAK_COUNTS: JSON.stringify({ job: this.#perType + (n === 0 ? 1 : 0), beat: this.#perType }),
        SOAK_AUTOMATION_API: SOURCE.api,
        SVC_MASTER_URL: this.urls.at(n % this.urls.length) ?? '',
        SVC_WORKER_TOKEN: WORKER_TOKEN,
        ...this.#automations,
      },
      onRecord: (line) => onRecord(name, line),
      onEnd: () => onHostEnd(name),
    })
    this.hosts.push(host)
    await host.start()
  }

  #createResources(): void {
    const everyMs = Math.round((1_000 * this.#perType * this.hosts.length) / this.#options.outputsPerSecond)
    for (const { type, id } of this.workers)
      this.api.store.create(
        { kind: FLEET_WORKERS, namespace: NAMESPACE },
        {
          metadata: { name: `${type}-${id}` },
          spec: {
            type,
            workerId: id,
            slots: 1,
            config: { enabled: true, mark: 0, ...(type === 'beat' && { every_ms: everyMs }) },
            managementPolicy: 'Enforce',
            deletionPolicy: 'Retain',
          },
        },
        'soak',
      )
  }
}

const isReady = (url: string): Promise<void> =>
  eventually(`${url} responds with 200`, async () => (await fetch(url).catch(() => null))?.status === 200, {
    withinMs: READY_MS,
  })
