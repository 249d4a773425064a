/** A release with two workers of the type `echo` and their FleetWorkers, and what an upgrade of it must not change. */
import { expect } from '@jest/globals'
import { eventually } from '../../kit/index.ts'
import type { EchoTask } from '../load.ts'
import { Release } from '../release.ts'

const TYPE = 'echo'
const VALUES = [
  '--values=test/cluster/upgrade/values.yaml',
  '--set-file=automations.inline.echo\\.mjs=test/cluster/automations/echo.mjs',
]
const COMPONENTS = ['master', 'operator', 'worker']
const RUN_WITHIN_MS = 120_000

interface WorkerRecord {
  readonly worker_id: string
  readonly connected: boolean
  readonly state: string
  readonly config: Readonly<Record<string, unknown>>
  readonly config_gen: number
  readonly applied_config_gen: number | null
}
interface FleetWorker {
  readonly metadata: { readonly name: string; readonly uid: string; readonly generation: number }
  readonly spec: object
  readonly status?: {
    readonly observedGeneration?: number
    readonly conditions?: readonly { readonly type: string; readonly status: string }[]
  }
}
interface Items<T> {
  readonly items: readonly T[]
}
interface PodImages {
  readonly spec: { readonly containers: readonly { readonly image: string }[] }
}
interface Secret {
  readonly metadata: { readonly name: string; readonly uid: string }
  readonly type: string
  readonly data: object
}

export class EchoRelease extends Release {
  readonly workers = ['muster-echo-0', 'muster-echo-1']
  /** Number of tasks that were acknowledged in any step. */
  #submitted = 0

  install(chart: string, ...more: readonly string[]): Promise<void> {
    return this.helm('install', chart, [...VALUES, ...more])
  }

  /** Upgrades with the values of the release, as charts/muster/README.md says. */
  upgrade(chart: string, ...more: readonly string[]): Promise<void> {
    return this.helm('upgrade', chart, ['--reset-then-reuse-values', ...more])
  }

  applyFleetWorkers(note = 'first'): Promise<void> {
    const items = this.workers.map((name) => ({
      apiVersion: 'muster.dev/v1alpha1',
      kind: 'FleetWorker',
      metadata: { name },
      spec: { type: TYPE, config: { enabled: true, slots: 4, note } },
    }))
    return this.place.apply({ apiVersion: 'v1', kind: 'List', items })
  }

  async patch(name: string, note: string): Promise<void> {
    const patch = JSON.stringify({ spec: { config: { note } } })
    await this.place.kubectl('patch', 'fleetworker', name, '--type=merge', `--patch=${patch}`)
  }

  /** Applies a set for all workers of the type. */
  applySet(name: string, note: string): Promise<void> {
    return this.place.apply({
      apiVersion: 'muster.dev/v1alpha1',
      kind: 'FleetWorkerSet',
      metadata: { name },
      spec: { type: TYPE, selector: { idPatterns: ['muster-echo-*'] }, config: { enabled: true, slots: 4, note } },
    })
  }

  /** `status.workers` of a set. */
  async set(name: string): Promise<{ readonly pinned?: number }> {
    const found = await this.#get<{ status?: { workers?: { pinned?: number } } }>('fleetworkerset', name)
    return found.status?.workers ?? {}
  }

  worker(id: string): Promise<WorkerRecord> {
    return this.ok('GET', `/automations/${TYPE}/workers/${id}`)
  }

  /** Whether each FleetWorker is Ready for its spec, and each worker is connected and runs with its config. */
  async areReady(): Promise<boolean> {
    const { items } = await this.#get<Items<FleetWorker>>('fleetworkers')
    const workers = await Promise.all(this.workers.map((id) => this.worker(id))).catch(() => [])
    return (
      items.length === this.workers.length &&
      items.every(
        ({ metadata, status }) =>
          status?.observedGeneration === metadata.generation &&
          status.conditions?.some(({ type, status: is }) => type === 'Ready' && is === 'True'),
      ) &&
      workers.length === this.workers.length &&
      workers.every((each) => each.connected && each.state === 'RUNNING' && each.applied_config_gen === each.config_gen)
    )
  }

  /** Objects, configs and Secrets that outlive an upgrade, with what shows that they were not created again. */
  async kept(): Promise<object> {
    const { items } = await this.#get<Items<FleetWorker>>('fleetworkers')
    const secrets = await this.#get<Items<Secret>>('secrets')
    const workers = await Promise.all(this.workers.map((id) => this.worker(id)))
    return {
      fleetWorkers: items.map(({ metadata: { name, uid, generation }, spec }) => ({ name, uid, generation, spec })),
      configs: workers.map(({ worker_id, config, config_gen }) => ({ worker_id, config, config_gen })),
      secrets: secrets.items
        .filter(({ metadata: { name } }) => ['muster-tokens', 'muster-redis'].includes(name))
        .map(({ metadata: { name, uid }, data }) => ({ name, uid, data })),
    }
  }

  /** Waits until all pods that run Muster have this image, and no others are left. */
  async runs(image: string): Promise<void> {
    const selector = `--selector=app.kubernetes.io/component in (${COMPONENTS.join(',')})`
    let images: readonly string[] = []
    const areAll = async (): Promise<boolean> => {
      const { items } = await this.#get<Items<PodImages>>('pods', selector)
      images = items.flatMap(({ spec }) => spec.containers.map((container) => container.image))
      return images.length > COMPONENTS.length && images.every((each) => each === image)
    }
    await eventually(`all pods run ${image}`, areAll, { withinMs: 60_000, context: () => images.join(', ') })
  }

  /** The definitions of Muster in the cluster. */
  async kinds(): Promise<readonly string[]> {
    const names = await this.place.kubectl('get', 'customresourcedefinitions', '--output=name')
    return names
      .trim()
      .split('\n')
      .map((name) => name.replace(/^.*\//, ''))
      .filter((name) => name.endsWith('.muster.dev'))
  }

  async submit(task: EchoTask): Promise<boolean> {
    await this.ok('POST', `/automations/${TYPE}/tasks`, task)
    return true
  }

  /** Expects that every submitted task was run to its end, each of these among them. */
  async expectRun(ids: readonly string[]): Promise<void> {
    const left = [...ids]
    const isEmpty = async (): Promise<boolean> => {
      while (left.length > 0 && (await this.isGone(left.at(-1) ?? ''))) left.pop()
      const { submitted, acked } = await this.totals(TYPE)
      return left.length === 0 && submitted === acked
    }
    await eventually('every task was run', isEmpty, {
      withinMs: RUN_WITHIN_MS,
      context: () =>
        `${left.length} of ${ids.length} acknowledged tasks were not looked for, or are left: ${left.at(-1)}`,
    })
    const { acked, died } = await this.totals(TYPE)
    this.#submitted += ids.length
    expect(acked).toBeGreaterThanOrEqual(this.#submitted) // A submit without a response may have arrived.
    expect([died, await this.dead(TYPE)]).toEqual([0, 0])
  }

  /** Whether the queue no longer has this task. */
  async isGone(id: string): Promise<boolean> {
    const response = await this.call('GET', `/automations/${TYPE}/tasks/${id}`)
    return response.status === 404
  }

  async #get<T>(...what: readonly string[]): Promise<T> {
    return JSON.parse(await this.place.kubectl('get', ...what, '--output=json')) as T
  }
}
