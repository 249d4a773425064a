/** @module master/operations/operations  Composes the routes of operations and their runner. */
import { LogThrottle } from '../../runtime/index.ts'
import type { MasterDeps, Part } from '../deps.ts'
import type { MasterMembership } from '../master-membership.ts'
import type { MasterReleases } from '../master-releases.ts'
import type { Queue } from '../queue/index.ts'
import type { Registry } from '../registry/index.ts'
import { OperationCreator } from './create.ts'
import { DrainSteps } from './drain-steps.ts'
import { OperationMetrics } from './operation-metrics.ts'
import { OperationStore } from './operation-store.ts'
import { PatchSteps } from './patch-steps.ts'
import { operationRoutes } from './routes.ts'
import { OperationRunner } from './runner.ts'

interface OperationsDeps extends MasterDeps {
  readonly masters: Pick<MasterMembership, 'isLeader'>
  readonly releases: MasterReleases
  readonly registry: Registry
  readonly queue: Pick<Queue, 'countDead' | 'replayDead'>
}

export function createOperations(deps: OperationsDeps): Part {
  const { backend, catalog, clock, log, masterId, masters, queue, registry, releases, timers } = deps
  const store = new OperationStore(backend)
  const throttle = new LogThrottle(clock)
  const onFailed = (what: string, error: unknown): void =>
    throttle.run(what, (suppressed) =>
      log.warn(`failed to ${what}; it is tried again`, { error, more_since_last_line: suppressed }),
    )
  const creator = new OperationCreator({ ...deps, store, countDead: (type, of) => queue.countDead(type, of) })
  const isLeader = (): boolean => masters.isLeader()
  const runner = new OperationRunner({
    store,
    types: [...catalog.keys()],
    masterId,
    clock,
    timers,
    isLeader,
    metrics: new OperationMetrics(deps.metrics, { clock, isLeader }),
    patch: new PatchSteps({
      ...deps,
      registry,
      onFailed: (error) => onFailed('change the config of a worker for an operation', error),
    }),
    drain: new DrainSteps({ backend, clock, registry }),
    replay: (type, of, n) => queue.replayDead(type, of, n),
    onFailed,
  })
  const routes = operationRoutes({
    backend,
    catalog,
    clock,
    store,
    creator,
    requireRelease: () => releases.require('operations'),
    onCreated: () => runner.wake(),
  })
  return { routes, start: () => runner.start(), stop: () => runner.stop() }
}
