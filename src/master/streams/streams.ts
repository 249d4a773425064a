/**
 * @module master/streams/streams
 * Stores the outputs that workers emit (see sink.ts), through one collector per type, and serves them. An entry is
 * text: it is parsed neither when it is stored nor when it is read.
 *
 * Outputs are not acknowledged on the wire. What was read and not pushed yet is lost if the process crashes, at most
 * the content of one collector per type. `stop` waits up to 5 s for the store to take the rest.
 */
import { Counter } from 'prom-client'
import { infiniteNumber, type JsonText, type Output } from '../../protocol/index.ts'
import { LogThrottle } from '../../runtime/index.ts'
import type { MasterDeps, Part } from '../deps.ts'
import { Collector, type CollectorDeps, type DropReason } from './collector.ts'
import { streamRoutes } from './routes.ts'
import { StreamKeeper } from './keeper.ts'
import type { OutputSink } from './sink.ts'

/** Limit of pending bytes of all types. */
const FULL_BYTES_IN_ALL = 64 * 1_048_576
/** Above this limit outputs are dropped. Only reached if sockets are read although the sink is full. */
const REFUSE_BYTES_IN_ALL = 2 * FULL_BYTES_IN_ALL
const STOP_WITHIN_MS = 5_000

/** `makeCapacity` removes the oldest outputs of a full store. It resolves to whether there were any. */
export type Streams = Part & OutputSink & { makeCapacity(): Promise<boolean> }

interface StreamsDeps extends MasterDeps {
  /** Whether this master trims the streams for all masters. If left out, it does. */
  readonly isTrimming?: () => boolean
}

export function createStreams(deps: StreamsDeps): Streams {
  const sink = new CollectedOutputs(deps)
  return {
    routes: streamRoutes(deps.backend.streams, deps.inspections),
    accept: (type, workerId, outputs, exact) => sink.accept(type, workerId, outputs, exact),
    full: (type) => sink.full(type),
    onRelief: (listener) => sink.onRelief(listener),
    makeCapacity: () => sink.keeper.makeCapacity(),
    start: () => sink.keeper.start(),
    stop: () => sink.stop(),
  }
}

class CollectedOutputs implements OutputSink {
  readonly keeper: StreamKeeper
  readonly #deps: MasterDeps
  readonly #collectors = new Map<string, Collector>()
  readonly #listeners = new Set<() => void>()
  readonly #giveUp = new AbortController()
  readonly #logThrottle: LogThrottle
  readonly #dropped: Counter
  readonly #trimmed: Counter
  readonly #collectorDeps: CollectorDeps
  #bytes = 0
  #fullInAll = false
  /** Types for which `full` returned true, and for which no listener was called since. */
  readonly #fullTypes = new Set<string>()

  constructor(deps: StreamsDeps) {
    this.#deps = deps
    this.#logThrottle = new LogThrottle(deps.clock)
    const registers = [deps.metrics]
    this.#dropped = new Counter({
      name: 'svc_outputs_dropped_total',
      help: 'Outputs that were not stored in their stream.',
      labelNames: ['automation_type', 'reason'],
      registers,
    })
    this.#trimmed = new Counter({
      name: 'svc_outputs_trimmed_total',
      help: 'Entries removed from a stream because of its limits.',
      labelNames: ['automation_type'],
      registers,
    })
    this.keeper = new StreamKeeper({
      types: [...deps.catalog.keys()],
      streams: deps.backend.streams,
      timers: deps.timers,
      random: deps.random,
      isMine: deps.isTrimming ?? (() => true),
      onTrimmed: (type, count) => this.#trimmed.inc({ automation_type: type }, count),
      onFailed: (error) =>
        this.#logThrottle.run('keeper', (suppressed) =>
          deps.log.warn('failed to trim the output streams', { error, more_since_last_line: suppressed }),
        ),
    })
    this.#collectorDeps = {
      streams: deps.backend.streams,
      timers: deps.timers,
      random: deps.random,
      log: deps.log,
      producer: deps.masterId,
      giveUp: this.#giveUp.signal,
      onDropped: (type, count, reason, cause) => this.#onDropped(type, count, reason, cause),
      onStored: (type, _, trimmed) => void (trimmed > 0 && this.#trimmed.inc({ automation_type: type }, trimmed)),
      onRemoved: (_, bytes) => this.#onRemoved(bytes),
    }
  }

  accept(type: string, workerId: string, outputs: readonly Output[], exact = outputs): void {
    const entry = this.#deps.catalog.get(type)
    if (entry === undefined) throw new TypeError(`no automation of type "${type}" is installed`)
    const collector = this.#collectorOf(type)
    for (const [at, output] of outputs.entries()) {
      const payload = exact[at]?.payload
      const infinite = payload === output.payload ? undefined : infiniteNumber(payload)
      const [fault] = entry.validateOutput(output.payload)
      if (fault !== undefined)
        this.#refuse(type, workerId, 'invalid', `${fault.path || 'the payload'}: ${fault.message}`)
      else if (infinite !== undefined) this.#refuse(type, workerId, 'invalid', `${infinite}: is too large for a number`)
      else if (this.#bytes >= REFUSE_BYTES_IN_ALL)
        this.#refuse(type, workerId, 'overload', 'too many outputs are waiting for the store')
      else this.#add(collector, entryText(workerId, output, payload))
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
    await this.keeper.stop()
    const cancel = this.#deps.timers.after(STOP_WITHIN_MS, () => this.#giveUp.abort())
    await Promise.all([...this.#collectors.values()].map((each) => each.settled()))
    cancel()
  }

  #collectorOf(type: string): Collector {
    const known = this.#collectors.get(type)
    if (known !== undefined) return known
    const made = new Collector(type, this.#collectorDeps)
    this.#collectors.set(type, made)
    return made
  }

  #add(collector: Collector, text: JsonText): void {
    const bytes = Buffer.byteLength(text)
    this.#bytes += bytes
    collector.add(text, bytes)
  }

  /** Drops one output that was not collected. */
  #refuse(type: string, workerId: string, reason: string, why: string): void {
    this.#dropped.inc({ automation_type: type, reason })
    this.#logThrottle.run(`${type}/${workerId}/${reason}`, (suppressed) =>
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
    if (reason === 'store_full') void this.keeper.makeCapacity()
    this.#logThrottle.run(`${type}//${reason}`, (suppressed) =>
      this.#deps.log.error('outputs were dropped: the store rejected them', {
        automation_type: type,
        reason,
        count,
        error: cause,
        more_since_last_line: suppressed,
      }),
    )
  }

  #onRemoved(bytes: number): void {
    this.#bytes -= bytes
    const relieved = [...this.#fullTypes].filter((type) => !this.full(type))
    if (relieved.length === 0) return
    for (const type of relieved) this.#fullTypes.delete(type)
    for (const listener of this.#listeners) listener()
  }
}

/** The stored form. The id is inserted when it is read. */
function entryText(workerId: string, { slot_id: slotId, ts, task_id: taskId }: Output, payload: unknown): JsonText {
  const task = taskId === undefined ? '' : `,"task_id":${JSON.stringify(taskId)}`
  const from = `"slot_id":${slotId},"ts":${ts},"worker_id":${JSON.stringify(workerId)}${task}`
  return `{${from},"payload":${JSON.stringify(payload)}}`
}
