/**
 * @module master/streams/keeper
 * Trims output streams without a push: every 10 s it removes entries by age and by bytes, on two of the masters (D193).
 * When the store is full, it removes the oldest outputs, from the largest streams first, so that tasks are not rejected
 * (D83).
 */
import { ALL_STREAMS_MAX_BYTES, STREAM_MAX_BYTES, SWEEP_EVERY_MS } from '../../protocol/index.ts'
import type { Cancel, Random, Timers } from '../../runtime/index.ts'
import type { Streams } from '../../storage/index.ts'

/** Share of the period by which it is shortened or lengthened. */
const JITTER = 0.1
/** Share of all outputs that is kept after the store was full. */
const REMAINS = 0.75
/** The shortest interval: a store that is full for another reason must not lose all its outputs within seconds. */
const MAKE_ROOM_EVERY_MS = 5_000

export interface StreamKeeperDeps {
  readonly types: readonly string[]
  readonly streams: Pick<Streams, 'bytes' | 'trim'>
  readonly timers: Timers
  readonly random: Random
  /** Whether this master trims the streams every 10 s. */
  readonly isMine: () => boolean
  readonly onTrimmed: (type: string, count: number) => void
  readonly onFailed: (error: unknown) => void
}

export class StreamKeeper {
  readonly #deps: StreamKeeperDeps
  #cancel: Cancel = () => {}
  #running: Promise<void> = Promise.resolve()
  #stopped = false
  #making: Promise<boolean> | null = null

  constructor(deps: StreamKeeperDeps) {
    this.#deps = deps
  }

  start(): void {
    this.#arm(SWEEP_EVERY_MS * this.#deps.random.unit())
  }

  /** Resolves when the current step has ended. */
  async stop(): Promise<void> {
    this.#stopped = true
    this.#cancel()
    await this.#running
  }

  /**
   * Removes a quarter of all outputs, the oldest ones of the largest streams, at most every 5 s.
   * @returns whether any was removed.
   */
  makeCapacity(): Promise<boolean> {
    if (this.#making !== null) return this.#making
    this.#making = this.#drop(REMAINS).catch((error: unknown) => {
      this.#deps.onFailed(error)
      return false
    })
    this.#deps.timers.after(MAKE_ROOM_EVERY_MS, () => void (this.#making = null))
    return this.#making
  }

  #arm(inMs: number): void {
    this.#cancel = this.#deps.timers.after(inMs, () => {
      this.#running = (this.#deps.isMine() ? this.#drop(1) : Promise.resolve(false))
        .then(
          () => {},
          (error: unknown) => this.#deps.onFailed(error),
        )
        .finally(() => {
          if (!this.#stopped) this.#arm(SWEEP_EVERY_MS * (1 - JITTER + 2 * JITTER * this.#deps.random.unit()))
        })
    })
  }

  /** @param remains Share of all bytes that is kept. */
  async #drop(remains: number): Promise<boolean> {
    const { types, streams, onTrimmed } = this.#deps
    const sizes = await streams.bytes(types)
    const total = sizes.reduce((sum, size) => sum + size, 0)
    const level = Math.min(
      STREAM_MAX_BYTES,
      levelOf(sizes, Math.min(ALL_STREAMS_MAX_BYTES, Math.floor(total * remains))),
    )
    let dropped = false
    for (const [at, type] of types.entries()) {
      if (sizes[at] === 0) continue
      for (let more = true; more && !this.#stopped;) {
        const trim = await streams.trim(type, level)
        if (trim.trimmed > 0) onTrimmed(type, trim.trimmed)
        dropped ||= trim.trimmed > 0
        more = trim.more
      }
    }
    return dropped
  }
}

/** The size limit per stream with which all streams together have at most `total` bytes. */
export function levelOf(sizes: readonly number[], total: number): number {
  let left = total
  const ascending = sizes.toSorted((a, b) => a - b)
  for (const [at, size] of ascending.entries()) {
    const share = Math.floor(left / (ascending.length - at))
    if (size > share) return share
    left -= size
  }
  return Number.MAX_SAFE_INTEGER
}
