/** Calls the API of a master, with types. */
export { MasterClient, type ClientOptions } from './client.ts'
export { MasterError, type MasterErrorCode } from './master-error.ts'
export type { MasterResponse } from './response.ts'
export type { FeedItem } from './feed.ts'
