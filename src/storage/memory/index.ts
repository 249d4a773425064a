/** `memory://`: everything in the process, nothing kept. */
export { MemoryBackend } from './memory-backend.ts'
export type { MemoryBackendOptions } from './memory-backend.ts'
