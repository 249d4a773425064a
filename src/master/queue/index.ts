/** Task queues: submission, inspection, and the reserving and settling that the rpc of workers builds on. */
export { createQueue, type Queue } from './queue.ts'
