/** The calls of workers, and the bus messages they listen to. */
export { createRpc } from './rpc.ts'
