/**
 * Checks that no lease is lost on its way from a master to a worker.
 *
 *   V1  in a calm fleet each lease is in a response to its worker within 2 s, or its task is released  (G3)
 *
 * A fleet is calm after its faults, and in a run whose faults hinder neither masters nor the store.
 */
import type { LeaseRef, ReserveRequest, ReserveResult, StorageCall } from '../../../src/storage/index.ts'
import type { Fault } from '../plan.ts'
import type { Served } from '../pool.ts'
import { Calm } from './calm.ts'
import type { CheckDeps, CreateCheck, InvariantCheck } from './invariant.ts'

interface Leased {
  readonly worker: string
  readonly task: string
  readonly atMs: number
}

/** Whether a fault hinders neither masters nor the store. */
const isHarmless = (fault: Fault): boolean =>
  fault.kind === 'burst' || fault.kind === 'patch' || (fault.kind === 'drain' && fault.ownerPausedMs === 0)
const SENT_WITHIN_MS = 2_000
/** After faults end, lost calls of workers and masters have ended within this time. */
const SETTLED_MS = 45_000

class DeliveryCheck implements InvariantCheck {
  readonly #deps: CheckDeps
  readonly #calm: Calm
  readonly #isUnhindered: boolean
  /** Leases that are in no response yet, by token and type. */
  readonly #unsent = new Map<string, Leased>()

  constructor(deps: CheckDeps) {
    this.#deps = deps
    this.#calm = new Calm(deps)
    const { faults, network } = deps.plan
    this.#isUnhindered = faults.every(isHarmless) && network.lost + network.unanswered + network.late === 0
  }

  executed({ group, method, args }: StorageCall, result: unknown): void {
    if (group !== 'tasks') return
    const type = args[0] as string
    if (method === 'reserve') this.#reserved(type, args[2] as readonly ReserveRequest[], result as ReserveResult)
    if (method === 'release')
      for (const { token } of args[1] as readonly LeaseRef[])
        if (this.#unsent.delete(`${type} ${token}`)) this.#deps.count('lease without a recipient released')
  }

  storeLost(): void {
    this.#unsent.clear()
  }

  served({ path, status, text }: Served): void {
    const [, type = ''] = /\/automations\/([^/]+)\/workers\/[^/]+\/rpc$/.exec(path) ?? []
    if (type === '' || status !== 200) return
    for (const [, token] of text.matchAll(/"token":(\d+)/g)) this.#unsent.delete(`${type} ${token}`)
  }

  faultsEnded(): void {
    this.#calm.faultsEnded()
  }

  injected(fault: Fault): void {
    this.#calm.injected(fault)
  }

  second(): void {
    const nowMs = this.#deps.time.monotonicMs()
    for (const [key, { worker, task, atMs }] of this.#unsent) {
      if (nowMs - atMs < SENT_WITHIN_MS) continue
      this.#unsent.delete(key)
      if (this.#isUnhindered || this.#calm.forMs - (nowMs - atMs) > SETTLED_MS)
        this.#deps.fail('V1', `task ${task} was leased to ${worker}, which got no response, and was not released`)
    }
  }

  #reserved(type: string, requests: readonly ReserveRequest[], { results }: ReserveResult): void {
    const atMs = this.#deps.time.monotonicMs()
    for (const [at, one] of results.entries())
      for (const { id, token } of one.kind === 'leased' ? one.leases : [])
        this.#unsent.set(`${type} ${token}`, { worker: requests[at]?.worker ?? '', task: id, atMs })
  }
}

export const checkDeliveries: CreateCheck = (deps) => new DeliveryCheck(deps)
