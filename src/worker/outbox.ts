/**
 * @module worker/outbox
 * Buffers and sends, in order, everything that the control channel sends after `register`.
 *
 *   output ─▶ open frame ──10 ms, or full──▶ sealed frames ──▶ socket        1,024 frames, 16 MiB; oldest evicted
 *   state, stats ─▶ "due" ─────── made at the moment of sending ──▶ socket   newest only, not counted in the bound
 *
 * Outputs of the same moment share a frame (D37). While nothing can be sent, the open frame fills up, so a disconnect
 * costs few frames. When the buffer is full, the oldest frames are dropped, and their outputs are counted. A frame that
 * the socket accepted is never sent again, so an output arrives at most once (G10). Outcomes of tasks do not use the
 * outbox (G11); see outcome-queue.ts.
 */
import {
  MAX_FRAME_BYTES,
  MAX_OUTPUTS_PER_FRAME,
  toSeconds,
  WORKER_BUFFER_BYTES,
  WORKER_BUFFER_FRAMES,
  type JsonObject,
} from '../protocol/index.ts'
import type { Cancel, Clock, Log, Timers } from '../runtime/index.ts'

/** How long an output waits for further outputs, to share a frame. */
const GROUP_MS = 10
/** Limit of unsent bytes in the socket. Beyond it, frames wait in the outbox, where they can still be dropped. */
export const SOCKET_HIGH_BYTES = 1_048_576
const WARN_EVERY_MS = 60_000
const HEAD = '{"type":"output_batch","outputs":['
const TAIL = ']}'

/** The sending side of an open connection. */
export interface Sink {
  /** Bytes that the socket accepted and did not send yet. */
  readonly bufferedAmount: number
  /** Calls `done` once, when the frame was sent or the connection broke. */
  send(text: string, done: () => void): void
}

/** Frames of which only the newest matters. They are created when they can be sent. */
interface Reports {
  /** The frame as JSON text. */
  state(): string
  stats(): string
}
export type ReportName = keyof Reports

/** One output as JSON text, in parts: `{"slot_id":0,"ts":1`, `,"task_id":"a"` or nothing, `,"payload":{}}`. */
interface OutputParts {
  readonly start: string
  readonly task: string
  readonly end: string
}

interface SealedFrame {
  readonly entries: readonly OutputParts[]
  readonly bytes: number
}

export interface OutboxDeps {
  readonly clock: Clock
  readonly timers: Timers
  readonly log: Log
  readonly reports: Reports
  /** Whether the master of the current connection reads the task of an output (D188). */
  readonly canNameTasks: () => boolean
  /** Maximum number of waiting frames; only tests set it. With full frames, the limit of 16 MiB applies first. */
  readonly maxFrames?: number
}

export class Outbox {
  readonly #deps: OutboxDeps
  readonly #sealed: SealedFrame[] = []
  readonly #due = new Set<ReportName>()
  #entries: OutputParts[] = []
  #openBytes = 0
  #sealedBytes = 0
  #grouping: Cancel | undefined
  #sink: Sink | undefined
  #evicted = 0
  #warnedAtMs = -Infinity
  #idleWaiters: (() => void)[] = []

  constructor(deps: OutboxDeps) {
    this.#deps = deps
  }

  /** Number of outputs dropped since the process started because the buffer was full. */
  get outputsEvicted(): number {
    return this.#evicted
  }

  /** Number of waiting frames, including the open one. */
  get frames(): number {
    return this.#sealed.length + (this.#entries.length > 0 ? 1 : 0)
  }

