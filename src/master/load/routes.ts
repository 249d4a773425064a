/**
 * @module master/load/routes
 * Serves the load of a type to autoscalers (D139), and computes `svc_wanted_slots` from it. Only counters are read,
 * every 5 s, so neither depends on the length of the queue or on the number of callers.
 */
import {
  API_PREFIX,
  DEFAULT_TARGET_WAIT_SECONDS,
  FleetError,
  LOAD_SAMPLE_EVERY_MS,
  LoadBody,
  LoadQuery,
} from '../../protocol/index.ts'
import { LogThrottle } from '../../runtime/index.ts'
import type { MasterDeps, Part } from '../deps.ts'
import { route, type Route } from '../http/index.ts'
import { LoadSamples, type LoadSample } from './load-samples.ts'
import { loadOf, type LoadOptions, type Workforce } from './load.ts'

export interface Load extends Part {
  /** The newest samples of a type, oldest first; empty without a queue, and if the newest one is too old. */
  samples(type: string): readonly LoadSample[]
  /** The slots of a type at the target wait of the settings; undefined without a sample, or without a queue. */
  wantedSlots(type: string, workforce: Workforce): number | undefined
}

export interface LoadDeps extends MasterDeps {
  /** The workers of a type, at most 5 s old. */
  readonly workforce: (type: string) => Promise<Workforce>
}

/** Older samples than this say nothing about the present load. */
const OUTDATED_AFTER_MS = 3 * LOAD_SAMPLE_EVERY_MS

export function createLoad(deps: LoadDeps): Load {
  const { backend, catalog, clock, log, settings, timers, workforce } = deps
  const logThrottle = new LogThrottle(clock)
  const batchTypes = [...catalog.values()].filter(({ kind }) => kind === 'BatchAutomation').map(({ type }) => type)
  const samples = new LoadSamples(batchTypes, {
    clock,
    timers,
    tasks: backend.tasks,
    onFailed: (error) =>
      logThrottle.run('load', (suppressed) =>
        log.warn('failed to count the queues; their load is not known until the store responds', { error, suppressed }),
      ),
  })
  const targetWaitSeconds = settings.loadTargetWaitSeconds ?? DEFAULT_TARGET_WAIT_SECONDS
  const current = (type: string): readonly LoadSample[] => {
    const ofType = samples.of(type)
    const age = clock.monotonicMs() - (ofType.at(-1)?.atMs ?? -Infinity)
    return age > OUTDATED_AFTER_MS ? [] : ofType
  }
  return {
    routes: [loadRoute({ workforce, current, isBatch: (type) => batchTypes.includes(type), targetWaitSeconds })],
    start: () => samples.start(),
    stop: () => samples.stop(),
    samples: current,
    wantedSlots: (type, staff) => {
      const ofType = current(type)
      return ofType.length === 0
        ? undefined
        : loadOf(ofType, staff, { targetWaitSeconds, slotsPerWorker: null }).wanted_slots
    },
  }
}

interface RouteDeps extends Pick<LoadDeps, 'workforce'>, Pick<LoadOptions, 'targetWaitSeconds'> {
  /** The samples of a type; empty if the newest one is too old. */
  readonly current: (type: string) => readonly LoadSample[]
  readonly isBatch: (type: string) => boolean
}

function loadRoute({ workforce, current, isBatch, targetWaitSeconds }: RouteDeps): Route {
  return route({
    method: 'GET',
    path: `${API_PREFIX}/automations/{type}/load`,
    access: 'scoped',
    needs: ['read', 'scale'],
    query: LoadQuery,
    response: LoadBody,
    summary:
      'What an autoscaler needs: backlog, rates of the last minute, and the slots and workers for a target wait.',
    handle: async ({ entry: { type }, query }) => {
      if (!isBatch(type))
        throw new FleetError('NOT_FOUND', `${type} is a continuous automation: it has no queue, and so no load`)
      const samples = current(type)
      if (samples.length === 0)
        throw new FleetError('STORAGE_UNAVAILABLE', `the queue of ${type} was not counted in the last 15 s`, {
          outcome: 'not_sent',
          retryAfterSeconds: LOAD_SAMPLE_EVERY_MS / 1_000,
        })
      const options = {
        targetWaitSeconds: query.target_wait_seconds ?? targetWaitSeconds,
        slotsPerWorker: query.slots_per_worker ?? null,
      }
      return { body: loadOf(samples, await workforce(type), options) }
    },
  })
}
