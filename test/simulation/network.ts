/**
 * The simulated network: delays messages, loses them, and cuts connections, all drawn from one random stream.
 *
 * A partition does not lose messages: TCP sends them again, so they arrive after it. A message to a process that was
 * killed is dropped, and the peers of its connections are reset.
 */
import type { Random, VirtualTime } from '../../src/runtime/index.ts'
import type { NetworkPlan } from './plan.ts'
import { toStep, type SimProcess } from './process.ts'

/** Keeps the messages of one direction of a connection in order. */
export interface Channel {
  lastAtMs: number
}

/** What happens to a request: its effect, and its response. */
export type Fate = 'served' | 'lost' | 'served_without_response'

export class Network {
  readonly #time: VirtualTime
  readonly #random: Random
  #plan: NetworkPlan
  readonly #partitions = new Map<string, number>()
  #slowUntilMs = 0
  #slowness = 1

  constructor(time: VirtualTime, random: Random, plan: NetworkPlan) {
    this.#time = time
    this.#random = random
    this.#plan = plan
  }

  /** Ends every fault: from now on messages are fast and none is lost. */
  heal(): void {
    this.#plan = { ...this.#plan, maxDelayMs: Math.min(20, this.#plan.maxDelayMs), lost: 0, unanswered: 0, busLost: 0 }
    this.#partitions.clear()
    this.#slowUntilMs = 0
  }

  /** Delays all messages between two processes, in both directions, for `ms`. `*` is every process. */
  partition(one: string, other: string, ms: number): void {
    const untilMs = this.#time.monotonicMs() + ms
    this.#partitions.set(`${one} ${other}`, untilMs)
    this.#partitions.set(`${other} ${one}`, untilMs)
  }

  slow(factor: number, ms: number): void {
    this.#slowness = factor
    this.#slowUntilMs = this.#time.monotonicMs() + ms
  }

  /** A number from 0 to below 1, for decisions of the network. */
  unit(): number {
    return this.#random.unit()
  }

  fate(): Fate {
    const drawn = this.#random.unit()
    if (drawn < this.#plan.lost) return 'lost'
    return drawn < this.#plan.lost + this.#plan.unanswered ? 'served_without_response' : 'served'
  }

  /** Whether a bus message is lost. */
  isBusLost(): boolean {
    return this.#random.unit() < this.#plan.busLost
  }

  /** Delivers a message. Both processes have to live: the sender now, the receiver when it arrives. */
  send(from: SimProcess, to: SimProcess, channel: Channel | null, deliver: () => void): void {
    if (!from.isAlive) return
    const nowMs = this.#time.monotonicMs()
    const healedMs = Math.max(
      nowMs,
      this.#partitions.get(`${from.name} ${to.name}`) ?? 0,
      this.#partitions.get(`${from.name} *`) ?? 0,
      this.#partitions.get(`* ${to.name}`) ?? 0,
    )
    const atMs = Math.max(healedMs + toStep(this.#delayMs(nowMs)), channel?.lastAtMs ?? 0)
    if (channel !== null) channel.lastAtMs = atMs
    this.#time.after(atMs - nowMs, () => to.run(deliver))
  }

  /** Mostly close to the minimum; each power of ten is about equally likely. */
  #delayMs(nowMs: number): number {
    const { minDelayMs, maxDelayMs } = this.#plan
    const factor = nowMs < this.#slowUntilMs ? this.#slowness : 1
    return minDelayMs * (maxDelayMs / minDelayMs) ** this.#random.unit() * factor
  }
}
