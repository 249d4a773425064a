/**
 * Load runs clients that call a store as fast as it replies. They share keys, which change each second, so that the
 * history of each key stays short. Some clients use an old token, or repeat an ack.
 */
import type { Random } from '../../src/runtime/index.ts'
import type { StoreCalls } from './calls.ts'

/** Namespaces and automation types. On a Cluster their slots are on different nodes. */
export const GROUPS = ['g0', 'g1', 'g2', 'g3', 'g4', 'g5'] as const
const LONG_HOLD_MS = 12 * 3_600_000
const SHORT_MS = 1_000
const MAX_PAUSE_MS = 8
const PAUSE_AFTER_REJECTION_MS = 40

interface LoadDeps {
  readonly calls: StoreCalls
  readonly random: Random
  readonly nowMs: () => number
  readonly sleep: (ms: number) => Promise<void>
  /** Makes the names of values and tasks unique. */
  readonly process: string
  /** How long clients use the same keys. */
  readonly roundMs: number
  readonly hasDeadlines: boolean
}

export class Load {
  readonly #deps: LoadDeps
  readonly #registered = new Set<string>()
  /** The newest generation of each worker that this process was shown. */
  readonly #gens = new Map<string, number>()
  #serial = 0
  #regressions = 0
  #notIssued = 0
  #isEnded = false

  constructor(deps: LoadDeps) {
    this.#deps = deps
  }

  /**
   * Generations that were found below a known one, workers whose record vanished, and leases whose token the store says
   * it never issued (G26).
   */
  get regressions(): number {
    return this.#regressions + this.#notIssued
  }

  end(): void {
    this.#isEnded = true
  }

  /** Makes calls until the end. */
  async run(): Promise<void> {
    const { random, sleep, calls } = this.#deps
    const steps = [
      ...Array.from({ length: 6 }, () => () => this.#useValue()),
      ...Array.from({ length: 2 }, () => () => this.#useLock()),
      ...Array.from({ length: 5 }, () => () => this.#useCounter()),
      ...Array.from({ length: 2 }, () => () => this.#useConfig()),
      ...Array.from({ length: 2 }, () => () => this.#useTasks()),
      ...Array.from({ length: 2 }, () => () => this.#useUniqueKey()),
    ]
    while (!this.#isEnded) {
      const { refused, unknown } = calls.tally
      await steps[this.#below(steps.length)]?.()
      const isRejected = calls.tally.refused + calls.tally.unknown > refused + unknown
      await sleep(random.unit() * (isRejected ? PAUSE_AFTER_REJECTION_MS : MAX_PAUSE_MS))
    }
  }

  /** Compares the generations that this process knows with the stored ones, as the poll of a worker does. */
  async compareGenerations(): Promise<void> {
    for (const key of [...this.#gens.keys()].slice(-GROUPS.length)) await this.#compare(key)
  }

  async #compare(key: string): Promise<number | undefined> {
    const { calls } = this.#deps
    const row = await calls.getConfig(key)
    if (row === undefined) return undefined
    if (row === null) {
      this.#regressions += 1
      this.#gens.delete(key)
      this.#registered.delete(key)
      return undefined
    }
    const known = this.#gens.get(key) ?? 0
    if (row.gen < known) {
      this.#regressions += 1
      const raised = await calls.raise(key, known)
      if (typeof raised === 'number') this.#gens.set(key, Math.max(known, raised))
      return undefined
    }
    this.#gens.set(key, row.gen)
    return row.gen
  }

  async #useValue(): Promise<void> {
    const { calls, random } = this.#deps
    const [key, drawn] = [this.#key(), random.unit()]
    if (drawn < 0.5) await calls.get(key)
    else if (drawn < 0.93) await calls.set(key, this.#unique(), this.#isShort(0.15) ? SHORT_MS : null)
    else await calls.delete(key)
  }

  async #useLock(): Promise<void> {
    const { calls, random } = this.#deps
    const key = this.#key()
    const token = await calls.acquire(key, this.#isShort(0.3) ? SHORT_MS : LONG_HOLD_MS)
    if (typeof token !== 'number') return
    if (random.unit() < 0.3) await calls.extend(key, token, this.#isShort(0.5) ? 2 * SHORT_MS : LONG_HOLD_MS)
    if (random.unit() < 0.9) await calls.release(key, token)
    if (random.unit() < 0.1) await calls.release(key, token)
  }

  async #useCounter(): Promise<void> {
    const { calls, random } = this.#deps
    if (random.unit() < 0.7) await calls.add(this.#key(), 1 + this.#below(3))
    else await calls.count(this.#key())
  }

  async #useConfig(): Promise<void> {
    const { calls } = this.#deps
    const key = this.#key()
    if (!this.#registered.has(key)) {
      if ((await calls.registerWorker(key)) === undefined) return
      this.#registered.add(key)
    }
    const gen = await this.#compare(key)
    if (gen === undefined) return
    const stored = await calls.putConfig(key, gen, JSON.stringify({ n: this.#unique() }))
    if (typeof stored === 'number') this.#gens.set(key, Math.max(stored, this.#gens.get(key) ?? 0))
  }

  async #useTasks(): Promise<void> {
    const { calls, random } = this.#deps
    const type = this.#group()
    const key = `${type}/${this.#unique()}`
    await calls.submit(key)
    if (random.unit() < 0.3) await calls.locate(key)
    if (random.unit() < 0.1) await calls.cancel(key)
    for (const lease of (await calls.reserve(type, 2)) ?? []) {
      const drawn = random.unit()
      const settle = { type, lease }
      if (random.unit() < 0.1) await calls.cancel(`${type}/${lease.id}`) // No settle of the lease succeeds after it.
      if (drawn < 0.6) this.#note(await calls.ack(settle))
      else if (drawn < 0.75) this.#note(await calls.releaseTask(settle))
      else if (drawn < 0.95) this.#note(await calls.nack(settle, drawn > 0.9))
      if (random.unit() < 0.2) this.#note(await calls.ack(settle)) // A repeat, or an old token.
    }
  }

  async #useUniqueKey(): Promise<void> {
    const { calls, random } = this.#deps
    const [key, id] = [this.#key(), this.#unique()]
    const onConflict = random.unit() < 0.3 ? 'replace' : 'keep'
    const other = await calls.submitUnique(key, id, onConflict)
    const holder = typeof other === 'string' && onConflict === 'keep' ? other : id
    if (random.unit() < 0.5) await calls.cancelUnique(key, holder)
  }

  #isShort(share: number): boolean {
    return this.#deps.hasDeadlines && this.#deps.random.unit() < share
  }

  #note(result: string | undefined): void {
    if (result === 'not_issued') this.#notIssued += 1
  }

  #key(): string {
    const { nowMs, roundMs } = this.#deps
    return `${this.#group()}/${Math.floor(nowMs() / roundMs)}`
  }

  #group(): string {
    return GROUPS[this.#below(GROUPS.length)] ?? GROUPS[0]
  }

  #below(limit: number): number {
    return Math.floor(this.#deps.random.unit() * limit)
  }

  #unique(): string {
    return `${this.#deps.process}-${(this.#serial += 1)}`
  }
}
