import { describe, expect, it } from '@jest/globals'
import { ROLLOUT_PHASES, ROLLOUT_VERDICTS, type RevisionsBody, type RolloutShown } from '../../../src/protocol/index.ts'
import { standingOf } from '../../../src/diagnosis/index.ts'
import {
  byUrgency,
  causeText,
  countsText,
  failureOf,
  gateName,
  gateValue,
  membersOf,
  reasonText,
  shortRevision,
  staleSeconds,
  usersOf,
  verdictOf,
} from '../../../src/dashboard/rollouts/texts.ts'

const NOW = 10_000
const NO_WORKERS = {
  matched: 0,
  online: 0,
  updated: 0,
  acknowledged: 0,
  ready: 0,
  unavailable: 0,
  absent: 0,
  pending: 0,
  failed: 0,
  pinned: 0,
  conflicted: 0,
  cordoned: 0,
}
const report = (change: Partial<RolloutShown> = {}): RolloutShown => ({
  rollout: 'set-1',
  reported_at: NOW,
  set: { namespace: 'prod', name: 'crawlers', uid: 'u' },
  managed_by: null,
  update_revision: '91bc02f7a1c4',
  current_revision: '7f3ac1d09b2e',
  attempt: 1,
  cause: 'edit',
  phase: 'Baking',
  paused: false,
  held: false,
  stage: 2,
  stages: 3,
  stage_list: [],
  limit: 24,
  started_at: NOW - 100,
  since: NOW - 10,
  counts: NO_WORKERS,
  gates: [],
  worst: [],
  changed_fields: [],
  failed: [],
  message: 'baking',
  next: { text: 'Wait.', command: null },
  ...change,
})

describe('how a rollout stands', () => {
  it('has a word for each phase, and one for a pause of a rollout under way', () => {
    const words = ROLLOUT_PHASES.map((phase) => [phase, standingOf({ phase, paused: false }).word])
    expect(new Set(words.map(([, word]) => word)).size).toBe(ROLLOUT_PHASES.length)
    expect(ROLLOUT_PHASES.filter((phase) => standingOf({ phase, paused: true }).word === 'Paused')).toEqual([
      'Writing',
      'Acknowledging',
      'Baking',
      'WaitingForApproval',
      'Inconclusive',
    ])
  })

  it('sorts the reports: failed ones, those that wait for a person, the others, each the newest first', () => {
    const reports = [
      report({ rollout: 'complete', phase: 'Complete' }),
      report({ rollout: 'old', since: NOW - 20 }),
      report({ rollout: 'new' }),
      report({ rollout: 'waits', phase: 'WaitingForApproval' }),
      report({ rollout: 'failed', phase: 'RolledBack', since: 1 }),
    ]
    expect(byUrgency(reports).map(({ rollout }) => rollout)).toEqual(['failed', 'waits', 'new', 'old', 'complete'])
  })
})

describe('the age of a report', () => {
  it('is shown when the operator has not reported a rollout under way for a minute', () => {
    expect(staleSeconds(report(), NOW + 60)).toBeUndefined()
    expect(staleSeconds(report(), NOW + 61)).toBe(61)
    expect(staleSeconds(report({ phase: 'RollingBack' }), NOW + 240)).toBe(240)
    for (const phase of ['Failed', 'RolledBack', 'Complete'] as const)
      expect(staleSeconds(report({ phase }), NOW + 86_400)).toBeUndefined()
  })
})

describe('the numbers of workers', () => {
  const stored = [{ revision: '91bc02f7a1c4', workers: 24 }] as RevisionsBody['revisions']

  it('by revision come from the master; a revision that is not listed has none', () => {
    expect(usersOf(stored, '91bc02f7a1c4')).toBe(24)
    expect(usersOf(stored, '7f3ac1d09b2e')).toBe(0)
    expect(usersOf(undefined, '91bc02f7a1c4')).toBeUndefined()
  })

  it('leave out what is 0, except the acknowledged ones', () => {
    const counts = { ...NO_WORKERS, matched: 1_240, pinned: 1, conflicted: 2, unavailable: 1, failed: 3, absent: 1_000 }
    expect(membersOf(report({ counts }))).toBe(1_237)
    expect(countsText(report({ counts }))).toBe(
      '0 acknowledged, 1 unavailable, 1,000 absent, 3 refused, 1 with a FleetWorker, 2 of another set',
    )
  })
})

describe('the words of a card', () => {
  it('shorten a hash, and leave other names as they are', () => {
    expect(shortRevision('91bc02f7a1c4')).toBe('91bc02f7')
    expect(shortRevision('release-2026-11')).toBe('release-2026-11')
  })

  it('name gates, their values and their verdicts', () => {
    expect(['errors', 'failureRate', 'runSeconds', 'counter.http_5xx', 'of.the.future'].map(gateName)).toEqual([
      'failed workers',
      'failure rate',
      'duration of a run',
      'counter http_5xx',
      'of.the.future',
    ])
    expect(gateValue('31.0 %', 9_871)).toBe('31.0 % (9,871 runs)')
    expect(gateValue('2 per min', null)).toBe('2 per min')
    expect(gateValue(null, 0)).toBe('–')
    const gate = { name: 'a', updated: null, current: null, allowed: null, message: null, updated_runs: null }
    const words = ROLLOUT_VERDICTS.map((verdict) => verdictOf({ ...gate, current_runs: null, verdict }).word)
    expect(new Set(words).size).toBe(ROLLOUT_VERDICTS.length)
  })

  it('say why a worker is listed, and why the rollout began', () => {
    expect(reasonText('WorkerError')).toBe('in ERROR')
    expect(reasonText('OfTheFuture')).toBe('OfTheFuture')
    expect(causeText(report())).toBe(' by an edit of the set')
    expect(causeText(report({ cause: null }))).toBe('')
  })

  it('name the last failure of the revision that is rolled out', () => {
    const failure = { revision: '91bc02f7a1c4', attempts: 1, failed_at: 1, stage: 1, gate: 'errors', message: 'm' }
    const last = { ...failure, attempts: 2 }
    const failed = [failure, { ...failure, revision: 'other' }, last]
    expect(failureOf(report({ failed }))).toBe(last)
    expect(failureOf(report())).toBeUndefined()
  })
})
