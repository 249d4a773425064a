/** The RPC of workers, and their bus messages. */
export { createRpc } from './rpc.ts'
