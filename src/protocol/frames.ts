/**
 * @module protocol/frames
 * Defines the frames of the control channel as schemas, and a strict decoder for each direction.
 *
 *   worker ── register ──▶ master        first frame, within 10 s of the connection
 *   worker ── state, stats, output, output_batch, logs, ping ──▶ master
 *   worker ◀── config_changed, drain, ping, task_cancelled (D117), read_logs (D181) ── master
 *   worker ◀── task_assign (reserved, never sent) ── master
 *
 * Decoding is strict: an unknown type or field, or a wrong value, is a {@link FrameFault}.
 * @see D5, D6, D10, D12, D37, D136
 */
import { Type, type Static } from 'typebox'
import { MAX_OUTPUTS_PER_FRAME } from './limits.ts'
import { AnyObject, AutomationType, Maybe, Name, Nullable, Seconds, Strict, WorkerId } from './names.ts'
import { lazyValidator, type Validator } from './validator.ts'
import { WorkerLabels } from './worker-labels.ts'
import { logsFields, readLogsFields } from './worker-logs.ts'

const Count = Type.Integer({ minimum: 0 })
const Gen = Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER })

/** The states of a worker. */
export const WORKER_STATES = ['IDLE', 'RUNNING', 'ERROR', 'DRAINING'] as const
/** The state of a worker. */
export type WorkerState = (typeof WORKER_STATES)[number]
/** A state that a worker may report; only the master sets DRAINING. */
export const ReportedState = Type.Union([Type.Literal('IDLE'), Type.Literal('RUNNING'), Type.Literal('ERROR')])
export type ReportedState = Static<typeof ReportedState>

/** The hardware of a worker, as it reports it at registration. */
export const Hardware = Strict({
  cores: Count,
  ram_gb: Type.Number({ minimum: 0 }),
  hostname: Type.String(),
  kernel: Type.String(),
})
/**
 * The age and counters of one slot. `task_id` and `task_seconds`: the task that it runs, and for how long; absent
 * without one, and before the feature `slot_tasks` (D196).
 */
export const SlotStats = Strict({
  slot_id: Count,
  age_seconds: Type.Number({ minimum: 0 }),
  counters: AnyObject,
  task_id: Type.Optional(Name),
  task_seconds: Type.Optional(Type.Number({ minimum: 0 })),
})
export type SlotStats = Static<typeof SlotStats>
const statsFields = { slots: Count, cpu_pct: Type.Number(), rss_mb: Type.Number(), ts: Seconds, metrics: AnyObject }
/** The Stats object of the REST API. */
export const Stats = Strict({ ...statsFields, per_slot: Type.Array(SlotStats) })
export type Stats = Static<typeof Stats>
const outputFields = { slot_id: Count, ts: Seconds, task_id: Type.Optional(Name), payload: AnyObject }
/** One output in an `output_batch` frame. */
export const Output = Strict(outputFields)
export type Output = Static<typeof Output>

/** The frames that a worker sends, by type. */
export const WORKER_FRAMES = {
  register: Strict({
    type: Type.Literal('register'),
    worker_id: WorkerId,
    automation_type: AutomationType,
    protocol_version: Type.Integer(),
    hardware: Hardware,
    instance_id: Maybe(Name),
    labels: Maybe(WorkerLabels),
  }),
  state: Strict({
    type: Type.Literal('state'),
    state: ReportedState,
    config_gen: Gen,
    ts: Seconds,
    last_error: Nullable(Type.String()),
  }),
  stats: Strict({ type: Type.Literal('stats'), ...statsFields, per_slot: Maybe(Type.Array(SlotStats)) }),
  output: Strict({ type: Type.Literal('output'), ...outputFields }),
  output_batch: Strict({
    type: Type.Literal('output_batch'),
    outputs: Type.Array(Output, { minItems: 1, maxItems: MAX_OUTPUTS_PER_FRAME }),
  }),
  logs: Strict({ type: Type.Literal('logs'), ...logsFields }),
  ping: Strict({ type: Type.Literal('ping'), id: Type.String() }),
} as const

/** The frames that a master sends, by type. */
export const MASTER_FRAMES = {
  config_changed: Strict({ type: Type.Literal('config_changed'), config_gen: Gen }),
  drain: Strict({ type: Type.Literal('drain') }),
  ping: Strict({ type: Type.Literal('ping'), id: Type.String() }),
  task_cancelled: Strict({ type: Type.Literal('task_cancelled'), task_id: Name, token: Gen }),
  task_assign: Strict({ type: Type.Literal('task_assign'), task_id: Name, payload: AnyObject }),
  read_logs: Strict({ type: Type.Literal('read_logs'), ...readLogsFields }),
} as const

type FrameOf<S> = { [K in keyof S]: Static<S[K] & {}> }[keyof S]
/** A frame of a worker as it is on the wire, with snake_case keys (D41). */
export type WorkerFrame = FrameOf<typeof WORKER_FRAMES>
/** A frame of a master as it is on the wire, with snake_case keys (D41). */
export type MasterFrame = FrameOf<typeof MASTER_FRAMES>

/** Thrown for a frame that cannot be decoded. `isUnknownType` selects close code 1008 instead of 1007 (D12). */
export class FrameFault extends Error {
  override readonly name = 'FrameFault'
  readonly isUnknownType: boolean
  /**
   * Creates the error of one frame.
   * @param message Names the field and the problem; sent as the reason of the close frame.
   * @param isUnknownType Whether the `type` of the frame is unknown.
   */
  constructor(message: string, isUnknownType: boolean) {
    super(message)
    this.isUnknownType = isUnknownType
  }
}

function decoder(schemas: Readonly<Record<string, object>>): (text: string) => { readonly type: string } {
  const validators = new Map<string, Validator>(
    Object.entries(schemas).map(([type, schema]) => [type, lazyValidator(schema)]),
  )
  return (text) => {
    let frame: unknown
    try {
      frame = JSON.parse(text)
    } catch (cause) {
      throw new FrameFault(`the frame is not JSON: ${(cause as Error).message}`, false)
    }
    if (typeof frame !== 'object' || frame === null || Array.isArray(frame))
      throw new FrameFault('the frame is not a JSON object', false)
    const type = (frame as { type?: unknown }).type
    if (typeof type !== 'string') throw new FrameFault('/type: expected a string', false)
    const validate = validators.get(type)
    if (validate === undefined)
      throw new FrameFault(`/type: "${type}" is not known; known: ${[...validators.keys()].join(', ')}`, true)
    const [fault] = validate(frame)
    if (fault !== undefined) throw new FrameFault(`${fault.path}: ${fault.message}`, false)
    return frame as { readonly type: string } // Checked against its schema just now.
  }
}

/** Decodes the text of a frame of a worker. @throws {FrameFault} naming the field and the problem of its value. */
export const decodeWorkerFrame = decoder(WORKER_FRAMES) as (text: string) => WorkerFrame
/** Decodes the text of a frame of a master. @throws {FrameFault} naming the field and the problem of its value. */
export const decodeMasterFrame = decoder(MASTER_FRAMES) as (text: string) => MasterFrame
