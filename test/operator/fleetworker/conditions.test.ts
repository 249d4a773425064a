import fc from 'fast-check'
import { describe, expect, it } from '@jest/globals'
import { cleanText, type Condition } from '../../../src/operator/config/index.ts'
import {
  ACK_MS,
  conditionsOf,
  ONLINE_MS,
  REASONS,
  type Facts,
  type SyncedReason,
} from '../../../src/operator/fleetworker/index.ts'
import { judge } from './kstatus.ts'
import { STATES } from './states.ts'
import { facts, NOW_MS, offline, synced, worker } from './samples.ts'

const of = (more: Partial<Facts>): Record<string, Condition> =>
  Object.fromEntries(conditionsOf(facts(more)).map((each) => [each.type, each]))
/** Status and reason of each condition, for example `True Ready`. */
const shown = (more: Partial<Facts>): Record<string, string> =>
  Object.fromEntries(Object.values(of(more)).map(({ type, status, reason }) => [type, `${status} ${reason}`]))

describe('the order of conditions', () => {
  it('is kept, new ones are appended: an applied status is equal to the one that was sent', () => {
    const drifted = conditionsOf(facts({ driftCount: 1, policy: 'Observe' }))
    const both = conditionsOf(facts({ driftCount: 1, ...synced('SourceNotFound'), before: drifted }))
    expect(both.map(({ type }) => type).slice(-2)).toEqual(['Drifted', 'Reconciling'])
  })
})

