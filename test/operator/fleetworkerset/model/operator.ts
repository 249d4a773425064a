/**
 * One operator of the model: the real reconcile of sets, over the world. Every call may be the last one of the process,
 * before or after it took effect, or lose its response.
 */
import type { BulkChange, CallRefusal, CallResult, WorkerRow } from '../../../../src/operator/fleet/index.ts'
import { KubeError, WritableCache, type ObjectRef } from '../../../../src/operator/kube/index.ts'
import {
  reconcileSet,
  SET_INDICES,
  SetMemory,
  type FleetWorkerSetObject,
  type FleetWorkerSetStatus,
  type SetDeps,
} from '../../../../src/operator/fleetworkerset/index.ts'
import type { FleetWorkerObject } from '../../../../src/operator/fleetworker/index.ts'
import { seededRandom } from '../../../../src/runtime/index.ts'
import { recordingLog } from '../../../kit/index.ts'
import { NAME, NAMESPACE, type World } from './world.ts'

/** The process has ended. */
class Crash extends Error {}

const LOST: CallRefusal = { kind: 'unavailable', effect: 'unknown', message: 'no response' }
interface JsonPatch {
  readonly op: string
  readonly value: number
}
interface ScalePatch {
  readonly metadata?: { readonly resourceVersion?: string }
  readonly spec?: { readonly replicas?: number }
}

/** @param isDone `undefined`: the response is lost; `false`: another client was first. */
function answered(isDone: boolean | undefined): unknown {
  if (isDone === undefined) throw new KubeError(0, 'NoResponse', 'no response')
  if (!isDone) throw new KubeError(409, 'Conflict', 'the object has been modified')
  return {}
}

const ANY = { permits: () => true, permitsAll: () => true }

export class OperatorModel {
  readonly #world: World
  readonly #cache = new WritableCache<FleetWorkerSetObject>(SET_INDICES)
  readonly #memory = new SetMemory(seededRandom(1))
  readonly #deps: SetDeps
  #rows: readonly WorkerRow[] = []
  #pending: FleetWorkerSetStatus | undefined
  /** After so many calls the process ends; before the call takes effect, or after. */
  #callsLeft = Infinity
  #isAfter = false
  /** Probability that a response is lost. */
  loss = 0

  constructor(world: World) {
    this.#world = world
    this.#deps = this.#createDeps()
    this.sync()
  }

  /** Receives what the watches report. */
  sync(): void {
    this.#rows = this.#world.rows()
    this.#cache.offer(this.#world.set)
  }

  crashAfter(calls: number, isAfter: boolean): void {
    this.#callsLeft = calls
    this.#isAfter = isAfter
  }

