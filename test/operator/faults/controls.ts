/**
 * Operators that lack one safeguard each: a test double replaces the real part. The source of the product contains none
 * of them. The tests show that each missing safeguard is detected.
 */
import { INDICES, type FleetWorkerObject } from '../../../src/operator/fleetworker/index.ts'
import {
  KubeError,
  WritableCache,
  type KubeRequest,
  type KubeTransport,
  type WatchLine,
} from '../../../src/operator/kube/index.ts'
import type { KubeResponse } from '../../../src/operator/kube/transport.ts'
import { FLEETWORKERS } from '../fleetworker/kinds.ts'
import type { Variants } from './life.ts'
import type { FaultFixture } from './fixture.ts'

const withJson = (
  real: KubeTransport,
  json: (
    request: KubeRequest,
    send: <T>(altered?: KubeRequest) => Promise<KubeResponse<T>>,
  ) => Promise<KubeResponse<unknown>>,
): KubeTransport => ({
  json: <T>(request: KubeRequest, signal: AbortSignal) =>
    json(request, <U>(altered = request) => real.json<U>(altered, signal)) as Promise<KubeResponse<T>>,
  lines: (request, signal) => real.lines(request, signal),
})

const isOneFleetWorker = ({ method, path }: KubeRequest): boolean =>
  method === 'GET' && /\/fleetworkers\/[^/]+$/.test(path)

export const withoutIfMatch: Variants = {
  headers: (headers) => Object.fromEntries(Object.entries(headers).filter(([name]) => name !== 'if-match')),
}

/** Reads of a single object are as stale as lists. */
export const withoutReadingAgain = (fixture: FaultFixture): Variants => ({
  transport: (real) =>
    withJson(real, async (request, send) => {
      const answer = await send<FleetWorkerObject>()
      if (!isOneFleetWorker(request)) return answer
      const name = request.path.split('/').at(-1) ?? ''
      const { horizon, server } = fixture.api
      const then = server.store
        .list(FLEETWORKERS, undefined, Math.min(horizon, server.store.version))
        .find(({ metadata }) => metadata.name === name)
      return { ...answer, body: then ?? answer.body }
    }),
})

/** Takes every cache for fresh, so nothing is read again. */
export const withoutProofOfFreshness: Variants = { progress: () => ({ asOfMs: Infinity, wrote: () => {} }) }

/** Pretends that the status already names every field. */
class RememberingCache extends WritableCache<FleetWorkerObject> {
  constructor() {
    super(INDICES)
  }

  override get(key: `${string}/${string}`): FleetWorkerObject | undefined {
    const object = super.get(key)
    const known = object?.status?.config?.sources ?? []
    const more = (object?.spec.configFrom ?? [])
      .filter(({ field }) => !known.some((each) => each.field === field))
      .map(({ field }) => ({ field, version: '' }))
    return object === undefined || more.length === 0
      ? object
      : { ...object, status: { ...object.status, config: { ...object.status?.config, sources: [...known, ...more] } } }
  }
}
export const withoutWriteAhead: Variants = { cache: () => new RememberingCache() }

/** Writes statuses without checking the version of the object. */
export const withoutVersionInStatus: Variants = {
  transport: (real) =>
    withJson(real, (request, send) => {
      if (request.method !== 'PATCH' || !request.path.endsWith('/status')) return send()
      const body = request.body as { readonly metadata: { readonly resourceVersion?: string } }
      const { resourceVersion: _, ...metadata } = body.metadata
      return send({ ...request, body: { ...body, metadata } })
    }),
}

/** Treats an expired watch as an ordinary fault. */
export const withoutRelist: Variants = {
  transport: (real) => ({
    json: real.json.bind(real),
    async *lines(request, signal): AsyncGenerator<WatchLine> {
      try {
        yield* real.lines(request, signal)
      } catch (error) {
        throw error instanceof KubeError && error.status === 410
          ? new KubeError(500, 'InternalError', error.message)
          : error
      }
    },
  }),
}

export const withoutMayWrite: Variants = {
  leadership: (real) => ({
    state: real.state,
    mayWrite: () => true,
    leadsUntilMs: () => Infinity,
    confirm: async () => true,
    release: () => real.release(),
  }),
}
