/** State in a Redis of version 7.0 or later (`kvstore://`, `kvstores://`), for any number of masters. */
export { RedisBackend, type RedisBackendOptions } from './redis-backend.ts'
export { readRedisInfo } from './read-info.ts'
export { describeUrl, parseStoreUrl, REDIS_SCHEMES, type StoreUrl } from './url.ts'
