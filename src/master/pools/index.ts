/** The pools in the REST API. Workers claim items over RPC. */
export { createPools } from './pools.ts'
export { PoolWaiters } from './waiters.ts'
