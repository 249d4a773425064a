/**
 * Checks the output streams.
 *
 *   I10  the outputs of a connection enter the stream in order, at most once; a reader misses none without a gap  (G10)
 *   I12  an output that a running master received is in the stream, or counted as dropped                         (G11)
 */
import type { StorageCall } from '../../../src/storage/index.ts'
import type { Exchange } from '../pool.ts'
import type { CheckDeps, CreateCheck, InvariantCheck, ReceivedFrame } from './invariant.ts'

interface Payload {
  readonly by: string
  readonly n: number
}
interface Arrival {
  readonly connection: number
  readonly master: string
  readonly life: number
  readonly atMs: number
}
interface Entry {
  readonly id: string
  readonly payload: Payload
}
interface Stream {
  /** Where each output is in the stream. */
  readonly positions: Map<string, number>
  /** The output of each id that a reader has seen. */
  readonly ids: Map<string, string>
  readonly popped: Set<string>
  /** The newest output of each connection. */
  readonly newest: Map<number, number>
}

/** The newest push of a master. */
interface Push {
  readonly sequence: number
  readonly text: string
}

const OUTPUT_PATH = /\/automations\/([^/]+)\/output\/(tail|pop)(?:\?(.*))?$/
/** An output is stored within this time, without faults. */
const STORED_WITHIN_MS = 5_000
const keyOf = ({ by, n }: Payload): string => `${by}#${n}`

class StreamCheck implements InvariantCheck {
  readonly #deps: CheckDeps
  readonly #streams = new Map<string, Stream>()
  readonly #arrivals = new Map<string, Arrival>()
  readonly #pushed = new Set<string>()
  readonly #sequences = new Map<string, Push>()
  #lostAtMs = -1

  constructor(deps: CheckDeps) {
    this.#deps = deps
  }

  framed({ to, text, connection }: ReceivedFrame): void {
    if (!text.startsWith('{"type":"output')) return
    const life = this.#deps.lifeOf(to)
    if (life === null) return
    const frame = JSON.parse(text) as { payload?: Payload; outputs?: readonly { payload: Payload }[] }
    const atMs = this.#deps.time.monotonicMs()
    for (const { payload } of frame.outputs ?? [{ payload: frame.payload }])
      if (payload !== undefined) this.#arrivals.set(keyOf(payload), { connection, master: to, life, atMs })
  }

  executed({ group, method, args }: StorageCall): void {
    if (group !== 'streams' || method !== 'push') return
    const [type, producer, sequence, entries] = args as [string, string, number, readonly string[]]
    const name = `${type} ${producer}`
    const newest = this.#sequences.get(name)
    if (newest !== undefined && sequence <= newest.sequence) return this.#repeated(name, sequence, newest, entries)
    this.#sequences.set(name, { sequence, text: entries.join() })
    for (const entry of entries) this.#append(this.#streamOf(type), JSON.parse(entry) as { payload: Payload })
  }

  storeLost(): void {
    this.#streams.clear()
    this.#sequences.clear()
    this.#lostAtMs = this.#deps.time.monotonicMs()
  }

  received({ method, path, status, text, sentAtMs }: Exchange): void {
    const [matches, type = '', verb, query = ''] = OUTPUT_PATH.exec(path) ?? []
    if (matches === undefined || status !== 200 || sentAtMs <= this.#lostAtMs) return
    const stream = this.#streamOf(type)
    if (method === 'POST') return this.#popped(stream, JSON.parse(text) as readonly Entry[])
    if (verb !== 'tail') return
    const after = new URLSearchParams(query).get('after')
    const { entries, gap } = JSON.parse(text) as { entries: readonly Entry[]; gap: boolean }
    this.#tailed(stream, after, entries, gap)
  }

  async finish(): Promise<void> {
    const beforeMs = this.#deps.time.monotonicMs() - STORED_WITHIN_MS
    const missing = new Map<string, number>()
    for (const [key, { master, life, atMs }] of this.#arrivals)
      if (atMs < beforeMs && this.#deps.lifeOf(master) === life && !this.#pushed.has(key))
        missing.set(master, (missing.get(master) ?? 0) + 1)
    for (const [master, count] of missing) {
      const dropped = droppedIn(await this.#deps.metricsOf(master))
      if (count > dropped)
        this.#deps.fail('I12', `${master} lost ${count} outputs that it had received, and counted ${dropped}`)
    }
  }

  /** The store ignores it. A master repeats only its newest push, so everything else would vanish without a gap. */
  #repeated(name: string, sequence: number, newest: Push, entries: readonly string[]): void {
    this.#deps.count('output push repeated')
    if (sequence !== newest.sequence || entries.join() !== newest.text)
      this.#deps.fail('I10', `push ${sequence} of ${name} came after push ${newest.sequence}, so the store ignores it`)
  }

  #append(stream: Stream, { payload }: { readonly payload: Payload }): void {
    const key = keyOf(payload)
    if (stream.positions.has(key)) this.#deps.fail('I10', `output ${key} entered the stream twice`)
    stream.positions.set(key, stream.positions.size)
    this.#pushed.add(key)
    const arrival = this.#arrivals.get(key)
    if (arrival === undefined) return
    const before = stream.newest.get(arrival.connection) ?? -1
    if (payload.n <= before) this.#deps.fail('I10', `output ${key} entered the stream after output ${before}`)
    stream.newest.set(arrival.connection, payload.n)
  }

  #popped(stream: Stream, entries: readonly Entry[]): void {
    for (const { payload } of entries) {
      const key = keyOf(payload)
      if (stream.popped.has(key)) this.#deps.fail('I10', `output ${key} was popped twice`)
      if (stream.positions.has(key)) stream.popped.add(key)
    }
  }

  #tailed(stream: Stream, after: string | null, entries: readonly Entry[], gap: boolean): void {
    const [first] = entries
    const last = after === null ? undefined : stream.ids.get(after)
    if (gap) this.#deps.count('stream reader received a gap')
    if (last !== undefined && first !== undefined && !gap) this.#checkNext(stream, last, keyOf(first.payload))
    for (const [at, { id, payload }] of entries.entries()) {
      const before = entries[at - 1]
      if (before !== undefined) this.#checkNext(stream, keyOf(before.payload), keyOf(payload))
      if (stream.positions.has(keyOf(payload))) stream.ids.set(id, keyOf(payload))
    }
  }

  #checkNext(stream: Stream, before: string, key: string): void {
    const [from, to] = [stream.positions.get(before), stream.positions.get(key)]
    if (from !== undefined && to !== undefined && to !== from + 1)
      this.#deps.fail('I10', `a reader got output ${key} at ${to} after ${before} at ${from}, without a gap`)
  }

  #streamOf(type: string): Stream {
    const stream = this.#streams.get(type) ?? {
      positions: new Map(),
      ids: new Map(),
      popped: new Set(),
      newest: new Map(),
    }
    this.#streams.set(type, stream)
    return stream
  }
}

/** The number of outputs that a master counted as dropped. */
function droppedIn(metrics: string): number {
  let sum = 0
  for (const [, count] of metrics.matchAll(/^svc_outputs_dropped_total\{[^}]*\} (\d+)/gm)) sum += Number(count)
  return sum
}

export const checkStreams: CreateCheck = (deps) => new StreamCheck(deps)
