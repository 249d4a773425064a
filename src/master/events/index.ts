/** The event log as server-sent events, and what changed since one of them. */
export { changedWorkers } from './changed-workers.ts'
export { createEvents } from './events.ts'
export type { Feed } from './feed.ts'
