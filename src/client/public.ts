/** The client for programs that submit tasks and read outputs, published as `muster/client`. */
export { MusterClient } from './published/muster-client.ts'
export { MusterError, type Fault, type MusterErrorCode } from './published/muster-error.ts'
export { TaskFailed } from './published/task-failed.ts'
export type {
  AutomationClient,
  CallOptions,
  CancelledTask,
  DeadLetters,
  DeadTask,
  EventsOptions,
  FleetEvent,
  JsonObject,
  MusterClientOptions,
  NewTask,
  OutputEntry,
  OutputGap,
  OutputOf,
  OutputsOptions,
  Page,
  PageOptions,
  Pause,
  PayloadOf,
  QueuedTask,
  QueuePage,
  ResultOf,
  SelectedTask,
  SubmitOutcome,
  SubmittedTask,
  TaskOptions,
  TaskRetry,
  TaskState,
} from './published/api.ts'
