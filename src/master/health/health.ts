/**
 * @module master/health/health
 * Serves the probes (D45). `/healthz` shows whether the process is alive; it never calls the backend, because a restart
 * would not repair the backend. `/readyz` shows whether the master can take traffic. Its response contains no address,
 * host or error text (S18).
 */
import { HealthBody, ReadyBody } from '../../protocol/index.ts'
import type { MasterDeps, Part } from '../deps.ts'
import { route } from '../http/index.ts'

export interface HealthDeps extends Pick<MasterDeps, 'backend' | 'catalog'> {
  /** False as soon as the master begins to stop. */
  readonly isServing: () => boolean
  /** Problems that do not prevent the master from serving, such as invalid changes of the token settings. */
  readonly warnings?: () => readonly string[]
}

export function createHealth({ backend, catalog, isServing, warnings = () => [] }: HealthDeps): Part {
  return {
    routes: [
      route({
        method: 'GET',
        path: '/healthz',
        access: 'none',
        needs: null,
        isProbe: true,
        summary: 'Whether the master is up.',
        response: HealthBody,
        handle: () => ({ body: { status: 'ok' } }),
      }),
      route({
        method: 'GET',
        path: '/readyz',
        access: 'none',
        needs: null,
        isProbe: true,
        summary: 'Whether the master can serve, with the state of each component.',
        response: ReadyBody,
        others: {
          503: {
            description: 'The master cannot serve: a component is unavailable, or the master is stopping.',
            schema: ReadyBody,
          },
        },
        handle: () => {
          const parts = { backend: backend.health().ok, catalog: catalog.size > 0, serving: isServing() }
          const activeWarnings = warnings()
          const ready = Object.values(parts).every(Boolean)
          return {
            status: ready ? 200 : 503,
            ...(ready ? {} : { headers: { 'retry-after': '1' } }),
            body: {
              status: ready ? 'ready' : 'not ready',
              parts,
              ...(activeWarnings.length > 0 && { warnings: activeWarnings }),
            },
          }
        },
      }),
    ],
  }
}
