/** Tests the content of rollout reports: their bounds, what they carry over, and what they advise (D148). */
import { describe, expect, it } from '@jest/globals'
import type { SetContext, SetResult } from '../../../src/operator/fleetworkerset/context.ts'
import { begunBy, carriedOver, reportOf, withinBounds } from '../../../src/operator/fleetworkerset/report.ts'
import type { RolloutStatus } from '../../../src/operator/fleetworkerset/index.ts'
import { compileValidator, MAX_ROLLOUT_BYTES, ROLLOUT_PHASES, RolloutBody } from '../../../src/protocol/index.ts'
import { rolloutReport } from '../../kit/rollout-report.ts'
import { largestStatus } from './largest.ts'

const faultsOf = compileValidator(RolloutBody)
const bytesOf = (report: RolloutBody): number => Buffer.byteLength(JSON.stringify(report))
const PHASES = ROLLOUT_PHASES.filter((phase) => phase !== 'Complete')
const CLAIM = 'kubernetes:prod/fleetworkersets/crawlers#1a2b3c4d'
const { counts } = rolloutReport()

/** What a reconcile knows of the rollout. */
function found(rollout: Partial<RolloutStatus>, more: { isPaused?: boolean; isHeld?: boolean; current?: string } = {}) {
  const stage: RolloutStatus = {
    revision: 'r2',
    attempt: 1,
    stage: 1,
    stages: 3,
    phase: 'Baking',
    since: '2026-11-28T02:51:00Z',
    epoch: 'e',
    ...rollout,
  }
  const { isPaused = false, isHeld = false, current = 'r1' } = more
  const facts = {
    counts,
    waiting: 0,
    maxUnavailable: 3,
    isHeld,
    isOverdue: false,
    holders: [],
    isPaused,
    waitsFor: undefined,
    stage,
    failure: undefined,
    gates: stage.gates ?? [],
  }
  const context = {
    claim: CLAIM,
    set: {
      metadata: { namespace: 'prod', name: 'crawlers', uid: 'u' },
      spec: { rollout: { stages: [{ workers: 1 }] } },
    },
    state: {},
  } as unknown as SetContext
  const stored = { current: current === '' ? undefined : current, rollout: stage, failed: [] }
  const result: SetResult = {
    synced: { reason: 'Updating', message: '' },
    outcome: { kind: 'ok' },
    rollout: facts,
    stored,
  }
  return { context, result }
}

const reportAt = (...given: Parameters<typeof found>): RolloutBody => {
  const { context, result } = found(...given)
  const report = reportOf(context, result)
  if (report === undefined) throw new Error('there is a rollout')
  return report
}

