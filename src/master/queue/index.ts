/** Task queues: submit and inspect routes, and the reserve and settle calls that the RPC of workers uses. */
export { createBatcher, RUN_ITEMS } from './batcher.ts'
export { totalsBody } from './counts.ts'
export { readDeadGroups } from './dead-groups.ts'
export { Queue } from './queue.ts'
export type { LeaseExtension } from './type-queue.ts'
