/**
 * A FleetWorkerSet with a stage of one worker that waits for an approval, on a real API server, with its workers. Its
 * configs differ in `interval_seconds`.
 */
import type { Proc } from '../e2e/fleet.ts'
import { applySet } from './apply-set.ts'
import type { Cluster } from './cluster.ts'

const PROBE = { enabled: true, targets: [{ name: 'self', url: 'http://127.0.0.1:1/' }] }
/** The intervals of the config before the edit, and of the edit. */
export const BEFORE = 60
export const AFTER = 45

let sets = 0

export class StagedSet {
  readonly name: string
  readonly ids: readonly string[]
  readonly procs = new Map<string, Proc>()
  readonly #cluster: Cluster

  private constructor(cluster: Cluster, name: string, count: number) {
    this.#cluster = cluster
    this.name = name
    this.ids = Array.from({ length: count }, (_, index) => `${name}-${index}`)
  }

  /** A set with a name of its own, whose workers run the config before the edit. */
  static async started(cluster: Cluster, count: number): Promise<StagedSet> {
    const set = new StagedSet(cluster, `set${sets}`, count)
    sets += 1
    await set.#start()
    return set
  }

  /** Starts the workers, and gives all of them the config before the edit. */
  async #start(): Promise<void> {
    for (const id of this.ids) this.procs.set(id, await this.#cluster.startWorker(id))
    await this.apply(BEFORE)
    await this.wait(`jsonpath={.status.workers.acknowledged}=${this.ids.length}`)
    await this.wait('condition=Ready')
  }

  /** Edits the config, so that one worker is updated and the rollout waits for an approval. */
  async begin(): Promise<void> {
    await this.apply(AFTER)
    await this.wait('jsonpath={.status.rollout.phase}=WaitingForApproval')
  }

  apply(interval: number, ...options: readonly string[]): Promise<string> {
    const spec = {
      config: { ...PROBE, interval_seconds: interval },
      rollout: { stages: [{ workers: 1, bakeSeconds: 0, approval: 'Manual' }] },
    }
    return applySet(this.#cluster, this.name, spec, ...options)
  }

  annotate(act: 'promote' | 'abort' | 'retry', value: string): Promise<string> {
    const annotation = `muster.dev/${act}=${value}`
    return this.#cluster.kubectl('annotate', '-n', 'team-a', '--overwrite', `fws/${this.name}`, annotation)
  }

  /** Continues after the first stage. */
  async promote(): Promise<void> {
    await this.annotate('promote', `${await this.get('.status.updateRevision')}/1`)
  }

  wait(what: string): Promise<string> {
    const object = `fleetworkerset/${this.name}`
    return this.#cluster.kubectl('wait', '-n', 'team-a', object, `--for=${what}`, '--timeout=60s')
  }

  get(path: string): Promise<string> {
    return this.#cluster.kubectl('get', '-n', 'team-a', `fws/${this.name}`, '-o', `jsonpath={${path}}`)
  }

  ready(field: 'reason' | 'message' | 'lastTransitionTime'): Promise<string> {
    return this.get(`.status.conditions[?(@.type=="Ready")].${field}`)
  }

  becomes(reason: string, withinMs = 90_000): Promise<void> {
    const seen = async (): Promise<string> => this.get('.status')
    const isSo = async (): Promise<boolean> => (await this.ready('reason')) === reason
    return this.#cluster.until(`Ready of ${this.name} is ${reason}`, isSo, withinMs, seen)
  }

  /** The workers that have this config at the master. */
  async having(interval: number): Promise<readonly string[]> {
    const all = await Promise.all(
      this.ids.map(async (id) => (await this.#cluster.worker(id))?.config['interval_seconds']),
    )
    return this.ids.filter((_, index) => all[index] === interval)
  }

  updated(): Promise<readonly string[]> {
    return this.having(AFTER)
  }

  updatedBecome(count: number): Promise<void> {
    return this.#cluster.until(
      `${count} workers are updated`,
      async () => (await this.updated()).length === count,
      90_000,
    )
  }

  generations(): Promise<readonly unknown[]> {
    return Promise.all(this.ids.map(async (id) => (await this.#cluster.worker(id))?.config_gen))
  }
}
