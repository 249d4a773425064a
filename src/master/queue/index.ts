/** Task queues: submit and inspect routes, and the reserve and settle calls that the RPC of workers uses. */
export { Queue } from './queue.ts'
