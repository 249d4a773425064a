/** The clients of a soak: submit tasks, pop outputs, change FleetWorkers. What they see goes to the checkers. */
import { setTimeout as pause } from 'node:timers/promises'
import { MAX_EVENTS_BEHIND } from '../../src/protocol/index.ts'
import type { Call, LeaseOf } from '../kit/history.ts'
import { ADMIN_TOKEN, type SoakFleet } from './fleet.ts'
import { HistoryWindows } from './windows.ts'
import type { SoakLine } from './workers.ts'

const BATCH = 10
const TASKS_PER_WINDOW = 1_000
const REPEAT_EVERY = 20
const POP_EVERY_MS = 1_000
const POP_AT_MOST = 10_000
const TASK_MS = 20
/** The visibility timeout of `job`. */
const VISIBILITY_NS = 60e9
const REQUEST_MS = 20_000
/** A changed spec reaches its worker within this time after the last fault (G19), and so many successful looks. */
const APPLIED_WITHIN_MS = 60_000
const LOOK_EVERY_MS = 1_000
const LOOKS = APPLIED_WITHIN_MS / LOOK_EVERY_MS
/** A machine that runs a timer so late has stopped the whole fleet, which counts as a fault. */
const STALL_MS = 3_000
/** Outputs of a worker may change their order when its connection moves to another master. */
const REORDER_MS = 120_000
/** A task that is not done after this time is located. */
const LATE_NS = 600e9

const nowNs = (): number => Number(process.hrtime.bigint())
interface OpenCall {
  readonly line: Extract<SoakLine, { kind: 'settling' }>
}

export class SoakLoad {
  readonly counts = {
    submitted: 0,
    unavailable: 0,
    broken: 0,
    outputs: 0,
    marks: 0,
    marksApplied: 0,
    repeats: 0,
    stalls: 0,
  }
  readonly violations: string[] = []
  /** Responses with an error other than 503. */
  readonly errors: string[] = []
  readonly windows = new HistoryWindows((violation) => this.#violate(violation))
  lastFaultMs = 0
  #window = -1
  #inWindow = 0
  #submits = 0
  #isEnded = false
  #running: Promise<void>[] = []
  readonly #openCalls = new Map<string, Map<number, OpenCall>>()
  /** Tasks that were reported as overdue. */
  readonly #late = new Set<string>()
  readonly #held = new Map<string, Map<number, LeaseOf>>()
  /** The last outputs of each run of a worker: `n` seen, to find doubled and reordered ones. */
  readonly #lives = new Map<string, { last: number; recent: Set<number>; seenMs: number }>()

  start(fleet: SoakFleet, tasksPerSecond: number): void {
    this.#running = [
      this.#submitAll(fleet, (BATCH * 1_000) / tasksPerSecond),
      this.#popAll(fleet),
      this.#markAll(fleet),
      this.#sweepAll(fleet),
      this.#watchMachine(),
    ]
  }

  /**
   * Publishes as many events as a master keeps in memory. A master begins with none, so its memory would grow for an
   * hour until it keeps the newest ones only.
   */
  async fillEvents(fleet: SoakFleet): Promise<void> {
    for (let mark = 1; mark <= MAX_EVENTS_BEHIND && !this.#isEnded;) {
      const path = `/automations/job/workers/${fleet.spareWorker}/config`
      const changed = await this.#request(fleet, 'PATCH', path, { mark })
      if (changed === undefined || changed === null) await pause(LOOK_EVERY_MS)
      else mark += 1
    }
  }

