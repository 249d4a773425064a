/**
 * The simulated network: delays messages, loses them, and cuts connections, all drawn from one random stream.
 *
 * A partition does not lose messages: TCP sends them again, so they arrive after it. A message to a process that was
 * killed is dropped, and the peers of its connections are reset.
 */
import type { Random, VirtualTime } from '../../src/runtime/index.ts'
import type { NetworkPlan, Plan } from './plan.ts'
import { toStep, type SimProcess } from './process.ts'

/** Keeps the messages of one direction of a connection in order. */
export interface Channel {
  lastAtMs: number
}

/** What happens to a request: its effect, and its response. */
export type Fate = 'served' | 'lost' | 'served_without_response' | 'served_late'

/** The bounds of the delay of a late message. Each power of ten in between is equally likely. */
const MIN_LATE_MS = 1
const MAX_LATE_MS = 20_000
/** A worker that drains waits for the response to its last reserve for a second. */
const MAX_HELD_MS = 900
/** The share of bus messages that arrive twice, and late, while the network loses some. */
const BUS_TWICE = 0.1
const BUS_LATE = 0.1

export class Network {
  readonly #time: VirtualTime
  readonly #random: Random
  #plan: NetworkPlan
  readonly #partitions = new Map<string, number>()
  #slowUntilMs = 0
  #slowness = 1

  readonly #faultsMs: number

  constructor(time: VirtualTime, random: Random, { network, faultsMs }: Pick<Plan, 'network' | 'faultsMs'>) {
    this.#time = time
    this.#random = random
    this.#plan = network
    this.#faultsMs = faultsMs
  }

  /** Ends every fault: from now on messages are fast and none is lost, except those of the bus if the plan says so. */
  heal(): void {
    const { calmBusLost, maxDelayMs } = this.#plan
    const maxCalmDelayMs = Math.min(20, maxDelayMs)
    const calm = { lost: 0, unanswered: 0, late: 0, reservesHeld: 0 }
    this.#plan = { ...this.#plan, ...calm, maxDelayMs: maxCalmDelayMs, busLost: calmBusLost }
    this.#partitions.clear()
    this.#slowUntilMs = 0
  }

  /** Delays messages between two processes for `ms`: both directions, or those of `one` alone. `*` is every process. */
  partition(one: string, other: string, ms: number, isOneWay: boolean): void {
    const untilMs = this.#time.monotonicMs() + ms
    this.#partitions.set(`${one} ${other}`, untilMs)
    if (!isOneWay) this.#partitions.set(`${other} ${one}`, untilMs)
  }

  slow(factor: number, ms: number): void {
    this.#slowness = factor
    this.#slowUntilMs = this.#time.monotonicMs() + ms
  }

  get nowMs(): number {
    return this.#time.monotonicMs()
  }

  /** A number from 0 to below 1, for decisions of the network. */
  unit(): number {
    return this.#random.unit()
  }

  fate(): Fate {
    const { lost, unanswered, late } = this.#plan
    const drawn = this.#random.unit()
    if (drawn < lost) return 'lost'
    if (drawn < lost + unanswered) return 'served_without_response'
    return drawn < lost + unanswered + late ? 'served_late' : 'served'
  }

  /** How late the response to a reserve is, while the plan holds some of them. */
  reserveHeldMs(): number {
    const { reservesHeld } = this.#plan
    if (reservesHeld === 0 || this.#random.unit() >= reservesHeld) return 0
    return MAX_HELD_MS * this.#random.unit()
  }

  /** How late a late message is. */
  lateMs(): number {
    return MIN_LATE_MS * (MAX_LATE_MS / MIN_LATE_MS) ** this.#random.unit()
  }

  /** By how much each copy of a bus message is late; no entry if it is lost. */
  busDelaysMs(): readonly number[] {
    const { busLost } = this.#plan
    const drawn = this.#random.unit()
    if (drawn < busLost) return []
    if (busLost === 0 || drawn >= busLost + BUS_TWICE + BUS_LATE) return [0]
    return drawn < busLost + BUS_TWICE ? [0, this.lateMs()] : [this.lateMs()]
  }

  /** Delivers a message. Both processes have to live: the sender now, the receiver when it arrives. */
  send(from: SimProcess, to: SimProcess, channel: Channel | null, deliver: () => void, lateMs = 0): void {
    if (!from.isAlive) return
    const nowMs = this.#time.monotonicMs()
    const healedMs = this.#partitions.size === 0 ? nowMs : this.#healedMs(nowMs, from.name, to.name)
    // What is on its way when the faults end arrives then, and so does what is sent at that moment, before `heal`.
    const latestMs = nowMs <= this.#faultsMs ? this.#faultsMs : Infinity
    const arrivesMs = Math.min(healedMs + toStep(this.#delayMs(nowMs) + lateMs), latestMs)
    const atMs = Math.max(arrivesMs, channel?.lastAtMs ?? 0)
    if (channel !== null) channel.lastAtMs = atMs
    this.#time.after(atMs - nowMs, () => to.run(deliver))
  }

  #healedMs(nowMs: number, from: string, to: string): number {
    const partitions = [`${from} ${to}`, `${from} *`, `* ${to}`]
    return Math.max(nowMs, ...partitions.map((each) => this.#partitions.get(each) ?? 0))
  }

  /** Mostly close to the minimum; each power of ten is about equally likely. */
  #delayMs(nowMs: number): number {
    const { minDelayMs, maxDelayMs } = this.#plan
    const factor = nowMs < this.#slowUntilMs ? this.#slowness : 1
    return minDelayMs * (maxDelayMs / minDelayMs) ** this.#random.unit() * factor
  }
}
