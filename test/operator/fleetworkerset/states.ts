/**
 * The status of a FleetWorkerSet in each state of its life, and how kstatus, Argo CD and kubectl wait have to judge it.
 */
import type { Condition, ConditionStatus } from '../../../src/operator/config/index.ts'
import type { Judged, Judgement } from '../fleetworker/kstatus.ts'

export interface SetState {
  readonly name: string
  readonly object: Judged
  readonly expected: Judgement
}

/** Type, status and reason of a condition. */
type Short = readonly [string, ConditionStatus, string]

const conditionOf = ([type, status, reason]: Short): Condition => ({
  type,
  status,
  reason,
  message: 'a sentence',
  observedGeneration: 3,
  lastTransitionTime: '2026-01-01T00:00:00Z',
})

function state(
  name: string,
  conditions: readonly Short[],
  expected: Judgement,
  { generation = 3, suspend = false, deleting = false } = {},
): SetState {
  const status = { observedGeneration: 3, conditions: conditions.map(conditionOf) }
  return { name, object: { generation, suspend, deleting, status }, expected }
}

const UNSEEN: Judged = {
  generation: 1,
  suspend: false,
  deleting: false,
  status: { observedGeneration: -1, conditions: [{ type: 'Ready', status: 'Unknown' }] },
}

/** The numbers are those of the states that the operator's page lists. */
export const SET_STATES: readonly SetState[] = [
  { name: '1 just created, no operator yet', object: UNSEEN, expected: ['InProgress', 'Progressing', false] },
  state('1 just edited, old status', [['Ready', 'True', 'Complete']], ['InProgress', 'Progressing', false], {
    generation: 4,
  }),
  state(
    '2 writing, acknowledging',
    [
      ['Ready', 'False', 'RollingOut'],
      ['Reconciling', 'True', 'RollingOut'],
    ],
    ['InProgress', 'Progressing', false],
  ),
  state('4 complete', [['Ready', 'True', 'Complete']], ['Current', 'Healthy', true]),
  state('4 no worker matches', [['Ready', 'True', 'NoWorkers']], ['Current', 'Healthy', true]),
  state(
    '6 config refused',
    [
      ['Ready', 'False', 'Rejected'],
      ['Stalled', 'True', 'Rejected'],
    ],
    ['Failed', 'Degraded', false],
  ),
  state(
    '6 all workers belong to another set',
    [
      ['Ready', 'False', 'OwnershipConflict'],
      ['Stalled', 'True', 'OwnershipConflict'],
      ['Conflicted', 'True', 'OwnershipConflict'],
    ],
    ['Failed', 'Degraded', false],
  ),
  state('7 too many workers unavailable', [['Ready', 'False', 'Unavailable']], ['InProgress', 'Degraded', false]),
  state('8 master unreachable', [['Ready', 'Unknown', 'MasterUnreachable']], ['InProgress', 'Progressing', false]),
  state('9 suspended', [['Ready', 'True', 'Suspended']], ['Current', 'Suspended', true], { suspend: true }),
  state(
    '9 Observe, with differences',
    [
      ['Ready', 'True', 'ObserveOnly'],
      ['Drifted', 'True', 'DriftDetected'],
    ],
    ['Current', 'Healthy', true],
  ),
  state(
    '10 deleted, finalizer in progress',
    [
      ['Ready', 'False', 'Releasing'],
      ['Reconciling', 'True', 'Releasing'],
    ],
    ['Terminating', 'Progressing', false],
    { deleting: true },
  ),
]
