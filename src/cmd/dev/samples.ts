/**
 * @module cmd/dev/samples
 * Enables a worker that has never been configured (generation 0), with the same PATCH request that a user would send.
 */
import { MasterError, type MasterClient } from '../../client/index.ts'
import type { JsonObject } from '../../protocol/index.ts'
import type { Clock, Timers } from '../../runtime/index.ts'

/** @returns a working config for the built-in automations, and `{ enabled: true }` for every other one. */
export function sampleConfig(type: string, listenPort: number): JsonObject {
  const local = { allow_cidrs: ['127.0.0.0/8', '::1/128'], allow_ports: [...new Set([80, 443, listenPort])] }
  if (type === 'http-probe')
    return {
      enabled: true,
      slots: 1,
      interval_seconds: 2,
      targets: [{ name: 'master', url: `http://127.0.0.1:${listenPort}/healthz` }],
      ...local,
    }
  if (type === 'http-request') return { enabled: true, slots: 2, ...local }
  return { enabled: true }
}

/** Result of {@link enable}. `refused`: why the master rejected the sample config. */
export type Enabled = 'enabled' | 'as configured before' | { readonly refused: string }

/**
 * Waits until the worker is connected, since an earlier start may have left its record. Enables it if it was never
 * configured.
 */
export async function enable(
  client: MasterClient,
  type: string,
  id: string,
  config: JsonObject,
  timers: Timers,
  signal: AbortSignal,
): Promise<Enabled> {
  for (;;) {
    const worker = await orNull(client.workers.get(type, id, { signal }))
    if (worker?.connected === true) {
      if (worker.config_gen > 0) return 'as configured before'
      try {
        await client.workers.patchConfig(type, id, config, { signal })
        return 'enabled'
      } catch (error) {
        if (error instanceof MasterError && error.code === 'INVALID') return { refused: error.message }
        throw error
      }
    }
    await timers.sleep(100, signal)
  }
}

/** Waits until one of `types` has output. @returns that type, or null when none had output within `withinMs`. */
export async function firstOutput(
  client: MasterClient,
  types: readonly string[],
  time: Clock & Timers,
  withinMs: number,
  signal: AbortSignal,
): Promise<string | null> {
  const startedMs = time.monotonicMs()
  while (time.monotonicMs() - startedMs < withinMs) {
    for (const type of types) {
      const output = await orNull(client.output.length(type, { signal }))
      if (output !== null && output.length > 0) return type
    }
    await time.sleep(250, signal)
  }
  return null
}

/** Returns the body of a response; null while the worker is unknown or the master cannot respond. */
async function orNull<T>(call: Promise<{ readonly body: T }>): Promise<T | null> {
  try {
    return (await call).body
  } catch (error) {
    if (error instanceof MasterError && (error.code === 'NOT_FOUND' || error.isRetryable)) return null
    throw error
  }
}
