/**
 * @module operator/fleetworkerset/resource
 * Defines the FleetWorkerSet as an object of the API server: its path, its claim, and the indices of the cache.
 */
import { claimOf } from '../fleet/index.ts'
import type { EventTarget, IndexOf, KubeObject, Resource } from '../kube/index.ts'
import { refOf } from '../kube/index.ts'
import { GROUP, VERSION } from '../config/index.ts'
import { sourceNamesOf } from '../fleetworker/index.ts'
import { SET_KIND, type FleetWorkerSet } from './schema.ts'

export type FleetWorkerSetObject = FleetWorkerSet & KubeObject

const PLURAL = 'fleetworkersets'
export const FLEET_WORKER_SETS: Resource = { group: GROUP, version: VERSION, plural: PLURAL, kind: SET_KIND }

/** The claim that the set has on each of its workers. The kind is part of it, since a FleetWorker may have its name. */
export const claimForSet = ({ metadata: { namespace, name, uid } }: FleetWorkerSet): string =>
  claimOf({ namespace, name: `${PLURAL}/${name}`, uid })

/**
 * The name of its enrolment rule, of at most 63 characters: `set-20261128t192600z-` and the uid. Rules are tried by
 * name, so of two sets the older one configures a new worker, as the older one owns it.
 */
export const ruleNameOf = ({ metadata: { creationTimestamp, uid } }: FleetWorkerSet): string =>
  `set-${creationTimestamp.toLowerCase().replaceAll(/[^0-9tz]/g, '')}-${uid}`

/** What Events about every set have. */
export const SET_OBJECT = { apiVersion: `${GROUP}/${VERSION}`, kind: SET_KIND } as const

export const setEventTarget = (set: FleetWorkerSetObject): EventTarget => ({ ...refOf(set), ...SET_OBJECT })

/** Indices of the cache. */
export const SET_INDICES = {
  type: ({ spec }) => [spec.type],
  claim: (set) => [claimForSet(set)],
  source: sourceNamesOf,
} as const satisfies Readonly<Record<string, IndexOf<FleetWorkerSetObject>>>
