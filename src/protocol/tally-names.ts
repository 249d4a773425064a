/**
 * @module protocol/tally-names
 * Names the counters of a tally: the sum of what all workers did under one revision (D138).
 *
 *   runs_ok|runs_failed|runs_released   runs of a batch automation, by their end
 *   slot_failures                       slots that could not start; continuous runs that threw
 *   run_ms_le.<i>                       runs by their duration (reserved-metrics.ts)
 *   error_entries                       how often a worker entered the state ERROR
 *   worker_seconds                      time that workers ran the revision, between their statistics
 *   counter.<name>                      counters of plugins, at most 64
 */
import { RESERVED_METRICS, RESERVED_PREFIX, RUN_MS_NAMES } from './reserved-metrics.ts'

const COUNTER = 'counter.'
const RESERVED_COUNTER = `${COUNTER}${RESERVED_PREFIX}`

/** The counters of a tally that workers do not send. */
export const TALLY_NAMES = { errorEntries: 'error_entries', workerSeconds: 'worker_seconds' } as const

/** The name in a tally of each reserved metric that is added up, by its name in the statistics. */
export const TALLIED_METRICS: ReadonlyMap<string, string> = new Map(
  [
    RESERVED_METRICS.runsOk,
    RESERVED_METRICS.runsFailed,
    RESERVED_METRICS.runsReleased,
    RESERVED_METRICS.slotFailures,
    ...RUN_MS_NAMES,
  ].map((name) => [name, name.slice(RESERVED_COUNTER.length)]),
)
const OWN_NAMES: ReadonlySet<string> = new Set([...TALLIED_METRICS.values(), ...Object.values(TALLY_NAMES)])

/** Recognises a counter of a plugin. @returns whether this is its name, in statistics as in a tally. */
export const isPluginCounter = (name: string): boolean => name.startsWith(COUNTER) && !name.startsWith(RESERVED_COUNTER)

/** Recognises the names of a tally. @returns whether it may have a counter of this name. */
export const isTallyName = (name: string): boolean => OWN_NAMES.has(name) || isPluginCounter(name)