  /** Ends the load and waits until every acknowledged task was done and checked. */
  async end(fleet: SoakFleet): Promise<void> {
    this.#isEnded = true
    await Promise.all(this.#running)
    this.windows.open(nowNs()) // The last one is complete.
    const deadlineMs = Date.now() + 180_000
    while (this.windows.openWindows > 1 && Date.now() < deadlineMs) {
      await this.#sweep(fleet, Infinity)
      await pause(1_000)
    }
    await this.#sweep(fleet, 0)
    this.windows.finish()
  }

  /** Takes a line of a host of workers. */
  record(host: string, text: string): void {
    const line = JSON.parse(text) as SoakLine
    const open = mapOf(this.#openCalls, host)
    if (line.kind === 'reserved') {
      const leases = line.leases.map(toLease)
      for (const lease of leases) mapOf(this.#held, host).set(lease.token, lease)
      const call = { operation: 'reserve', client: host, start: line.startNs, end: line.endNs } as const
      this.windows.leases(call, leases, [], nowNs())
      // A lease may end by itself: a host that the machine has stopped for so long does not extend it.
      const expiry = { operation: 'release', client: host, start: line.startNs + VISIBILITY_NS, end: Infinity } as const
      this.windows.leases(expiry, leases, undefined, nowNs())
    } else if (line.kind === 'settling') open.set(line.call, { line })
    else {
      const begun = open.get(line.call)
      open.delete(line.call)
      if (begun === undefined) throw new Error(`${host} ended call ${line.call}, which it did not begin`)
      if (line.kind === 'settled') this.#settled(host, begun, line.endNs, line.results)
      else this.#settled(host, begun, Infinity, undefined)
    }
  }

  /** A host of workers ended: its open calls are unknown, and its leases are free to be taken. */
  hostEnded(host: string): void {
    for (const open of mapOf(this.#openCalls, host).values()) this.#settled(host, open, Infinity, undefined)
    this.#openCalls.delete(host)
    const leases = [...mapOf(this.#held, host).values()]
    this.#held.delete(host)
    const call = { operation: 'release', client: host, start: 0, end: Infinity } as const
    if (leases.length > 0) this.windows.leases(call, leases, undefined, nowNs())
  }

  #settled(host: string, { line }: OpenCall, end: number, results: readonly string[] | undefined): void {
    const leases = line.leases.map(toLease)
    for (const [i, { token }] of leases.entries()) if (results?.[i] === 'ok') mapOf(this.#held, host).delete(token)
    this.windows.leases({ operation: line.operation, client: host, start: line.startNs, end }, leases, results, nowNs())
  }

  #violate(violation: string): void {
    this.violations.push(violation)
    process.stderr.write(`violation: ${violation}\n`)
  }

  /** @returns undefined without a response, and for 503. */
  async #request<T>(fleet: SoakFleet, method: string, path: string, body?: unknown): Promise<T | undefined> {
    const url = fleet.urls.at(this.#submits++ % fleet.urls.length) ?? ''
    try {
      const response = await fetch(`${url}/api/v1${path}`, {
        method,
        headers: { authorization: `Bearer ${ADMIN_TOKEN}`, 'content-type': 'application/json' },
        signal: AbortSignal.timeout(REQUEST_MS),
        ...(body !== undefined && { body: JSON.stringify(body) }),
      })
      const text = await response.text()
      if (response.status === 503) this.counts.unavailable += 1
      else if (response.status !== 200 && response.status !== 404)
        this.errors.push(`${method} ${path}: ${response.status} ${text.slice(0, 200)}`)
      if (response.status === 404) return null as T
      return response.status === 200 ? (JSON.parse(text) as T) : undefined
    } catch {
      this.counts.broken += 1
      return undefined
    }
  }

  async #submitAll(fleet: SoakFleet, everyMs: number): Promise<void> {
    let number = 0
    let dueMs = performance.now()
    while (!this.#isEnded) {
      if (this.#window < 0 || this.#inWindow >= TASKS_PER_WINDOW) {
        this.#window = this.windows.open(nowNs())
        this.#inWindow = 0
      }
      const window = this.#window
      const tasks = Array.from({ length: BATCH }, () => {
        number += 1
        const id = `w${window}.${number}`
        return { id, key: number % REPEAT_EVERY === 0 ? `k${id}` : null }
      })
      const again = tasks.filter(({ key }) => key !== null).map(({ id, key }) => ({ id: `${id}.again`, key }))
      this.#inWindow += BATCH
      await this.#submit(fleet, window, tasks)
      if (again.length > 0) {
        this.counts.repeats += again.length
        await this.#submit(fleet, window, again)
      }
      dueMs = Math.max(dueMs + everyMs, performance.now() - 5 * everyMs)
      await pause(Math.max(0, dueMs - performance.now()))
    }
  }

  async #submit(fleet: SoakFleet, window: number, tasks: readonly { id: string; key: string | null }[]): Promise<void> {
    const start = nowNs()
    const reply = await this.#request<{ results: { task_id?: string }[] }>(
      fleet,
      'POST',
      '/automations/job/tasks/batch',
      {
        tasks: tasks.map(({ id, key }) => ({
          task_id: id,
          payload: { ms: TASK_MS, text: 'x'.repeat(100) },
          ...(key !== null && { idempotency_key: key }),
        })),
      },
    )
    const accepted = tasks.filter((_, i) => reply?.results[i]?.task_id !== undefined)
    const result = reply?.results.flatMap(({ task_id: id }) => id ?? [])
    this.counts.submitted += accepted.length
    const call: Call<'submit'> = {
      operation: 'submit',
      client: 'submitter',
      start,
      end: reply === undefined ? Infinity : nowNs(),
      args: { tasks: reply === undefined ? tasks : accepted },
      result,
    }
    this.windows.submitted(window, call, nowNs())
  }

  async #popAll(fleet: SoakFleet): Promise<void> {
    while (!this.#isEnded) {
      const entries = await this.#request<{ payload: { life: string; n: number } }[]>(
        fleet,
        'POST',
        '/automations/beat/output/pop',
        { n: POP_AT_MOST },
      )
      for (const { payload } of entries ?? []) this.#output(payload.life, payload.n)
      await pause(POP_EVERY_MS)
    }
  }

  /** Outputs of one run arrive once, and in order while connections stay (G10). */
  #output(life: string, n: number): void {
    this.counts.outputs += 1
    const nowMs = Date.now()
    const run = this.#lives.get(life) ?? { last: 0, recent: new Set<number>(), seenMs: nowMs }
    if (run.recent.has(n)) this.#violate(`output ${n} of ${life} was popped twice`)
    else if (n < run.last && nowMs - this.lastFaultMs > REORDER_MS)
      this.#violate(`output ${n} of ${life} was popped after ${run.last}`)
    run.recent.add(n)
    if (run.recent.size > 2_000) run.recent.delete(run.recent.values().next().value ?? 0)
    run.last = Math.max(run.last, n)
    run.seenMs = nowMs
    this.#lives.set(life, run)
    if (this.#lives.size > 5_000) this.#lives.delete(this.#lives.keys().next().value ?? '')
  }

  /** Changes one FleetWorker at a time and waits until the worker runs the new config (G19). */
  async #markAll(fleet: SoakFleet): Promise<void> {
    const { workers } = fleet
    for (let mark = 1; !this.#isEnded; mark += 1) {
      await pause(15_000)
      const worker = workers[(mark * 7) % workers.length]
      if (worker === undefined || this.#isEnded) continue
      fleet.api.requests.length = 0 // They are not read here.
      fleet.mark(worker.type, worker.id, mark)
      this.counts.marks += 1
      await this.#applied(fleet, worker, mark)
    }
  }

  async #applied(fleet: SoakFleet, { type, id }: { type: string; id: string }, mark: number): Promise<void> {
    const changedMs = Date.now()
    for (let looks = 0; !this.#isEnded;) {
      const record = await this.#request<{ config: { mark?: number }; config_gen: number; applied_config_gen: number }>(
        fleet,
        'GET',
        `/automations/${type}/workers/${id}`,
      )
      if (record?.config.mark === mark && record.applied_config_gen === record.config_gen) {
        this.counts.marksApplied += 1
        return
      }
      if (record !== undefined) looks += 1
      if (looks > LOOKS && Date.now() - Math.max(changedMs, this.lastFaultMs) > APPLIED_WITHIN_MS) {
        this.#violate(`${type}/${id} did not apply mark ${mark} within ${APPLIED_WITHIN_MS / 1_000} s`)
        return
      }
      await pause(LOOK_EVERY_MS)
    }
  }

  async #watchMachine(): Promise<void> {
    while (!this.#isEnded) {
      const beforeMs = performance.now()
      await pause(LOOK_EVERY_MS)
      if (performance.now() - beforeMs < LOOK_EVERY_MS + STALL_MS) continue
      this.counts.stalls += 1
      this.lastFaultMs = Date.now()
    }
  }

  async #sweepAll(fleet: SoakFleet): Promise<void> {
    while (!this.#isEnded) {
      await pause(2_000)
      await this.#sweep(fleet, LATE_NS)
    }
  }

  /** Locates the tasks that are late: one that is in no place is lost, one that waits is overdue (G1, G3). */
  async #sweep(fleet: SoakFleet, lateNs: number): Promise<void> {
    for (const id of this.windows.sweep(nowNs(), lateNs).slice(0, 100)) {
      const start = nowNs()
      const reply = await this.#request<{ place: string } | null>(fleet, 'GET', `/automations/job/tasks/${id}`)
      if (reply === undefined) continue
      this.windows.located([id], [reply?.place ?? null], start, nowNs())
      if (reply === null || this.#late.has(id)) continue
      this.#late.add(id)
      this.#violate(`${id} is still ${reply.place}`)
    }
  }
}

const toLease = ([id, token]: readonly [string, number]): LeaseOf => ({ id, token })

function mapOf<K, V>(maps: Map<string, Map<K, V>>, name: string): Map<K, V> {
  const found = maps.get(name) ?? new Map<K, V>()
  maps.set(name, found)
  return found
}
