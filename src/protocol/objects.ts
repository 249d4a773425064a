/**
 * @module protocol/objects
 * Lists the shapes that have a name in the OpenAPI document. Other shapes are written out wherever they are used.
 */
import type { TSchema } from 'typebox'
import { QueuePause } from './events.ts'
import { Hardware, SlotStats, Stats } from './frames.ts'
import {
  AutomationDescriptor,
  BatchResult,
  CatalogEntryBody,
  ConfigBody,
  DeadItem,
  FieldErrorBody,
  InvalidBody,
  OutputEntry,
  QueueItem,
  ErrorBody,
  StatsSummary,
  SubmitResult,
  TaskBody,
  WorkerBody,
  WorkerSummary,
} from './rest.ts'
import { PoolItem } from './pool-claims.ts'
import { PoolClaim, ReservedTask } from './rpc.ts'
import { TaskPlace } from './task-state.ts'
import { RPC_CALLS, RpcCall, RpcResponseBody } from './rpc-in-full.ts'

/** The named shapes, by name. */
export const OBJECTS: Readonly<Record<string, TSchema>> = {
  AutomationDescriptor,
  CatalogEntry: CatalogEntryBody,
  WorkerRecord: WorkerBody,
  WorkerSummary,
  Hardware,
  Stats,
  StatsSummary,
  SlotStats,
  Config: ConfigBody,
  OutputEntry,
  Task: TaskBody,
  TaskPlace,
  SubmitResult,
  BatchResult,
  QueueItem,
  QueuePause,
  DeadItem,
  PoolItem,
  ReservedTask,
  PoolClaim,
  Refusal: ErrorBody,
  Invalid: InvalidBody,
  FieldError: FieldErrorBody,
  RpcCall,
  RpcReply: RpcResponseBody,
  ...RPC_CALLS,
}
