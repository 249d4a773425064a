/**
 * Defines the wire: control frames, REST and rpc shapes, errors, limits, and the merging of configs.
 * No I/O. It imports no other area, and every area may import it.
 */
export * from './bound-secrets.ts'
export * from './compare.ts'
export * from './config.ts'
export * from './errors.ts'
export * from './events.ts'
export * from './features.ts'
export * from './frames.ts'
export * from './json.ts'
export * from './limits.ts'
export * from './names.ts'
export * from './task-extras.ts'
export * from './objects.ts'
export * from './permissions.ts'
export * from './rest.ts'
export * from './rpc.ts'
export * from './rpc-in-full.ts'
export * from './source-numbers.ts'
export * from './task-state.ts'
export * from './units.ts'
export * from './validator.ts'
