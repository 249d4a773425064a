/** Tests the conditions of a set, row by row, as kubectl wait and kstatus read them. */
import { describe, expect, it } from '@jest/globals'
import {
  SET_REASONS,
  setConditionsOf,
  type RolloutFacts,
  type SetFacts,
  type SetSyncedReason,
} from '../../../src/operator/fleetworkerset/index.ts'
import { judge } from '../fleetworker/kstatus.ts'

const COUNTS = {
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
}
type Counts = Partial<typeof COUNTS>
const rollout = (counts: Counts = {}, more: Partial<RolloutFacts> = {}): RolloutFacts => ({
  counts: { ...COUNTS, ...counts },
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
  generation: 1,
  policy: 'Enforce',
  suspend: false,
  isReleasing: false,
  synced: { reason: 'InSync', message: 'in sync' },
  rollout: rollout(),
  driftCount: 0,
  isContested: false,
  isMasterUnavailable: false,
  nowMs: 1_000,
  before: [],
  ...more,
})
const synced = (reason: SetSyncedReason): Partial<SetFacts> => ({ synced: { reason, message: reason } })

const shown = (of: Partial<SetFacts>): Readonly<Record<string, string>> =>
  Object.fromEntries(setConditionsOf(facts(of)).map(({ type, status, reason }) => [type, `${status} ${reason}`]))
const kstatus = (of: Partial<SetFacts>): string =>
  judge({
    generation: 1,
    suspend: of.suspend === true,
    deleting: false,
    status: { observedGeneration: 1, conditions: setConditionsOf(facts(of)) },
  })[0]

describe('the conditions of a set', () => {
  it.each<[string, Partial<SetFacts>, string, string]>([
    ['is complete', {}, 'True Complete', 'Current'],
    ['has no workers', { rollout: rollout({ matched: 0, updated: 0 }) }, 'True NoWorkers', 'Current'],
    ['is written', { rollout: rollout({ updated: 4, pending: 6 }) }, 'False RollingOut', 'InProgress'],
    ['is acknowledged', { rollout: rollout({ acknowledged: 4 }, { waiting: 6 }) }, 'False RollingOut', 'InProgress'],
    [
      'made no progress for too long',
      { rollout: rollout({ updated: 4, pending: 6 }, { isOverdue: true }) },
      'False ProgressDeadlineExceeded',
      'Failed',
    ],
    ['has too many unavailable workers', { rollout: rollout({ unavailable: 2 }) }, 'False Unavailable', 'InProgress'],
    ['has few unavailable workers', { rollout: rollout({ unavailable: 1 }) }, 'True Complete', 'Current'],
    ['has a refused worker', { rollout: rollout({ updated: 9, pending: 1, failed: 1 }) }, 'False Rejected', 'Failed'],
    ['was refused', synced('Rejected'), 'False Rejected', 'Failed'],
    ['belongs to another set', synced('OwnershipConflict'), 'False OwnershipConflict', 'Failed'],
    ['is invalid', synced('ConfigInvalid'), 'False ConfigInvalid', 'Failed'],
    ['waits for a Secret', synced('SourceNotFound'), 'False SourceNotFound', 'InProgress'],
    ['has an old master', synced('MasterTooOld'), 'False MasterTooOld', 'Failed'],
    ['is suspended', { suspend: true, ...synced('Suspended') }, 'True Suspended', 'Current'],
    ['is observed', { policy: 'Observe', driftCount: 2 }, 'True ObserveOnly', 'Current'],
    ['has lost the master', { isMasterUnavailable: true }, 'Unknown MasterUnreachable', 'InProgress'],
    ['was not read yet', { rollout: undefined }, 'Unknown Pending', 'InProgress'],
    ['is being deleted', { isReleasing: true }, 'False Releasing', 'InProgress'],
  ])('a set that %s', (_, of, ready, status) => {
    const conditions = shown(of)
    expect(conditions['Ready']).toBe(ready)
    expect(kstatus(of)).toBe(status)
    expect(conditions['Reconciling'] !== undefined && conditions['Stalled'] !== undefined).toBe(false)
  })

  it('names drift, contested fields and workers that are left to others', () => {
    expect(shown({ driftCount: 1 })['Drifted']).toBe('True DriftDetected')
    expect(shown({ driftCount: 1, isContested: true })['Drifted']).toBe('True ContestedField')
    const [conflicted] = setConditionsOf(
      facts({ rollout: rollout({ conflicted: 2 }, { holders: ['the older FleetWorkerSet a'] }) }),
    ).filter(({ type }) => type === 'Conflicted')
    expect(conflicted?.message).toBe('2 workers left to the older FleetWorkerSet a')
  })

  it('an outage keeps what is known of this generation, and the transition times', () => {
    const before = setConditionsOf(facts())
    const during = setConditionsOf(facts({ isMasterUnavailable: true, before, nowMs: 99_000 }))
    const of = (list: typeof before, type: string) => list.find((each) => each.type === type)
    expect(of(during, 'Synced')?.reason).toBe('InSync')
    expect(of(during, 'Synced')?.lastTransitionTime).toBe(of(before, 'Synced')?.lastTransitionTime)
    expect(of(during, 'Ready')?.lastTransitionTime).toBe('1970-01-01T00:01:39Z')
  })

  it('each reason of Synced has the status that the table of reasons gives it', () => {
    for (const [reason, status] of Object.entries(SET_REASONS.Synced))
      if (!['Suspended', 'ObserveOnly', 'MasterUnreachable'].includes(reason))
        expect(shown(synced(reason as SetSyncedReason))['Synced']).toBe(`${status} ${reason}`)
  })
})