describe('a report', () => {
  it('is valid in every phase, paused or not, with a current revision or without', () => {
    for (const phase of PHASES)
      for (const more of [{}, { isPaused: true }, { isHeld: true }, { current: '' }])
        expect([phase, more, faultsOf(reportAt({ phase }, more))]).toEqual([phase, more, []])
  })

  it('is undefined without a rollout', () => {
    const { context, result } = found({})
    expect(reportOf(context, { ...result, stored: { current: 'r1', rollout: undefined, failed: [] } })).toBeUndefined()
    expect(reportOf(context, { synced: result.synced, outcome: result.outcome })).toBeUndefined()
  })

  it('is valid whatever a status contains, and is accepted by its size', () => {
    const { failed = [], rollout, worst = [] } = largestStatus()
    const { context, result } = found({ ...rollout, stage: 11, stages: 11, phase: 'RolledBack' })
    const hostile = worst.map((each, n) => ({ ...each, message: n % 2 === 0 ? '' : '\u0000\ud800 ü'.repeat(200) }))
    const stored = {
      current: 'r1',
      rollout: result.stored?.rollout,
      failed: failed.map((each) => ({ ...each, stage: 11 })),
    }
    const report = reportOf(context, { ...result, worst: hostile, stored })
    const full = {
      ...rolloutReport(),
      ...report,
      changed_fields: Array.from({ length: 32 }, (_, n) => `/f${n}`.padEnd(256, 'x')),
    }
    expect(faultsOf(full)).toEqual([])
    expect(bytesOf(full)).toBeGreaterThan(MAX_ROLLOUT_BYTES)
    const fitting = withinBounds(full)
    expect(bytesOf(fitting)).toBeLessThanOrEqual(MAX_ROLLOUT_BYTES)
    expect(faultsOf(fitting)).toEqual([])
    expect(fitting.worst?.[0]).toEqual(full.worst?.[0])
    expect(fitting.failed?.at(-1)).toEqual(full.failed?.at(-1))
    expect(withinBounds(fitting)).toBe(fitting)
  })

  it.each([
    ['Writing', {}, 'abort', 'continues by itself'],
    ['Writing', { isHeld: true }, 'abort', 'unavailable'],
    ['Baking', { isPaused: true }, 'resume', 'paused'],
    ['WaitingForApproval', {}, 'promote', 'promote stage 1'],
    ['Inconclusive', {}, 'promote', 'more runs'],
    ['Failed', {}, 'abort', 'return the workers to r1'],
    ['Failed', { current: '' }, 'retry', 'no earlier config'],
    ['RollingBack', { isPaused: true }, 'retry', 'Wait until the workers run r1'],
    ['RolledBack', {}, 'retry', 'Nothing to do now'],
  ] as const)('of the phase %s with %j advises to %s', (phase, more, verb, text) => {
    const { next } = reportAt({ phase }, more)
    expect(next.command).toBe(`muster rollout ${verb} -n prod crawlers`)
    expect(next.text).toContain(text)
  })

  it('takes from an earlier report of the same attempt what a restarted operator does not know', () => {
    const gate = { name: 'failureRate', verdict: 'Failed' as const, updated_runs: 412, current_runs: 9871 }
    const before = {
      ...rolloutReport(),
      cause: 'source' as const,
      started_at: 5,
      changed_fields: ['/a'],
      gates: [gate],
    }
    const restarted = { ...rolloutReport(), changed_fields: ['/b'], gates: [{ ...gate, current_runs: null }] }
    expect(carriedOver(restarted, before)).toMatchObject({
      cause: 'source',
      started_at: 5,
      changed_fields: ['/a', '/b'],
      gates: [{ current_runs: 9871 }],
    })
    expect(carriedOver({ ...restarted, attempt: 2 }, before)).toEqual({ ...restarted, attempt: 2 })
    expect(carriedOver({ ...restarted, update_revision: 'r3' }, before)).toEqual({
      ...restarted,
      update_revision: 'r3',
    })
  })
})

describe('the cause of an attempt', () => {
  const begun = (attempt: number, observedGeneration: number) => {
    const { result } = found({ attempt })
    const set = { metadata: { generation: 7 } } as unknown as SetContext['set']
    return begunBy({ lastStatus: { observedGeneration }, set }, undefined, result.stored?.rollout)
  }

  it('is an edit if the spec is new, a source if it is not, and a retry of a revision that failed', () => {
    expect(begun(1, 6)).toMatchObject({ cause: 'edit', attempt: 1, at: Date.parse('2026-11-28T02:51:00Z') / 1_000 })
    expect(begun(1, 7)).toMatchObject({ cause: 'source' })
    expect(begun(2, 7)).toMatchObject({ cause: 'retry' })
  })

  it('is not another one for the next stage of the same attempt', () => {
    const { rollout } = found({}).result.stored ?? {}
    const context = { lastStatus: {}, set: { metadata: { generation: 7 } } as unknown as SetContext['set'] }
    expect(begunBy(context, rollout, rollout && { ...rollout, stage: 2 })).toBeUndefined()
    expect(begunBy(context, rollout, undefined)).toBeUndefined()
  })
})
