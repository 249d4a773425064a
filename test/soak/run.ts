/** Runs a fleet under load, kills its processes in turn, and samples them. */
import { appendFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { seededRandom, type Random } from '../../src/runtime/index.ts'
import { SoakFleet, type FleetOptions } from './fleet.ts'
import { LEADS, OF_STORE, type SoakSample } from './judge.ts'
import { SoakLoad } from './load.ts'
import type { SoakProcess } from './process.ts'

const MINUTE_MS = 60_000
/** Objects are counted with each fifth sample: that takes a second. */
const OBJECTS_EVERY = 5
const DOWN_MS = 3_000
const FAILOVER_WITHIN_MS = 60_000

export interface SoakOptions extends Omit<FleetOptions, 'onRecord' | 'onHostEnd'> {
  readonly runMs: number
  readonly sampleMs: number
  readonly warmUpMs: number
  readonly tasksPerSecond: number
  /** Time between two faults; 0: none. */
  readonly killMs: number
  /** Time between two failovers of the operator; 0: none. */
  readonly failoverMs: number
  readonly seed: number
}

const print = (line: string): void => void process.stdout.write(`${line}\n`)

/** One run. Everything that happens is appended to samples.jsonl, so that it can be judged again. */
export class SoakRun {
  readonly samples: SoakSample[] = []
  readonly load: SoakLoad
  readonly crashes: string[] = []
  /** How often each kind of fault happened. */
  readonly faults: Record<string, number> = {}
  readonly #options: SoakOptions
  readonly #random: Random
  readonly #startedMs = Date.now()
  readonly #fleet: SoakFleet
  #round: (SoakProcess | 'store')[] = []
  #measured = 0

  private constructor(fleet: SoakFleet, load: SoakLoad, options: SoakOptions) {
    this.#fleet = fleet
    this.load = load
    this.#options = options
    this.#random = seededRandom(options.seed)
    for (const each of fleet.all) each.onCrash = (how) => this.crashes.push(how)
  }

  static async start(options: SoakOptions): Promise<SoakRun> {
    const load = new SoakLoad()
    const fleet = await SoakFleet.start({
      ...options,
      onRecord: (host, line) => load.record(host, line),
      onHostEnd: (host) => load.hostEnded(host),
    })
    load.start(fleet, options.tasksPerSecond)
    await load.fillEvents(fleet)
    return new SoakRun(fleet, load, options)
  }

  /** Runs until the time is over, or until `isEnough` returns true for the samples. */
  async loop(isEnough: (samples: readonly SoakSample[]) => boolean): Promise<void> {
    const { runMs, sampleMs, killMs, failoverMs } = this.#options
    const endMs = this.#startedMs + runMs
    let killAtMs = killMs > 0 ? this.#startedMs + killMs : Infinity
    let failoverAtMs = failoverMs > 0 ? this.#startedMs + failoverMs : Infinity
    let sampleAtMs = this.#startedMs + sampleMs
    while (Date.now() < endMs) {
      await pause(Math.max(0, Math.min(sampleAtMs, endMs) - Date.now()))
      sampleAtMs += sampleMs
      await this.#sample()
      if (Date.now() >= killAtMs) {
        killAtMs += killMs
        await this.#kill()
      }
      if (Date.now() >= failoverAtMs) {
        failoverAtMs += failoverMs
        await this.#failOver()
      }
      this.#progress()
      if (isEnough(this.samples)) return
    }
  }

  async end(): Promise<void> {
    await this.load.end(this.#fleet)
    await this.#fleet.stop()
  }

  /** Stops everything, without waiting for tasks. */
  stop(): Promise<void> {
    return this.#fleet.stop()
  }

  get errorLines(): readonly string[] {
    return this.#fleet.all.flatMap(({ name, errors }) => errors.map((line) => `${name}: ${line}`))
  }

  #add(sample: SoakSample): void {
    this.samples.push(sample)
    appendFileSync(join(this.#options.folder, 'samples.jsonl'), `${JSON.stringify(sample)}\n`)
  }

  async #sample(): Promise<void> {
    this.#measured += 1
    for (const each of this.#fleet.all) {
      const ageMs = Date.now() - each.startedMs
      const probe = await each.measure({
        countObjects: this.#measured % OBJECTS_EVERY === 0,
        resetDelay: ageMs < this.#options.warmUpMs,
      })
      if (probe !== undefined) this.#add({ kind: 'process', atMs: Date.now(), name: each.name, life: each.life, probe })
    }
    const size = await this.#fleet.store.size().catch(() => undefined)
    if (size !== undefined) this.#add({ kind: 'store', atMs: Date.now(), size })
  }

  #fault(kind: string, what: string): void {
    this.faults[kind] = (this.faults[kind] ?? 0) + 1
    this.load.lastFaultMs = Date.now()
    this.#add({ kind: 'fault', atMs: Date.now(), what })
    print(`fault: ${what}`)
  }

  /** Each process is the target once before any is again. */
  async #kill(): Promise<void> {
    const { all, store } = this.#fleet
    if (this.#round.length === 0)
      this.#round = shuffled([...all, ...(store.kill === undefined ? [] : ['store' as const])], this.#random)
    const target = this.#round.pop()
    const signal = this.#random.unit() < 0.5 ? 'SIGKILL' : 'SIGTERM'
    if (target === undefined) return
    if (target === 'store') {
      this.#fault('store killed', `SIGKILL ${OF_STORE}`)
      await store.kill?.()
      await pause(this.#random.unit() * DOWN_MS)
      await store.start()
    } else {
      const leads = (await this.#fleet.leader()) === target
      this.#fault(`${target.name.replace(/-\d+$/, '')} ended`, `${signal} of ${target.name}${leads ? LEADS : ''}`)
      await target.stop(signal)
      await pause(this.#random.unit() * DOWN_MS)
      await target.start()
      if (this.#fleet.masters.includes(target)) await this.load.fillEvents(this.#fleet)
    }
    this.load.lastFaultMs = Date.now()
  }

  /** Kills the leading operator. The other one must take over. */
  async #failOver(): Promise<void> {
    const leader = await this.#fleet.leader()
    if (leader === undefined) {
      this.load.violations.push('no operator leads')
      return
    }
    const holder = this.#fleet.leaseHolder()
    this.#fault('operator failover', `SIGKILL of ${leader.name}${LEADS}`)
    await leader.stop('SIGKILL')
    const untilMs = Date.now() + FAILOVER_WITHIN_MS
    while (['', holder].includes(this.#fleet.leaseHolder()) && Date.now() < untilMs) await pause(500)
    if (['', holder].includes(this.#fleet.leaseHolder()))
      this.load.violations.push(`no other operator took over within ${FAILOVER_WITHIN_MS / 1_000} s`)
    await leader.start()
    this.load.lastFaultMs = Date.now()
  }

  #progress(): void {
    const { counts, violations, errors, windows } = this.load
    const memory = this.#fleet.all.map(({ name }) => {
      const last = this.samples.findLast((sample) => sample.kind === 'process' && sample.name === name)
      return `${name} ${last?.kind === 'process' ? last.probe.rssMib.toFixed(0) : '–'}`
    })
    print(
      `${((Date.now() - this.#startedMs) / MINUTE_MS).toFixed(0)} min: ${counts.submitted} tasks, ` +
        `${windows.checkedTasks} checked, ${windows.openWindows} windows open, ${counts.outputs} outputs, ` +
        `${counts.marksApplied} of ${counts.marks} specs applied, ${counts.unavailable} × 503, ` +
        `${counts.broken} broken, ${counts.stalls} stalls, ` +
        `${errors.length} errors, ${violations.length} violations; MiB: ${memory.join(', ')}`,
    )
  }
}

function shuffled<T>(items: readonly T[], random: Random): T[] {
  return items
    .map((item) => ({ item, at: random.unit() }))
    .toSorted((a, b) => a.at - b.at)
    .map(({ item }) => item)
}
