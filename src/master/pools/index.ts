/** Pools as the REST API shows them; claims are made over rpc. */
export { createPools } from './pools.ts'
