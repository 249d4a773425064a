/**
 * @module cmd/dev/samples
 * Enables a worker that has never been configured (generation 0), with the same PATCH request that a user would send.
 */
import type { Clock, Timers } from '../../runtime/index.ts'

export interface Master {
  readonly url: string
  readonly adminToken: string
}

/** @returns a working config for the built-in automations, and `{ enabled: true }` for every other one. */
export function sampleConfig(type: string, listenPort: number): Record<string, unknown> {
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

async function call(
  master: Master,
  method: string,
  path: string,
  body?: unknown,
): Promise<{ status: number; body: unknown }> {
  const response = await fetch(`${master.url}/api/v1${path}`, {
    method,
    headers: {
      authorization: `Bearer ${master.adminToken}`,
      'muster-actor': 'muster dev',
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    signal: AbortSignal.timeout(10_000),
  })
  return { status: response.status, body: await response.json() }
}

/**
 * Waits until the worker is connected, since an earlier start may have left its record. Enables it if it was never
 * configured.
 */
export async function enable(
  master: Master,
  type: string,
  id: string,
  config: Record<string, unknown>,
  timers: Timers,
  signal: AbortSignal,
): Promise<Enabled> {
  const path = `/automations/${type}/workers/${id}`
  for (;;) {
    const found = await call(master, 'GET', path)
    const worker = found.status === 200 ? (found.body as { connected: boolean; config_gen: number }) : null
    if (worker?.connected === true) {
      if (worker.config_gen > 0) return 'as configured before'
      const patched = await call(master, 'PATCH', `${path}/config`, config)
      return patched.status === 200
        ? 'enabled'
        : { refused: JSON.stringify((patched.body as { detail: unknown }).detail) }
    }
    await timers.sleep(100, signal)
  }
}

/** Waits until one of `types` has output. @returns that type, or null when none had output within `withinMs`. */
export async function firstOutput(
  master: Master,
  types: readonly string[],
  time: Clock & Timers,
  withinMs: number,
  signal: AbortSignal,
): Promise<string | null> {
  const startedMs = time.monotonicMs()
  while (time.monotonicMs() - startedMs < withinMs) {
    for (const type of types) {
      const { status, body } = await call(master, 'GET', `/automations/${type}/output/length`)
      if (status === 200 && (body as { length: number }).length > 0) return type
    }
    await time.sleep(250, signal)
  }
  return null
}
