/**
 * @module master/deps
 * Defines what all areas of the master share: clock, timers, log, store, catalog and settings. master.ts creates it
 * once.
 */
import type { Registry as MetricsRegistry } from 'prom-client'
import type { Catalog } from '../automation/index.ts'
import type { EnvironmentBody } from '../protocol/index.ts'
import type { Clock, Log, Random, Timers } from '../runtime/index.ts'
import type { Backend } from '../storage/index.ts'
import type { StoreEpoch } from './epoch.ts'
import type { Route } from './http/index.ts'
import type { Inspections } from './inspections/index.ts'

/** The settings that the areas need. The unit of a duration is part of its name. */
export interface MasterSettings {
  readonly submitRpsPerToken: number
  readonly idempotencyTtlSeconds: number
  readonly maxBodyBytes: number
  readonly maxLostLeases: number
  readonly maxQueueLength: number
  /** Retained outcomes of one automation type; 100,000 if omitted. */
  readonly maxOutcomes?: number
  /** Control sockets of this master. */
  readonly maxSockets: number
  /** Origins of pages that may call the API; none if omitted. */
  readonly corsOrigins?: readonly string[] | undefined
  /** The target wait of `GET …/load` and of `svc_wanted_slots`; 30 if omitted. */
  readonly loadTargetWaitSeconds?: number
  /** Shown by the dashboard; nothing if omitted. */
  readonly environment?: EnvironmentBody | undefined
  /** How people sign in; with tokens alone if omitted. */
  readonly signIn?: SignInSettings | undefined
  /** When alerts fire, and where they are sent; after 30 s and nowhere if omitted. */
  readonly alerts?: AlertSettings | undefined
}

/** The client of an identity provider, by which people sign in. */
export interface SignInSettings {
  /** The name of an issuer in SVC_JWT_ISSUERS, whose audience is the client id. */
  readonly issuer: string
  /** Returns the secret of the client; undefined: the client is public. */
  readonly clientSecret: () => string | undefined
  /** Separated by spaces. */
  readonly scopes: string
}

export interface AlertSettings {
  /** How long a problem lasts before its alert fires, and is solved before it is resolved; 0 or more. */
  readonly afterSeconds: number
  /** null: alerts are sent nowhere. */
  readonly webhook: WebhookSettings | null
}

export interface WebhookSettings {
  /** http or https. May contain a secret, so it is never logged. */
  readonly url: URL
  /** Returns the key of the signatures; undefined: requests are not signed. */
  readonly secret: () => string | undefined
}

export interface MasterDeps {
  readonly clock: Clock
  readonly timers: Timers
  readonly random: Random
  readonly log: Log
  readonly backend: Backend
  readonly catalog: Catalog
  readonly settings: MasterSettings
  /** Random per master process. It is the first part of every `conn`. */
  readonly masterId: string
  readonly epoch: StoreEpoch
  /** The registry of this master, where each part registers its `svc_…` metrics. The global registry is not used. */
  readonly metrics: MetricsRegistry
  /** Limits the memory of routes whose responses may be large. */
  readonly inspections: Inspections
}

/** One area of the master: its routes, and the background work that master.ts starts and stops. */
export interface Part {
  readonly routes: readonly Route[]
  start?(): Promise<void> | void
  /** Ends what `start` began. Called after the last response was sent. */
  stop?(): Promise<void> | void
}
