/**
 * Exports the parts of the protocol that need no schema library: bounds and errors. The published client is made from
 * these, because schemas and their validator are larger than the whole client.
 */
export { ERRORS, type ErrorCode, type FieldError } from './errors.ts'
export { API_PREFIX, MAX_N, MAX_TASKS_PER_BATCH } from './limits.ts'
