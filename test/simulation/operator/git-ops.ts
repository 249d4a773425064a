/**
 * Runs the users of a simulated cluster, as kubectl and GitOps do: they create, edit, delete and create again the
 * FleetWorkers of the declared workers, add and remove a rival for the same worker, and rotate a Secret. Each spec has
 * a revision of its own, which rises. When faults end, each worker gets a last spec.
 */
import { CONSENT_ANNOTATION } from '../../../src/operator/fleetworker/index.ts'
import { CONFIG_MAPS, FLEETWORKERS, SECRETS } from '../../operator/fleetworker/kinds.ts'
import type { FakeKind } from '../../operator/fake-store.ts'
import type { Environment, StartActor } from '../environment.ts'
import type { SimProcess } from '../process.ts'
import { NAMESPACE, type SimApiServer } from './api-server.ts'

const KEYS = 'keys'
const MANAGER = 'kubectl'
const EVERY_MS = 3_000
const MAX_SLOTS = 4

const rivalOf = (worker: string): string => `${worker}-rival`

export const startGitOps: StartActor = (environment) => {
  const { api, plan, time } = environment
  if (api === null) return
  const users = new GitOps(environment, api, environment.createProcess('git-ops'))
  users.rotate()
  users.work()
  time.after(plan.faultsMs, () => users.finish())
}

class GitOps {
  readonly #environment: Environment
  readonly #api: SimApiServer
  readonly #process: SimProcess
  #revision = 0
  #isOver = false

  constructor(environment: Environment, api: SimApiServer, process: SimProcess) {
    this.#environment = environment
    this.#api = api
    this.#process = process
  }

  /** Does one thing about every three seconds. */
  work(): void {
    this.#process.after(-Math.log(1 - this.#process.random.unit()) * EVERY_MS, () => {
      if (this.#isOver) return
      this.#act()
      this.work()
    })
  }

  /** Declares every worker once more, and removes rivals. */
  finish(): void {
    this.#isOver = true
    for (const worker of this.#declared) {
      this.#remove(rivalOf(worker))
      const object = this.#find(worker)
      // A later watch of a deleted object would be another situation: it is created again when it is gone.
      if (object?.metadata.deletionTimestamp !== undefined) this.#createWhenGone(worker)
      else if (object === undefined) this.#create(worker)
      else this.#edit(worker)
    }
    this.#put(CONFIG_MAPS, 'unrelated', {}) // Without a newer version, no watch would find that it is too old.
  }

  /** Gives the Secret a new value. */
  rotate(): void {
    const value = Buffer.from(this.#environment.canaries.create('api-key')).toString('base64')
    this.#put(SECRETS, KEYS, { api: value })
  }

  get #declared(): readonly string[] {
    return Array.from({ length: this.#environment.plan.declared }, (_, at) => `worker-${at}`)
  }

  #act(): void {
    const draw = this.#process.random.unit()
    const worker = this.#declared[Math.floor(this.#process.random.unit() * this.#declared.length)]
    if (worker === undefined) return
    const isThere = this.#find(worker) !== undefined
    if (draw < 0.1) this.rotate()
    else if (draw < 0.2) this.#toggleRival(worker)
    else if (!isThere) this.#create(worker)
    else if (draw < 0.7) this.#edit(worker)
    else this.#remove(worker)
    if (draw > 0.85 && this.#find(worker) === undefined) this.#create(worker)
  }

  #toggleRival(worker: string): void {
    const name = rivalOf(worker)
    if (this.#find(name) === undefined) this.#create(worker, name)
    else this.#remove(name)
  }

  #createWhenGone(worker: string): void {
    if (this.#find(worker) === undefined) return this.#create(worker)
    this.#process.after(1_000, () => this.#createWhenGone(worker))
  }

  #spec(worker: string): Record<string, unknown> {
    const { plan } = this.#environment
    this.#revision += 1
    return {
      type: plan.workers[Number(worker.slice('worker-'.length))],
      workerId: worker,
      config: { enabled: true, revision: this.#revision },
      configFrom: [{ field: 'api_key', secretKeyRef: { name: KEYS, key: 'api' } }],
      slots: 1 + Math.floor(this.#process.random.unit() * MAX_SLOTS),
      deletionPolicy: this.#process.random.unit() < 0.3 ? 'Reset' : 'Retain',
    }
  }

  #create(worker: string, name = worker): void {
    this.#note('creates', name)
    const body = { metadata: { name }, spec: this.#spec(worker) }
    this.#api.store.create({ kind: FLEETWORKERS, namespace: NAMESPACE }, body, MANAGER)
  }

  #edit(worker: string): void {
    if (this.#find(worker)?.metadata.deletionTimestamp !== undefined) return
    this.#note('edits', worker)
    const where = { kind: FLEETWORKERS, namespace: NAMESPACE, name: worker }
    this.#api.store.patch(where, '', 'application/merge-patch+json', { spec: this.#spec(worker) }, MANAGER, false)
  }

  #remove(name: string): void {
    if (this.#find(name) === undefined) return
    this.#note('deletes', name)
    this.#api.store.delete({ kind: FLEETWORKERS, namespace: NAMESPACE, name }, undefined)
  }

  #put(kind: FakeKind, name: string, data: object): void {
    this.#note('writes', `${kind.kind} ${name}`)
    const { store } = this.#api
    if (store.list(kind, NAMESPACE).some(({ metadata }) => metadata.name === name))
      store.patch({ kind, namespace: NAMESPACE, name }, '', 'application/merge-patch+json', { data }, MANAGER, false)
    else {
      const metadata = { name, annotations: { [CONSENT_ANNOTATION]: '*' } }
      store.create({ kind, namespace: NAMESPACE }, { metadata, data }, MANAGER)
    }
  }

  #find(name: string) {
    return this.#api.store.list(FLEETWORKERS, NAMESPACE).find(({ metadata }) => metadata.name === name)
  }

  #note(act: string, what: string): void {
    this.#environment.note('git-ops', `${act} ${what}`)
  }
}