  /** @returns whether the process still runs. */
  async reconcile(): Promise<boolean> {
    try {
      await reconcileSet(`${NAMESPACE}/${NAME}`, this.#deps, new AbortController().signal)
      await this.#flush()
      return true
    } catch (error) {
      if (error instanceof Crash) return false
      throw error
    }
  }

  /** A call with an effect. */
  async #call<T>(effect: () => T): Promise<T | undefined> {
    this.#callsLeft -= 1
    if (this.#callsLeft < 0 && !this.#isAfter) throw new Crash()
    const result = effect()
    if (this.#callsLeft < 0) throw new Crash()
    return this.#world.random.unit() < this.loss ? undefined : result
  }

  async #answer<T>(effect: () => T): Promise<CallResult<T>> {
    const value = await this.#call(() => ({ value: effect() }))
    return value === undefined ? LOST : { kind: 'ok', value: value.value, epoch: this.#world.epoch }
  }

  async #flush(): Promise<boolean> {
    const status = this.#pending
    const known = this.#cache.get(`${NAMESPACE}/${NAME}`)
    if (status === undefined || known === undefined) return true
    const isWritten = await this.#call(() => this.#world.writeStatus(known.metadata.resourceVersion, status))
    if (isWritten !== true) return false
    this.#pending = undefined
    this.#cache.offer(this.#world.set)
    return true
  }

  async #apply(change: BulkChange): Promise<CallResult<never>> {
    const response = await this.#answer(() => this.#world.apply(change))
    if (response.kind !== 'ok') {
      const ids = new Set(change.items.map(({ workerId }) => workerId))
      this.#rows = this.#rows.map((row) => (ids.has(row.record.worker_id) ? { ...row, isStale: true } : row))
      return response
    }
    if (response.value === undefined) return { kind: 'not_registered' }
    const written = new Map(response.value.map((each) => [each.worker_id, each]))
    const now = new Map(this.#world.rows().map((row) => [row.record.worker_id, row]))
    this.#rows = this.#rows.map((row) => {
      const id = row.record.worker_id
      const result = written.get(id)
      if (result === undefined) return row
      return 'error' in result ? { ...row, isStale: true } : (now.get(id) ?? row)
    })
    return response as CallResult<never>
  }

  #createDeps(): SetDeps {
    const world = this.#world
    const clock = { monotonicMs: () => world.nowMs, wallMs: () => world.nowMs }
    const done = async (): Promise<CallResult<never>> => ({ kind: 'ok', value: undefined as never, epoch: world.epoch })
    return {
      cache: this.#cache,
      workers: new WritableCache<FleetWorkerObject>({ target: () => [], claim: () => [] }),
      table: {
        rows: () => this.#rows,
        reach: () => 'in_reach',
        catalog: () => ({ kind: 'BatchAutomation', schema: {}, secrets: [], hash: 'h' }),
        masterNowMs: () => world.nowMs,
        unavailableMs: 0,
      },
      revisions: {
        put: async (_type, revision, { config }) =>
          this.#answer(() => void (world.revisions.has(revision) || world.revisions.set(revision, config))),
        apply: async (_type, change) => this.#apply(change),
        list: async () => this.#answer(() => []),
      },
      rules: {
        put: async (_type, _name, { revision, variant }) =>
          world.revisions.has(revision)
            ? this.#answer(() => void (world.rule = { revision, variant: variant ?? '-' }))
            : { kind: 'not_registered' },
        remove: async () => this.#answer(() => void (world.rule = undefined)),
        list: async () => ({ kind: 'ok', value: [], epoch: world.epoch }),
      },
      reports: { offer: () => {} },
      master: {
        get: done,
        history: done,
        patch: done,
        claim: done,
        release: done,
        releaseOrphaned: done,
        drain: done,
        forget: done,
      },
      sources: { read: async () => ({ kind: 'read', sources: new Map(), unread: new Set() }) },
      transport: {
        json: async ({ method, path, body }) =>
          ({ status: 200, body: await this.#request(method, path, body) }) as never,
        lines: () => {
          throw new Error('sets do not watch here')
        },
      },
      status: {
        put: (_target, status) => void (this.#pending = status),
        last: () => this.#pending,
        flushNow: async () => this.#flush(),
        flush: async () => {},
      },
      events: { record: () => {} },
      leadership: { mayWrite: () => true, confirm: async () => true },
      memory: this.#memory,
      wasDeletedHere: () => false,
      watches: () => true,
      scope: () => ANY,
      clock,
      timers: { after: (_ms, task) => (queueMicrotask(task), () => {}) },
      log: recordingLog(),
    }
  }

  /** I7: of the API server the operator changes statuses, the history and the workload; of a spec the first number. */
  async #request(method: string, path: string, body: unknown): Promise<unknown> {
    if (path.includes('/controllerrevisions')) return this.#controllerRevision(method, path, body)
    const isWorkload = /\/statefulsets\/[^/]+(\/scale)?$/.test(path)
    if (isWorkload && method === 'GET') return { spec: { replicas: this.#world.workloadReplicas } }
    if (isWorkload && path.endsWith('/scale')) return this.#scaleWorkload(body as readonly JsonPatch[])
    if (method === 'PATCH' && path.endsWith(`/fleetworkersets/${NAME}/scale`)) return this.#firstReplicas(body as never)
    return this.#world.fail(`I7: ${method} ${path}`)
  }

  async #scaleWorkload(patch: readonly JsonPatch[]): Promise<unknown> {
    const world = this.#world
    const isDone = await this.#call(() => {
      const isCurrent = patch.every(({ op, value }) => op !== 'test' || value === world.workloadReplicas)
      if (isCurrent) world.workloadReplicas = patch.find(({ op }) => op === 'add')?.value ?? 0
      return isCurrent
    })
    return answered(isDone)
  }

  async #firstReplicas({ metadata, spec }: ScalePatch): Promise<unknown> {
    return answered(
      await this.#call(() => this.#world.setFirstReplicas(metadata?.resourceVersion, spec?.replicas ?? -1)),
    )
  }

  #controllerRevision(method: string, path: string, body: unknown): unknown {
    const world = this.#world
    const name = path.split('/controllerrevisions')[1]?.slice(1) ?? ''
    if (method === 'POST') {
      const { metadata, ...rest } = body as { metadata: ObjectRef }
      world.history.set(metadata.name, { metadata, ...rest } as never)
      return body
    }
    if (method === 'DELETE') return void world.history.delete(name)
    if (name === '') return { items: [...world.history.values()] }
    const found = world.history.get(name)
    if (found === undefined) throw new KubeError(404, 'NotFound', 'no such object')
    return found
  }
}
