/**
 * @module master/streams/streams
 * The output streams: takes what workers emitted (see sink.ts), stores it through one collector per type, and serves
 * it. An entry is text from here on: it is parsed neither on its way in nor on its way out.
 *
 * An output is not acknowledged on the wire: what was read and not yet pushed is lost with the process, which is one
 * collector at most. `stop` waits up to 5 s for the store to take the rest.
 */
import { Counter } from 'prom-client'
import type { JsonText, Output } from '../../protocol/index.ts'
import { Complaints } from '../../runtime/index.ts'
import type { MasterDeps, Part } from '../deps.ts'
import { Collector, type CollectorPorts, type DropReason } from './collector.ts'
import { streamRoutes } from './routes.ts'
import type { OutputSink } from './sink.ts'

/** Waiting for the store, all types together. */
const FULL_BYTES_IN_ALL = 64 * 1_048_576
/** A floor under the memory of the process: reached only when the sockets are read on although everything is full. */
const REFUSE_BYTES_IN_ALL = 2 * FULL_BYTES_IN_ALL
const STOP_WITHIN_MS = 5_000

export type Streams = Part & OutputSink

export function createStreams(deps: MasterDeps): Streams {
  const sink = new CollectedOutputs(deps)
  return {
    routes: streamRoutes(deps.backend.streams),
    accept: (type, workerId, outputs) => sink.accept(type, workerId, outputs),
    full: (type) => sink.full(type),
    onRelief: (listener) => sink.onRelief(listener),
    stop: () => sink.stop(),
  }
}

class CollectedOutputs implements OutputSink {
  readonly #deps: MasterDeps
  readonly #collectors = new Map<string, Collector>()
  readonly #listeners = new Set<() => void>()
  readonly #giveUp = new AbortController()
  readonly #complaints: Complaints
  readonly #dropped: Counter
  readonly #trimmed: Counter
  readonly #ports: CollectorPorts
  #bytes = 0
  #fullInAll = false
  /** Types that were found full and have not been relieved since. */
  readonly #fullTypes = new Set<string>()

  constructor(deps: MasterDeps) {
    this.#deps = deps
    this.#complaints = new Complaints(deps.clock)
    const registers = [deps.metrics]
    this.#dropped = new Counter({
      name: 'svc_outputs_dropped_total',
      help: 'Outputs that did not reach their stream.',
      labelNames: ['automation_type', 'reason'],
      registers,
    })
    this.#trimmed = new Counter({
      name: 'svc_outputs_trimmed_total',
      help: 'Entries that left their stream by its bounds.',
      labelNames: ['automation_type'],
      registers,
    })
    this.#ports = {
      streams: deps.backend.streams,
      timers: deps.timers,
      random: deps.random,
      log: deps.log,
      producer: deps.masterId,
      giveUp: this.#giveUp.signal,
      onDropped: (type, count, reason, cause) => this.#onDropped(type, count, reason, cause),
      onStored: (type, _, trimmed) => void (trimmed > 0 && this.#trimmed.inc({ automation_type: type }, trimmed)),
      onGone: (_, bytes) => this.#onGone(bytes),
    }
  }

  accept(type: string, workerId: string, outputs: readonly Output[]): void {
    const entry = this.#deps.catalog.get(type)
    if (entry === undefined) throw new TypeError(`no automation of type "${type}" is installed`)
    const collector = this.#collectorOf(type)
    for (const output of outputs) {
      const [fault] = entry.validateOutput(output.payload)
      if (fault !== undefined)
        this.#refuse(type, workerId, 'invalid', `${fault.path || 'the payload'}: ${fault.message}`)
      else if (this.#bytes >= REFUSE_BYTES_IN_ALL)
        this.#refuse(type, workerId, 'overload', 'too many outputs wait for the store')
      else this.#add(collector, entryText(output))
    }
  }

  full(type: string): boolean {
    if (this.#fullInAll) this.#fullInAll = this.#bytes > FULL_BYTES_IN_ALL / 2
    else this.#fullInAll = this.#bytes >= FULL_BYTES_IN_ALL
    const full = this.#fullInAll || this.#collectors.get(type)?.full === true
    if (full) this.#fullTypes.add(type)
    return full
  }

  onRelief(listener: () => void): () => void {
    this.#listeners.add(listener)
    return () => void this.#listeners.delete(listener)
  }

  async stop(): Promise<void> {
    const cancel = this.#deps.timers.after(STOP_WITHIN_MS, () => this.#giveUp.abort())
    await Promise.all([...this.#collectors.values()].map((each) => each.settled()))
    cancel()
  }

  #collectorOf(type: string): Collector {
    const known = this.#collectors.get(type)
    if (known !== undefined) return known
    const made = new Collector(type, this.#ports)
    this.#collectors.set(type, made)
    return made
  }

  #add(collector: Collector, text: JsonText): void {
    const bytes = Buffer.byteLength(text)
    this.#bytes += bytes
    collector.add(text, bytes)
  }

  /** One output that was never collected. */
  #refuse(type: string, workerId: string, reason: string, why: string): void {
    this.#dropped.inc({ automation_type: type, reason })
    this.#complaints.about(`${type}/${workerId}/${reason}`, (suppressed) =>
      this.#deps.log.warn('an output was dropped', {
        automation_type: type,
        worker_id: workerId,
        reason,
        why,
        more_since_last_line: suppressed,
      }),
    )
  }

  #onDropped(type: string, count: number, reason: DropReason, cause: unknown): void {
    this.#dropped.inc({ automation_type: type, reason }, count)
    this.#complaints.about(`${type}//${reason}`, (suppressed) =>
      this.#deps.log.error('outputs were dropped: the store did not take them', {
        automation_type: type,
        reason,
        count,
        error: cause,
        more_since_last_line: suppressed,
      }),
    )
  }

  #onGone(bytes: number): void {
    this.#bytes -= bytes
    const relieved = [...this.#fullTypes].filter((type) => !this.full(type))
    if (relieved.length === 0) return
    for (const type of relieved) this.#fullTypes.delete(type)
    for (const listener of this.#listeners) listener()
  }
}

/** The stored form; the id is put in front when it is read. */
function entryText({ slot_id: slotId, ts, payload }: Output): JsonText {
  return `{"slot_id":${slotId},"ts":${ts},"payload":${JSON.stringify(payload)}}`
}
