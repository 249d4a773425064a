/**
 * The status of a FleetWorker in each state of its life, and how kstatus, Argo CD and kubectl wait have to judge it.
 */
import { conditionsOf, statusOf, type Facts } from '../../../src/operator/fleetworker/index.ts'
import type { Judged, Judgement } from './kstatus.ts'
import { facts, NOTHING_REMEMBERED, offline, synced, worker } from './samples.ts'

export interface State {
  readonly name: string
  readonly object: Judged
  readonly expected: Judgement
}

function state(
  name: string,
  more: Partial<Facts>,
  expected: Judgement,
  { generation = 3, deleting = false } = {},
): State {
  const status = statusOf({
    ...facts(more),
    uid: 'u',
    stats: null,
    memory: NOTHING_REMEMBERED,
    drift: undefined,
    rejected: undefined,
  })
  return { name, object: { generation, suspend: more.suspend ?? false, deleting, status }, expected }
}

const UNSEEN: Judged = {
  generation: 1,
  suspend: false,
  deleting: false,
  status: { observedGeneration: -1, conditions: [{ type: 'Ready', status: 'Unknown' }] },
}

export const STATES: readonly State[] = [
  { name: '1 just created, no operator yet', object: UNSEEN, expected: ['InProgress', 'Progressing', false] },
  state('2 just edited, old status', {}, ['InProgress', 'Progressing', false], { generation: 4 }),
  state('3 in force, acknowledged, running', {}, ['Current', 'Healthy', true]),
  state('4 sent, not acknowledged', { worker: worker({ appliedConfigGen: 6 }) }, ['InProgress', 'Progressing', false]),
  state('5 worker not registered, within the timeout', { ...synced('WorkerNotRegistered'), worker: null }, [
    'InProgress',
    'Progressing',
    false,
  ]),
  state('6 worker not registered, after the timeout', { ...synced('RegistrationTimeout'), worker: null }, [
    'Failed',
    'Degraded',
    false,
  ]),
  state('6 second object for one worker', synced('OwnershipConflict'), ['Failed', 'Degraded', false]),
  state('7 rejected by the master', synced('Rejected'), ['Failed', 'Degraded', false]),
  state('8 Secret missing', synced('SourceNotFound'), ['InProgress', 'Progressing', false]),
  state('8 no permission at the master', synced('Forbidden'), ['InProgress', 'Progressing', false]),
  state('10 master unavailable, spec unchanged', { isMasterUnavailable: true, before: conditionsOf(facts()) }, [
    'InProgress',
    'Progressing',
    false,
  ]),
  state('11 worker offline', { worker: offline }, ['InProgress', 'Degraded', false]),
  state('11 worker in ERROR', { worker: worker({ state: 'ERROR' }) }, ['InProgress', 'Degraded', false]),
  state('12 Warn, edited elsewhere', { policy: 'Warn', ...synced('DriftTolerated'), driftCount: 1 }, [
    'Current',
    'Healthy',
    true,
  ]),
  state('12 Observe, with differences', { policy: 'Observe', driftCount: 1 }, ['Current', 'Healthy', true]),
  state('13 a contested field', { ...synced('ContestedField'), driftCount: 1 }, ['InProgress', 'Degraded', false]),
  state('14 suspended, worker healthy', { suspend: true }, ['Current', 'Suspended', true]),
  state('15 drain requested, work running', { drain: true, worker: worker({ state: 'DRAINING' }) }, [
    'InProgress',
    'Progressing',
    false,
  ]),
  state('15 drained', { drain: true, worker: offline }, ['Current', 'Healthy', true]),
  state('16 deleted, finalizer in progress', { isReleasing: true }, ['Terminating', 'Progressing', true], {
    deleting: true,
  }),
]
