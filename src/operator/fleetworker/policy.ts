/**
 * @module operator/fleetworker/policy
 * Decides whether a config that differs is written or reported. Pure.
 *
 *   suspend, Observe ──▶ report
 *   Enforce          ──▶ write
 *   Warn             ──▶ write if the resource changed or the master lost its state, else report
 */
import type { Desired } from './desired.ts'
import type { FleetWorkerSpec, FleetWorkerStatus } from './schema.ts'
import type { SecretState } from './secrets.ts'

export const policyOf = (spec: FleetWorkerSpec) => spec.managementPolicy ?? 'Enforce'
/** Whether the operator writes nothing to the master except the release of its claim. */
export const isHandsOff = (spec: FleetWorkerSpec): boolean => spec.suspend === true || policyOf(spec) === 'Observe'

export interface PolicyFacts {
  readonly spec: FleetWorkerSpec
  /** This spec was in force before, according to its status. */
  readonly wasInForce: boolean
  /** A source has another version than the one that was sent. */
  readonly hasMoved: boolean
  /** The master lost state: another epoch, a generation below the remembered one, or a missing claim. */
  readonly isForgotten: boolean
}

export function mayWriteConfig({ spec, wasInForce, hasMoved, isForgotten }: PolicyFacts): boolean {
  if (isHandsOff(spec)) return false
  return policyOf(spec) === 'Enforce' || !wasInForce || hasMoved || isForgotten
}

/** Whether the status says that this generation is, or was, in force. */
export function saysInForce({ conditions = [] }: FleetWorkerStatus, generation: number): boolean {
  const synced = conditions.find(({ type }) => type === 'Synced')
  return synced?.status === 'True' && synced.observedGeneration === generation
}

/** An empty version means that a field is about to be sent; it names no source. */
export const hasMoved = ({ versions }: Desired, { sources }: SecretState): boolean =>
  [...versions].some(([field, version]) => ![version, ''].includes(sources.get(field) ?? 'never sent'))