describe('conditionsOf', () => {
  it('has exactly five conditions for a worker that runs its config', () => {
    expect(shown({})).toEqual({
      Ready: 'True Ready',
      Synced: 'True InSync',
      Online: 'True Connected',
      Applied: 'True Acknowledged',
      Healthy: 'True WorkerHealthy',
    })
  })

  it.each<[string, Partial<Facts>, Record<string, string>]>([
    [
      'nothing is known yet',
      { ...synced('Pending'), worker: undefined },
      { Ready: 'Unknown Pending', Online: 'Unknown Pending', Applied: 'Unknown Pending', Healthy: 'Unknown Pending' },
    ],
    [
      'seen a moment ago: a short disconnect is not shown',
      { worker: worker({ isConnected: false, lastSeenMs: NOW_MS - ONLINE_MS + 1 }) },
      { Ready: 'True Ready', Online: 'True RecentlySeen' },
    ],
    [
      'silent for 45 s',
      { worker: offline },
      { Ready: 'False Offline', Online: 'False Offline', Healthy: 'Unknown Offline', Synced: 'True InSync' },
    ],
    [
      'in ERROR',
      { worker: worker({ state: 'ERROR', lastError: 'disk full' }) },
      { Ready: 'False WorkerError', Healthy: 'False WorkerError' },
    ],
    [
      'a state of a newer master',
      { worker: worker({ state: 'PONDERING' }) },
      { Ready: 'True Ready', Healthy: 'True WorkerHealthy' },
    ],
    [
      'not acknowledged',
      { worker: worker({ appliedConfigGen: 6 }) },
      { Ready: 'False WaitingForWorker', Applied: 'False WaitingForWorker', Reconciling: 'True WaitingForWorker' },
    ],
    [
      'not acknowledged for two minutes',
      { worker: worker({ appliedConfigGen: 6, owesSinceMs: NOW_MS - ACK_MS }) },
      { Ready: 'False AckTimeout' },
    ],
    [
      'not acknowledged, and offline',
      { worker: { ...offline, appliedConfigGen: 6, owesSinceMs: NOW_MS - ACK_MS } },
      { Ready: 'False Offline', Applied: 'False WaitingForWorker' },
    ],
    ['ahead of the master (D46)', { worker: worker({ appliedConfigGen: 9 }) }, { Ready: 'False GenerationBehind' }],
    ['never reported', { worker: worker({ appliedConfigGen: null }) }, { Ready: 'Unknown NotReported' }],
    [
      'the first failing condition is the reason of Ready',
      { ...synced('Rejected'), worker: offline },
      { Ready: 'False Rejected', Stalled: 'True Rejected' },
    ],
    [
      'False takes precedence over Unknown, whatever the order',
      { worker: worker({ appliedConfigGen: null, state: 'ERROR' }) },
      { Ready: 'False WorkerError' },
    ],
    [
      'suspended with a worker in ERROR',
      { suspend: true, worker: worker({ state: 'ERROR' }) },
      { Ready: 'False WorkerError', Synced: 'Unknown Suspended' },
    ],
    [
      'suspended, whatever the result of the last reconcile',
      { suspend: true, ...synced('Rejected') },
      { Ready: 'True Suspended' },
    ],
    [
      'observed, not acknowledged',
      { policy: 'Observe', worker: worker({ appliedConfigGen: 6 }) },
      { Ready: 'True ObserveOnly', Applied: 'False WaitingForWorker' },
    ],
    [
      'draining',
      { drain: true, worker: worker({ state: 'DRAINING', isDraining: true }) },
      { Ready: 'False Draining', Healthy: 'True Draining', Reconciling: 'True Draining' },
    ],
    [
      'drained, its last config never acknowledged',
      { drain: true, worker: { ...offline, isDraining: true, appliedConfigGen: 6 } },
      { Ready: 'True Drained', Online: 'False Drained' },
    ],
    [
      'drained, spec rejected',
      { drain: true, ...synced('Rejected'), worker: offline },
      { Ready: 'False Rejected', Stalled: 'True Rejected' },
    ],
    [
      'drain requested for a worker that is not registered',
      { drain: true, ...synced('WorkerNotRegistered'), worker: null },
      { Ready: 'False WorkerNotRegistered', Reconciling: 'True WorkerNotRegistered' },
    ],
    ['released while stalled', { isReleasing: true, ...synced('Rejected') }, { Reconciling: 'True Releasing' }],
  ])('%s', (_, more, expected) => {
    const all = shown(more)
    expect(all).toMatchObject(expected)
    for (const type of ['Reconciling', 'Stalled', 'Drifted']) expect([type, all[type]]).toEqual([type, expected[type]])
  })

  it.each<[string, Partial<Facts>, string]>([
    ['Synced', {}, 'in force'],
    ['Synced', { suspend: true }, 'spec.suspend is true: nothing is written to the master'],
    ['Synced', { policy: 'Observe' }, 'managementPolicy is Observe: nothing is written to the master'],
    ['Synced', { isMasterUnavailable: true }, 'the master is unavailable; this spec is applied when it is back'],
    ['Online', { isMasterUnavailable: true }, 'the master is unavailable'],
    ['Online', { worker: undefined }, 'not read from the master yet'],
    ['Online', { worker: null }, 'no worker with this id has registered'],
    ['Online', {}, 'the worker is connected'],
    ['Online', { worker: worker({ isConnected: false }) }, 'the worker was seen within the last 45 seconds'],
    ['Online', { worker: offline }, 'the worker was last seen at 2026-01-01T11:59:15Z'],
    ['Online', { worker: offline, drain: true }, 'the worker drained and exited'],
    ['Applied', { worker: undefined }, 'not read from the master yet'],
    ['Applied', { worker: null }, 'the worker has not reported yet which config it runs'],
    ['Applied', { worker: worker({ appliedConfigGen: null }) }, 'the worker has not reported yet which config it runs'],
    ['Applied', {}, 'the worker runs generation 7'],
    [
      'Applied',
      { worker: worker({ appliedConfigGen: 9 }) },
      'the master has generation 7, the worker runs generation 9 of an earlier store; ' +
        'the worker applies the config of the master at its next poll',
    ],
    [
      'Applied',
      { worker: worker({ appliedConfigGen: 6, owesSinceMs: NOW_MS - ACK_MS }) },
      'the worker has not applied generation 7 within 120 s and still runs generation 6; see its log',
    ],
    [
      'Applied',
      { worker: worker({ appliedConfigGen: 6, owesSinceMs: NOW_MS - ACK_MS + 1 }) },
      'waiting for the worker to apply generation 7; it still runs generation 6',
    ],
    ['Healthy', { isMasterUnavailable: true }, 'the master is unavailable'],
    ['Healthy', { worker: undefined }, 'the worker was not read from the master yet'],
    ['Healthy', { worker: null }, 'the worker was not read from the master yet'],
    ['Healthy', { worker: offline }, 'the worker is not connected'],
    ['Healthy', { worker: worker({ state: 'ERROR', lastError: 'disk full' }) }, 'disk full'],
    ['Healthy', { worker: worker({ state: 'ERROR' }) }, 'the worker reports an error'],
    ['Healthy', { worker: worker({ state: 'DRAINING' }) }, 'the worker is finishing its work'],
    ['Healthy', { worker: worker({ state: 'IDLE' }) }, 'the worker is IDLE'],
    ['Ready', {}, 'the worker runs this config and is healthy'],
    ['Ready', { worker: offline }, 'the worker was last seen at 2026-01-01T11:59:15Z'],
    ['Ready', { drain: true }, 'the worker is finishing its work'],
    ['Ready', { drain: true, worker: offline }, 'the worker drained and exited'],
    [
      'Ready',
      { suspend: true, policy: 'Observe' },
      'spec.suspend is true: nothing is written to the master; the worker is healthy',
    ],
    [
      'Ready',
      { policy: 'Observe' },
      'managementPolicy is Observe: nothing is written to the master; the worker is healthy',
    ],
    ['Stalled', synced('Rejected'), 'because of Rejected'],
    ['Reconciling', { isReleasing: true }, 'releasing the worker before this object is deleted'],
    ['Reconciling', synced('Updating'), 'because of Updating'],
    ['Reconciling', { drain: true }, 'the worker is finishing its work'],
    [
      'Reconciling',
      { worker: worker({ appliedConfigGen: 6 }) },
      'waiting for the worker to apply generation 7; it still runs generation 6',
    ],
    ['Drifted', synced('ContestedField'), 'because of ContestedField'],
    ['Drifted', { driftCount: 1 }, 'the config at the master differs in 1 field; see status.drift'],
    ['Drifted', { driftCount: 2 }, 'the config at the master differs in 2 fields; see status.drift'],
  ])('explains %s with %j', (type, more, message) => {
    expect(of(more)[type]).toMatchObject({ type, message, observedGeneration: 3 })
  })

  it.each<[Partial<Facts>]>([
    [{ suspend: true, ...synced('ContestedField') }],
    [{ policy: 'Observe', ...synced('ContestedField') }],
    [{ policy: 'Warn', ...synced('InSync') }],
  ])('has no Drifted without a difference: %j', (more) => expect(of(more)['Drifted']).toBeUndefined())

  it('is not Reconciling for a config that an offline worker has not applied, or that nothing applies', () => {
    const behind = { appliedConfigGen: 6 }
    expect(of({ worker: { ...offline, ...behind } })['Reconciling']).toBeUndefined()
    expect(of({ worker: worker(behind), policy: 'Observe' })['Reconciling']).toBeUndefined()
    expect(of({ worker: worker(behind), suspend: true })['Reconciling']).toBeUndefined()
  })

  it('is Reconciling or Stalled for these reasons of Synced', () => {
    const reasonsOf = (type: string): string[] =>
      (Object.keys(REASONS.Synced) as SyncedReason[]).filter((reason) => of(synced(reason))[type]?.reason === reason)
    expect(reasonsOf('Reconciling').toSorted()).toEqual([
      'Forbidden',
      'MasterUnreachable',
      'SourceForbidden',
      'SourceNotFound',
      'Updating',
      'WorkerNotRegistered',
    ])
    expect(reasonsOf('Stalled').toSorted()).toEqual([
      'ConfigInvalid',
      'NotPermitted',
      'OwnershipConflict',
      'RegistrationTimeout',
      'Rejected',
      'SecretNotWriteOnly',
      'UnknownType',
    ])
  })

  it('is Drifted while fields differ or another client contests one', () => {
    expect(shown({ driftCount: 2 })).toMatchObject({ Drifted: 'True DriftDetected' })
    expect(shown(synced('ContestedField'))).toMatchObject({ Drifted: 'True ContestedField' })
  })

  it('keeps the last Synced while the master is unavailable, but only for the same generation', () => {
    const before = conditionsOf(facts({ ...synced('DriftTolerated') }))
    expect(shown({ isMasterUnavailable: true, before })).toEqual({
      Ready: 'Unknown MasterUnreachable',
      Synced: 'True DriftTolerated',
      Online: 'Unknown MasterUnreachable',
      Applied: 'True Acknowledged',
      Healthy: 'Unknown MasterUnreachable',
    })
    expect(shown({ isMasterUnavailable: true, before, generation: 4 })).toMatchObject({
      Synced: 'Unknown MasterUnreachable',
      Reconciling: 'True MasterUnreachable',
    })
  })

  it('keeps the last Applied when the operator starts while the master is unavailable', () => {
    expect(shown({ isMasterUnavailable: true, before: conditionsOf(facts()), worker: undefined })).toMatchObject({
      Applied: 'True Acknowledged',
    })
  })

  it('moves lastTransitionTime only when the status flips', () => {
    const before = conditionsOf(facts({ nowMs: NOW_MS - 60_000, worker: worker({ appliedConfigGen: 6 }) }))
    const time = (more: Partial<Facts>, type: string): string | undefined =>
      of({ before, ...more })[type]?.lastTransitionTime
    // Another reason for the same status.
    expect(time({ worker: worker({ state: 'ERROR' }) }, 'Ready')).toBe('2026-01-01T11:59:00Z')
    expect(time({}, 'Ready')).toBe('2026-01-01T12:00:00Z')
    expect(time({}, 'Online')).toBe('2026-01-01T11:59:00Z')
  })

  it('shows text of others on one line, truncated', () => {
    const message =
      of({ worker: worker({ state: 'ERROR', lastError: `a\u0000\n\u001b[31m${'x'.repeat(2_000)}` }) })['Ready']
        ?.message ?? ''
    expect(message).toMatch(/^a \[31mx+…$/)
    expect(message).toHaveLength(1_024)
    expect([cleanText(' 🦊b\u2028c ', 4), cleanText('🦊🦊🦊🦊', 4), cleanText('🦊🦊🦊🦊🦊', 4)]).toEqual([
      '🦊b c',
      '🦊🦊🦊🦊',
      '🦊🦊🦊…',
    ])
  })
})

describe('conditionsOf, for all combinations of facts', () => {
  const anyWorker = fc.record({
    isConnected: fc.boolean(),
    lastSeenMs: fc.constantFrom(NOW_MS, NOW_MS - ONLINE_MS),
    state: fc.constantFrom('IDLE', 'RUNNING', 'ERROR', 'DRAINING'),
    lastError: fc.constant(null),
    isDraining: fc.boolean(),
    configGen: fc.constant(7),
    appliedConfigGen: fc.constantFrom(null, 6, 7, 8),
    owesSinceMs: fc.constantFrom(NOW_MS, NOW_MS - ACK_MS),
  })
  const anyFacts: fc.Arbitrary<Facts> = fc.record({
    generation: fc.constantFrom(3, 4),
    policy: fc.constantFrom('Enforce' as const, 'Warn' as const, 'Observe' as const),
    suspend: fc.boolean(),
    drain: fc.boolean(),
    isReleasing: fc.boolean(),
    synced: fc.constantFrom(...(Object.keys(REASONS.Synced) as SyncedReason[])).map((reason) => synced(reason).synced),
    worker: fc.option(fc.option(anyWorker, { nil: undefined })),
    isMasterUnavailable: fc.boolean(),
    driftCount: fc.constantFrom(0, 3),
    nowMs: fc.constant(NOW_MS),
    before: fc.constantFrom([], conditionsOf(facts())),
  })

  it('always has the first five, each type once, never both Reconciling and Stalled', () => {
    fc.assert(
      fc.property(anyFacts, (each) => {
        const types = conditionsOf(each).map(({ type }) => type)
        expect(types.slice(0, 5)).toEqual(['Ready', 'Synced', 'Online', 'Applied', 'Healthy'])
        expect(new Set(types).size).toBe(types.length)
        expect(types.includes('Reconciling') && types.includes('Stalled')).toBe(false)
      }),
      { numRuns: 1_000 },
    )
  })

  it('gives each reason the status of the table', () => {
    fc.assert(
      fc.property(anyFacts, (each) => {
        for (const { type, reason, status } of conditionsOf(each)) {
          const table: Readonly<Record<string, string>> = type in REASONS ? REASONS[type as keyof typeof REASONS] : {}
          if (type in REASONS) expect([type, reason, status]).toEqual([type, reason, table[reason]])
        }
      }),
      { numRuns: 1_000 },
    )
  })

  it('changes nothing when nothing changed', () => {
    fc.assert(
      fc.property(anyFacts, (each) => {
        const before = conditionsOf(each)
        expect(conditionsOf({ ...each, before, nowMs: NOW_MS + 1_000 })).toEqual(conditionsOf({ ...each, before }))
        expect(conditionsOf({ ...each, before })).toEqual(before)
      }),
      { numRuns: 1_000 },
    )
  })
})

// ── How other programs interpret the conditions ────────────────────────────────────

describe('a FleetWorker, as other programs interpret it', () => {
  it.each(STATES)('$name', ({ object, expected }) => {
    expect(judge(object)).toEqual(expected)
  })
})
