/**
 * @module master/deps
 * What the folders of the master share: the ports, the store, the catalog and the settings. Made once in master.ts.
 */
import type { Registry as MetricsRegistry } from 'prom-client'
import type { Catalog } from '../automation/index.ts'
import type { Clock, Log, Random, Timers } from '../runtime/index.ts'
import type { Backend } from '../storage/index.ts'
import type { StoreEpoch } from './epoch.ts'
import type { Route } from './http/route.ts'
import type { Inspections } from './inspections/index.ts'

/** The settings that core logic needs; durations as the setting's own unit says. */
export interface MasterSettings {
  readonly submitRpsPerToken: number
  readonly idempotencyTtlSeconds: number
  readonly maxBodyBytes: number
  readonly maxLostLeases: number
  readonly maxQueueLength: number
}

export interface MasterDeps {
  readonly clock: Clock
  readonly timers: Timers
  readonly random: Random
  readonly log: Log
  readonly backend: Backend
  readonly catalog: Catalog
  readonly settings: MasterSettings
  /** Random per master process; the first part of every `conn`. */
  readonly masterId: string
  readonly epoch: StoreEpoch
  /** Where each part registers its own counters (`svc_…`); never the global registry. */
  readonly metrics: MetricsRegistry
  /** Bounds the routes whose responses may be large. */
  readonly inspections: Inspections
}

/** One folder of the master, as master.ts wires it: its routes, and what runs beside them. */
export interface Part {
  readonly routes: readonly Route[]
  start?(): Promise<void> | void
  /** Ends what `start` began; called after the last request was answered. */
  stop?(): Promise<void> | void
}
