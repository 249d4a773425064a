/**
 * Checks that an undisturbed fleet works, in the calm phase.
 *
 *   V1  a ready task is leased within 2 s if a worker of its type has a free slot            (G3, G25, G31)
 *   V2  no response names the store as unavailable later than 10 s after its return               (G18)
 *   V3  each worker has one socket and is connected within 61 s, and runs its stored config within 31 s, or within
 *       16 s if only a signal was lost                                                              (G6, G12, G26)
 */
import type { StorageCall, WorkerRow } from '../../../src/storage/index.ts'
import type { Fault } from '../plan.ts'
import type { Served } from '../pool.ts'
import { Calm } from './calm.ts'
import type { CheckDeps, CreateCheck, InvariantCheck, LogLine, PluginEvent } from './invariant.ts'

interface Applied {
  readonly gen: number
  readonly enabled: boolean
  readonly slots: number
}
interface WorkerState {
  life: number
  running: number
  applied: Applied
  /** Since when each condition has not been met; Infinity if it is. */
  unconnectedSinceMs: number
  connectedSinceMs: number
  staleSinceMs: number
  /** The stored generation at the last look. */
  storedGen: number
}

// Each with the second between two looks, and the delay of the network.
const LOOK_MS = 1_500
const START_MS = 2_000 + LOOK_MS
const SERVICE_MS = 10_000
const CONNECT_MS = 61_000 + LOOK_MS
const CONFIG_MS = 31_000 + LOOK_MS
const SIGNAL_LOST_MS = 16_000 + LOOK_MS
/** A worker whose reserve was lost waits for its response at most this long. */
const LOST_CALL_MS = 40_000
const DEFAULTS: Applied = { gen: 0, enabled: false, slots: 1 }

class LivenessCheck implements InvariantCheck {
  readonly #deps: CheckDeps
  readonly #calm: Calm
  readonly #workers = new Map<string, WorkerState>()
  /** Since when a type has had a ready task and a free slot without a lease. */
  readonly #unservedSinceMs = new Map<string, number>()
  #isReturning = false
  #faultsEndedMs = Infinity

  constructor(deps: CheckDeps) {
    this.#deps = deps
    this.#calm = new Calm(deps)
  }

  faultsEnded(): void {
    this.#calm.faultsEnded()
    this.#faultsEndedMs = this.#deps.time.monotonicMs()
  }

  injected(fault: Fault): void {
    this.#calm.injected(fault)
    if (fault.kind === 'store_unavailable') this.#isReturning = true
  }

  executed({ group, method, args }: StorageCall, result: unknown): void {
    if (group !== 'tasks' || method !== 'reserve') return
    const { results } = result as { results: readonly { kind: string; leases?: readonly unknown[] }[] }
    if (results.some(({ leases }) => leases !== undefined && leases.length > 0))
      this.#unservedSinceMs.delete(args[0] as string)
  }

  logged({ process, message, fields }: LogLine): void {
    if (message !== 'config applied') return
    const { config_gen: gen, enabled, slots } = fields
    const state = this.#stateOf(process)
    state.applied = { gen: Number(gen), enabled: enabled === true, slots: Number(slots) }
    // A newer config may be stored before the next look, and has a time of its own.
    if (state.applied.gen >= state.storedGen) state.staleSinceMs = Infinity
  }

  ran(event: PluginEvent): void {
    if (event.kind === 'task_started') this.#stateOf(event.worker).running += 1
    if (event.kind === 'task_ended') this.#stateOf(event.worker).running -= 1
  }

