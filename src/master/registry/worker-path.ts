/** @module master/registry/worker-path  What the routes of workers share: their paths and their dependencies. */
import type { Counter } from 'prom-client'
import { API_PREFIX, type RevisionsBody } from '../../protocol/index.ts'
import type { Ref } from '../../storage/index.ts'
import type { MasterDeps } from '../deps.ts'
import type { RouteRequest } from '../http/index.ts'
import type { Announce } from './events.ts'
import type { Signals } from './signals.ts'

export const WORKERS = `${API_PREFIX}/automations/{type}/workers`
export const WORKER = `${WORKERS}/{id}`

export interface RegistryRouteDeps {
  readonly master: MasterDeps
  readonly signals: Signals
  readonly announce: Announce
  readonly regressions: Counter
  /** Called on every master after a drain was requested: waiting reserves of this worker must end now. */
  readonly onDrain: (ref: Ref) => void
  /** The worst workers of a type by revision, at most 5 s old. */
  readonly worstWorkers: (type: string) => Promise<ReadonlyMap<string, readonly WorstWorker[]>>
}

type WorstWorker = RevisionsBody['revisions'][number]['worst'][number]

/** @returns the worker in the path of a request. */
export const refOf = ({ params }: Pick<RouteRequest, 'params'>): Ref => ({ type: params.type, id: params.id })