  /**
   * Buffers one output. @param taskId The task of the run, left out of an output that would become larger than a frame.
   * @throws {RangeError} when it is larger than a frame.
   */
  output(slotId: number, payload: JsonObject, taskId: string | null = null): void {
    const start = `{"slot_id":${slotId},"ts":${toSeconds(this.#deps.clock.wallMs())}`
    const end = `,"payload":${JSON.stringify(payload)}}`
    const plainBytes = start.length + Buffer.byteLength(end) + 1
    const longTask = taskId === null ? '' : `,"task_id":${JSON.stringify(taskId)}`
    const task = HEAD.length + plainBytes + Buffer.byteLength(longTask) + TAIL.length > MAX_FRAME_BYTES ? '' : longTask
    const bytes = plainBytes + Buffer.byteLength(task)
    if (HEAD.length + bytes + TAIL.length > MAX_FRAME_BYTES) {
      throw new RangeError(
        `the output has ${bytes} bytes as JSON, and the maximum is ${MAX_FRAME_BYTES}; ` +
          'emit it in parts, or emit a reference to it',
      )
    }
    if (HEAD.length + this.#openBytes + bytes + TAIL.length > MAX_FRAME_BYTES) this.#seal()
    this.#entries.push({ start, task, end })
    this.#openBytes += bytes
    if (this.#entries.length >= MAX_OUTPUTS_PER_FRAME) this.#seal()
    this.#evictExcess()
    this.#grouping ??= this.#deps.timers.after(GROUP_MS, () => {
      this.#grouping = undefined
      this.#flush()
    })
  }

  /** Requests a report. Requests before it can be sent are combined into one. */
  report(name: ReportName): void {
    this.#due.add(name)
    this.#flush()
  }

  /** Sends a response to a frame now, or drops it while the socket is behind: the master requests it again. */
  respond(text: string): void {
    const sink = this.#sink
    if (sink !== undefined && sink.bufferedAmount < SOCKET_HIGH_BYTES) this.#send(sink, text)
  }

  /** Starts sending to a registered connection: state and stats first, then the waiting outputs. */
  attach(sink: Sink): void {
    this.#sink = sink
    this.#due.clear()
    this.#due.add('state').add('stats')
    this.#flush()
  }

  detach(): void {
    this.#sink = undefined
  }

  /** Resolves when nothing waits and the socket has sent everything. */
  async idle(): Promise<void> {
    this.#flush()
    while (this.frames > 0 || (this.#sink?.bufferedAmount ?? 0) > 0)
      await new Promise<void>((resolve) => void this.#idleWaiters.push(resolve))
  }

  #flush(): void {
    const sink = this.#sink
    if (sink === undefined) return
    for (const name of this.#due) {
      if (sink.bufferedAmount >= SOCKET_HIGH_BYTES) return
      this.#due.delete(name)
      this.#send(sink, this.#deps.reports[name]())
    }
    while (sink.bufferedAmount < SOCKET_HIGH_BYTES) {
      if (this.#sealed.length === 0) this.#seal()
      const frame = this.#sealed.shift()
      if (frame === undefined) return
      this.#sealedBytes -= frame.bytes
      this.#send(sink, frameText(frame.entries, this.#deps.canNameTasks()))
    }
  }

  #send(sink: Sink, text: string): void {
    sink.send(text, () => {
      const waits = this.#sealed.length > 0 || this.#due.size > 0 || this.#grouping === undefined
      if (sink === this.#sink && waits) this.#flush()
      for (const wake of this.#idleWaiters.splice(0)) wake()
    })
  }

  #seal(): void {
    if (this.#entries.length === 0) return
    const bytes = HEAD.length + this.#openBytes + TAIL.length
    this.#sealed.push({ entries: this.#entries, bytes })
    this.#sealedBytes += bytes
    this.#entries = []
    this.#openBytes = 0
  }

  #evictExcess(): void {
    while (
      this.frames > (this.#deps.maxFrames ?? WORKER_BUFFER_FRAMES) ||
      this.#sealedBytes + this.#openBytes > WORKER_BUFFER_BYTES
    ) {
      const oldest = this.#sealed.shift()
      if (oldest === undefined) return
      this.#sealedBytes -= oldest.bytes
      this.#evicted += oldest.entries.length
      this.#warn()
    }
  }

  #warn(): void {
    const now = this.#deps.clock.monotonicMs()
    if (now - this.#warnedAtMs < WARN_EVERY_MS) return
    this.#warnedAtMs = now
    this.#deps.log.warn('output buffer full: dropping the oldest outputs until the master is reachable', {
      outputs_evicted: this.#evicted,
    })
  }
}

/** The text of a frame, which depends on the master that receives it. */
function frameText(entries: readonly OutputParts[], canNameTasks: boolean): string {
  const texts = entries.map(({ start, task, end }) => `${start}${canNameTasks ? task : ''}${end}`)
  const [only = ''] = texts
  return texts.length === 1 ? `{"type":"output",${only.slice(1)}` : `${HEAD}${texts.join(',')}${TAIL}`
}