  served({ master, method, path, status, text }: Served): void {
    if (this.#calm.forMs < SERVICE_MS) return
    const isUnavailable = (status === 503 && text.includes('the store')) || text.includes('"code":-32003')
    if (isUnavailable) this.#deps.fail('V2', `${master.name} returned ${status} to ${method} ${path}: ${text}`)
  }

  async second(): Promise<void> {
    if (this.#calm.forMs < 0) return
    const free = new Set<string>()
    for (const [at, type] of this.#deps.plan.workers.entries()) {
      const id = `worker-${at}`
      const [row] = await this.#deps.backend().workers.get([{ type, id }])
      if (this.#look(id, row ?? null)) free.add(type)
    }
    for (const { type, kind } of this.#deps.catalog.values())
      if (kind === 'BatchAutomation') await this.#checkService(type, free.has(type))
    this.#isReturning = false
  }

  /** Checks one worker. @returns whether it has a free slot. */
  #look(id: string, row: WorkerRow | null): boolean {
    const state = this.#stateOf(id)
    const nowMs = this.#deps.time.monotonicMs()
    const isAlive = this.#deps.lifeOf(id) !== null
    const sockets = this.#deps.openSocketsOf(id)
    const isConnected = isAlive && row?.connected === true && sockets === 1
    state.unconnectedSinceMs =
      isConnected || !isAlive || row?.draining === true ? Infinity : Math.min(state.unconnectedSinceMs, nowMs)
    state.connectedSinceMs = isConnected ? Math.min(state.connectedSinceMs, nowMs) : Infinity
    this.#checkSince('connected with one socket', id, state.unconnectedSinceMs, CONNECT_MS, `it has ${sockets} sockets`)
    if (row === null || !isConnected || row.draining) {
      state.staleSinceMs = Infinity
      return false
    }
    state.storedGen = row.config.gen
    const { applied } = state
    const { enabled, slots } = JSON.parse(row.config.config) as Applied
    const isCurrent = applied.gen === row.config.gen && applied.enabled === enabled && applied.slots === slots
    state.staleSinceMs = isCurrent ? Infinity : Math.min(state.staleSinceMs, nowMs)
    // A connection that is silently dead, or a poll that was lost, is noticed only after a while.
    const isRecovered = nowMs - this.#faultsEndedMs > CONNECT_MS + SIGNAL_LOST_MS
    const isSignalLost = isRecovered && applied.gen < row.config.gen && state.connectedSinceMs + SIGNAL_LOST_MS < nowMs
    const boundMs = isSignalLost ? SIGNAL_LOST_MS : CONFIG_MS
    const why = `it runs generation ${applied.gen}, and ${row.config.gen} is stored`
    const staleSinceMs = Math.max(state.staleSinceMs, this.#faultsEndedMs + LOST_CALL_MS)
    this.#checkSince('running its stored config', id, staleSinceMs, boundMs, why)
    return isCurrent && enabled && state.running < slots
  }

  async #checkService(type: string, hasFreeSlot: boolean): Promise<void> {
    const [counts] = await this.#deps.backend().tasks.counts([type])
    const pending = counts?.tiers.reduce((sum, length) => sum + length, 0) ?? 0
    // Neither a pause nor the bounds of a group keep these from being leased.
    const ready = counts?.paused !== undefined || counts?.groups?.ready === 0 ? 0 : pending
    if (ready > 0 && this.#isReturning) this.#deps.count('store returned while tasks waited')
    if (ready === 0 || !hasFreeSlot) return void this.#unservedSinceMs.delete(type)
    const nowMs = this.#deps.time.monotonicMs()
    const sinceMs = this.#unservedSinceMs.get(type) ?? nowMs
    this.#unservedSinceMs.set(type, sinceMs)
    const isWaiting = nowMs - this.#faultsEndedMs > LOST_CALL_MS && this.#calm.forMs > SERVICE_MS
    if (isWaiting && nowMs - sinceMs > START_MS)
      this.#deps.fail(
        'V1',
        `${ready} tasks of ${type} are ready and a slot is free, but none was leased for ${nowMs - sinceMs} ms`,
      )
  }

  #checkSince(what: string, id: string, sinceMs: number, boundMs: number, why: string): void {
    const forMs = Math.min(this.#deps.time.monotonicMs() - sinceMs, this.#calm.forMs)
    if (forMs > boundMs) this.#deps.fail('V3', `${id} has not been ${what} for ${forMs} ms: ${why}`)
  }

  #stateOf(worker: string): WorkerState {
    const life = this.#deps.lifeOf(worker) ?? 0
    const known = this.#workers.get(worker)
    if (known !== undefined && known.life === life) return known
    const state = {
      life,
      running: 0,
      applied: DEFAULTS,
      unconnectedSinceMs: Infinity,
      connectedSinceMs: Infinity,
      staleSinceMs: Infinity,
      storedGen: Infinity,
    }
    this.#workers.set(worker, state)
    return state
  }
}

export const checkLiveness: CreateCheck = (deps) => new LivenessCheck(deps)
