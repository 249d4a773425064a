/**
 * The conditions of a FleetWorkerSet in each state of its life, and how kstatus, Argo CD and kubectl wait have to judge
 * it.
 */
import {
  setConditionsOf,
  type Phase,
  type RolloutFacts,
  type RolloutStatus,
  type SetFacts,
} from '../../../src/operator/fleetworkerset/index.ts'
import type { Judged, Judgement } from '../fleetworker/kstatus.ts'

export interface SetState {
  readonly name: string
  readonly object: Judged
  readonly expected: Judgement
}

const NOW_MS = Date.parse('2026-01-01T12:00:00Z')

/** Ten workers that run the update revision. */
const rollout = (counts: Partial<RolloutFacts['counts']> = {}, more: Partial<RolloutFacts> = {}): RolloutFacts => ({
  counts: {
    matched: 10,
    online: 10,
    updated: 10,
    acknowledged: 10,
    ready: 10,
    unavailable: 0,
    absent: 0,
    pending: 0,
    failed: 0,
    pinned: 0,
    conflicted: 0,
    cordoned: 0,
    ...counts,
  },
  waiting: 0,
  maxUnavailable: 1,
  isHeld: false,
  isOverdue: false,
  holders: [],
  isPaused: false,
  waitsFor: undefined,
  stage: undefined,
  failure: undefined,
  gates: [],
  ...more,
})

const facts = (more: Partial<SetFacts> = {}): SetFacts => ({
  generation: 3,
  policy: 'Enforce',
  suspend: false,
  isReleasing: false,
  synced: { reason: 'InSync', message: 'every worker has its config' },
  rollout: rollout(),
  driftCount: 0,
  isContested: false,
  isMasterUnavailable: false,
  nowMs: NOW_MS,
  before: [],
  ...more,
})
const synced = (reason: SetFacts['synced']['reason']): Partial<SetFacts> => ({ synced: { reason, message: 'a cause' } })

function state(
  name: string,
  more: Partial<SetFacts>,
  expected: Judgement,
  { generation = 3, deleting = false } = {},
): SetState {
  const status = { observedGeneration: 3, conditions: setConditionsOf(facts(more)) }
  return { name, object: { generation, suspend: more.suspend ?? false, deleting, status }, expected }
}

/** The second of three stages, in this phase. */
function staged(name: string, phase: Phase, more: Partial<RolloutFacts>, expected: Judgement): SetState {
  const stage: RolloutStatus = {
    revision: '91bc02f7a1c4',
    attempt: 1,
    stage: 2,
    stages: 3,
    limit: 4,
    phase,
    since: '2026-01-01T11:59:00Z',
    epoch: 'e',
  }
  const hasFailed = phase === 'Failed' || phase === 'RolledBack' || phase === 'RollingBack'
  const failure = hasFailed
    ? { revision: stage.revision, attempts: 1, time: stage.since, stage: 2, gate: 'errors', message: '1 of 4 failed' }
    : undefined
  const shown = rollout({ updated: 4, pending: 6 }, { stage, failure, ...more })
  return state(name, { ...synced(hasFailed ? 'RolloutFailed' : 'Updating'), rollout: shown }, expected)
}

const UNSEEN: Judged = {
  generation: 1,
  suspend: false,
  deleting: false,
  status: { observedGeneration: -1, conditions: [{ type: 'Ready', status: 'Unknown' }] },
}

/** States of one number have the same meaning for users. */
export const SET_STATES: readonly SetState[] = [
  { name: 'set 1 just created, no operator yet', object: UNSEEN, expected: ['InProgress', 'Progressing', false] },
  state('set 1 just edited, old status', {}, ['InProgress', 'Progressing', false], { generation: 4 }),
  state('set 2 writing', { ...synced('Updating'), rollout: rollout({ updated: 4, acknowledged: 4, pending: 6 }) }, [
    'InProgress',
    'Progressing',
    false,
  ]),
  state('set 2 acknowledging', { rollout: rollout({ acknowledged: 4 }, { waiting: 6 }) }, [
    'InProgress',
    'Progressing',
    false,
  ]),
  state(
    'set 2 held back by unavailable workers',
    { rollout: rollout({ updated: 4, pending: 6, unavailable: 2 }, { isHeld: true }) },
    ['InProgress', 'Progressing', false],
  ),
  staged('set 2 baking', 'Baking', {}, ['InProgress', 'Progressing', false]),
  staged('set 2 returning after a failure', 'RollingBack', {}, ['InProgress', 'Progressing', false]),
  staged('set 3 waits for a promotion', 'WaitingForApproval', {}, ['InProgress', 'Suspended', false]),
  staged('set 3 paused in a rollout', 'Baking', { isPaused: true }, ['InProgress', 'Suspended', false]),
  state(
    'set 3 paused before a rollout',
    { ...synced('Updating'), rollout: rollout({}, { isPaused: true, waitsFor: '91bc02f7a1c4' }) },
    ['InProgress', 'Suspended', false],
  ),
  state('set 4 complete', {}, ['Current', 'Healthy', true]),
  state('set 4 complete, within maxUnavailable', { rollout: rollout({ unavailable: 1 }) }, [
    'Current',
    'Healthy',
    true,
  ]),
  state('set 4 no worker matches', { rollout: rollout({ matched: 0, updated: 0 }) }, ['Current', 'Healthy', true]),
  state('set 5 deadline passed', { rollout: rollout({ acknowledged: 4 }, { waiting: 6, isOverdue: true }) }, [
    'Failed',
    'Degraded',
    false,
  ]),
  staged('set 5 rolled back', 'RolledBack', {}, ['Failed', 'Degraded', false]),
  staged('set 5 failed, with onFailure: Pause', 'Failed', {}, ['Failed', 'Degraded', false]),
  staged('set 5 too few runs', 'Inconclusive', {}, ['Failed', 'Degraded', false]),
  state('set 6 config refused', synced('Rejected'), ['Failed', 'Degraded', false]),
  state('set 6 config refused for one worker', { rollout: rollout({ failed: 1, pending: 1 }) }, [
    'Failed',
    'Degraded',
    false,
  ]),
  state('set 6 all workers belong to another set', synced('OwnershipConflict'), ['Failed', 'Degraded', false]),
  state('set 7 too many workers unavailable', { rollout: rollout({ unavailable: 2 }) }, [
    'InProgress',
    'Degraded',
    false,
  ]),
  state('set 8 master unreachable', { isMasterUnavailable: true, before: setConditionsOf(facts()) }, [
    'InProgress',
    'Progressing',
    false,
  ]),
  state('set 9 suspended', { suspend: true }, ['Current', 'Suspended', true]),
  state('set 9 Observe, with differences', { policy: 'Observe', driftCount: 1 }, ['Current', 'Healthy', true]),
  state('set 10 deleted, finalizer in progress', { isReleasing: true }, ['Terminating', 'Progressing', false], {
    deleting: true,
  }),
]
