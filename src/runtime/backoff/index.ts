/** How a process waits when a peer fails or refuses: backoff with jitter, `Retry-After`, and a bound on requests. */
export * from './backoff.ts'
export * from './refusal-limiter.ts'
export * from './retry-after.ts'
export * from './retry-delay.ts'
export * from './sleep.ts'
