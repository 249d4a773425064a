/**
 * @module operator/fleetworker/policy
 * Whether a config that differs is written, or reported. Pure.
 *
 *   suspend, Observe ──▶ report
 *   Enforce          ──▶ write
 *   Warn             ──▶ write when the resource changed or the master forgot, else report
 */
import type { Desired } from './desired.ts'
import type { FleetWorkerSpec, FleetWorkerStatus } from './schema.ts'
import type { SecretState } from './secrets.ts'

export const policyOf = (spec: FleetWorkerSpec) => spec.managementPolicy ?? 'Enforce'
/** Nothing but giving back the claim is done at the master. */
export const isHandsOff = (spec: FleetWorkerSpec): boolean => spec.suspend === true || policyOf(spec) === 'Observe'

export interface PolicyFacts {
  readonly spec: FleetWorkerSpec
  /** This spec was in force once, as its status says. */
  readonly wasInForce: boolean
  /** A source has another version than the one that was sent. */
  readonly hasMoved: boolean
  /** The master lost what it was told: another epoch, a generation below the remembered one, or our claim is gone. */
  readonly isForgotten: boolean
}

export function mayWriteConfig({ spec, wasInForce, hasMoved, isForgotten }: PolicyFacts): boolean {
  if (isHandsOff(spec)) return false
  return policyOf(spec) === 'Enforce' || !wasInForce || hasMoved || isForgotten
}

/** The status says of this generation that it is, or was, in force. */
export function saysInForce({ conditions = [] }: FleetWorkerStatus, generation: number): boolean {
  const synced = conditions.find(({ type }) => type === 'Synced')
  return synced?.status === 'True' && synced.observedGeneration === generation
}

/** An empty version says that a field is about to be sent, not from where it was. */
export const hasMoved = ({ versions }: Desired, { sources }: SecretState): boolean =>
  [...versions].some(([field, version]) => ![version, ''].includes(sources.get(field) ?? 'never sent'))
