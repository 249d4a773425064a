/** Tests when the reports of rollouts are sent, with virtual time and a recorded master (D148). */
import { afterEach, describe, expect, it } from '@jest/globals'
import type { CallRefusal, CallResult, ReportWriter } from '../../../src/operator/fleet/index.ts'
import { RolloutReports } from '../../../src/operator/fleetworkerset/index.ts'
import type { ReportOffer } from '../../../src/operator/fleetworkerset/report-offer.ts'
import type { RolloutBody, RolloutShown } from '../../../src/protocol/index.ts'
import { VirtualTime } from '../../../src/runtime/index.ts'
import { recordingLog } from '../../kit/index.ts'
import { rolloutReport } from '../../kit/rollout-report.ts'

const SECOND = 1_000
const MINUTE = 60 * SECOND
const KEY = { type: 'job', name: 'set-1', claim: 'kubernetes:prod/fleetworkersets/crawlers#1' }
const COUNTS = rolloutReport().counts

/** A report with every field. */
const report = (more: Partial<RolloutBody> = {}): RolloutBody => ({
  ...rolloutReport(),
  managed_by: KEY.claim,
  current_revision: 'r1',
  cause: null,
  paused: false,
  held: false,
  stage_list: [],
  limit: null,
  started_at: null,
  gates: [],
  worst: [],
  changed_fields: [],
  failed: [],
  next: { text: 'Nothing to do.', command: null },
  ...more,
})
const rollout = (more: Partial<RolloutBody> = {}): ReportOffer => ({ kind: 'rollout', report: report(more) })
const updated = (count: number): Partial<RolloutBody> => ({ counts: { ...COUNTS, updated: count } })
const none = (current: string): ReportOffer => ({ kind: 'none', current, counts: COUNTS, now: 9 })

/** A master that records its calls. */
class Recorded implements ReportWriter {
  readonly calls: string[] = []
  readonly stored = new Map<string, RolloutBody>()
  refusal: CallRefusal | undefined

  async #answer(call: string, change: () => void): Promise<CallResult<void>> {
    this.calls.push(call)
    if (this.refusal !== undefined) return this.refusal
    change()
    return { kind: 'ok', value: undefined, epoch: 'e' }
  }

  put(_type: string, name: string, body: RolloutBody) {
    return this.#answer(`PUT ${body.stage} ${body.phase} ${body.counts.updated}`, () => this.stored.set(name, body))
  }

  remove(_type: string, name: string) {
    return this.#answer(`DELETE ${name}`, () => this.stored.delete(name))
  }

  async list(): Promise<CallResult<readonly RolloutShown[]>> {
    if (this.refusal?.kind === 'not_registered') return this.refusal
    const value = [...this.stored].map(([name, body]) => ({ rollout: name, reported_at: 1, ...body }) as RolloutShown)
    return { kind: 'ok', value, epoch: 'e' }
  }
}

const ends: AbortController[] = []
afterEach(() => {
  for (const end of ends.splice(0)) end.abort()
})

function started(stored: readonly RolloutBody[] = []) {
  const time = new VirtualTime()
  const master = new Recorded()
  for (const [at, body] of stored.entries()) master.stored.set(`set-${at + 1}`, body)
  const log = recordingLog()
  const reports = new RolloutReports({
    clock: time,
    timers: time,
    log,
    reports: master,
    offered: async () => ['job'],
    isLiveClaim: (claim) => claim === KEY.claim,
    watches: () => true,
  })
  const end = new AbortController()
  ends.push(end)
  void reports.run(end.signal)
  /** Offers and lets the time pass. @returns the calls since then. */
  const after = async (offer: ReportOffer | undefined, ms = 0): Promise<readonly string[]> => {
    const from = master.calls.length
    if (offer !== undefined) reports.offer(KEY, offer)
    await time.advance(ms)
    return master.calls.slice(from)
  }
  return { after, log, master, reports, time }
}

describe('the reports of rollouts', () => {
  it('send news immediately, and other differences at most every 10 s', async () => {
    const { after } = started()
    expect(await after(rollout(updated(1)))).toEqual(['PUT 1 Baking 1'])
    for (let second = 1; second < 10; second += 1) expect(await after(rollout(updated(second)), SECOND)).toEqual([])
    expect(await after(undefined, SECOND)).toEqual(['PUT 1 Baking 9'])
    const failed = { name: 'errors', verdict: 'Failed' as const }
    expect(await after(rollout({ ...updated(20), stage: 2 }))).toEqual(['PUT 2 Baking 20'])
    expect(await after(rollout({ ...updated(21), stage: 2, gates: [failed] }))).toEqual(['PUT 2 Baking 21'])
    expect(await after(rollout({ ...updated(22), stage: 2, gates: [failed], paused: true }))).toHaveLength(1)
  })

  it('send an equal report once a minute while the rollout runs, and none when it has ended', async () => {
    const { after } = started()
    await after(rollout())
    expect(await after(rollout(), 59 * SECOND)).toEqual([])
    expect(await after(undefined, 2 * SECOND)).toEqual(['PUT 1 Baking 1'])
    expect(await after(none('r2'))).toEqual(['PUT 1 Complete 1'])
    expect(await after(none('r2'), 30 * MINUTE)).toEqual([])
    expect(await after(rollout({ phase: 'RolledBack', update_revision: 'r3' }))).toHaveLength(1)
    expect(await after(rollout({ phase: 'RolledBack', update_revision: 'r3', ...updated(5) }), 30 * MINUTE)).toEqual([])
  })

  it('send nothing after a restart if the master has the report', async () => {
    const { after } = started([report({ phase: 'Complete' })])
    expect(await after(none('r2'), 30 * MINUTE)).toEqual([])
  })

  it('complete the report of a rollout that ended while no operator ran', async () => {
    const { after, master } = started([report({ cause: 'source', started_at: 5 })])
    expect(await after(none('r2'))).toEqual(['PUT 1 Complete 1'])
    expect(master.stored.get('set-1')).toMatchObject({ cause: 'source', started_at: 5, since: 9, phase: 'Complete' })
  })

  it('remove the report of a rollout that was reverted, before or after it failed', async () => {
    for (const phase of ['Baking', 'Failed', 'RollingBack', 'RolledBack', 'Complete'] as const) {
      const reverted = started([report({ phase })])
      expect([phase, await reverted.after(none('r1'))]).toEqual([phase, ['DELETE set-1']])
    }
  })

  it('remove the report of a deleted set, and of one that no longer exists', async () => {
    const { after, log, master } = started([report(), report({ managed_by: 'kubernetes:prod/fleetworkersets/old#2' })])
    expect(await after(undefined)).toEqual(['DELETE set-2'])
    expect(log.lines.map(({ message }) => message)).toEqual(['deleted the report of a set that no longer exists'])
    expect(await after({ kind: 'deleted' })).toEqual(['DELETE set-1'])
    expect(master.stored.size).toBe(0)
  })

  it('leave the report of another client as it is', async () => {
    const { after, master } = started([report({ managed_by: null }), report({ managed_by: 'by hand' })])
    expect(await after(undefined, 30 * MINUTE)).toEqual([])
    expect(master.stored.size).toBe(2)
  })

  it('send everything again after the master lost its state', async () => {
    const { after, master, reports } = started()
    await after(rollout())
    master.stored.clear()
    reports.forget()
    expect(await after(undefined)).toEqual(['PUT 1 Baking 1'])
  })

  it('repeat a report that failed, and skip older ones', async () => {
    const { after, master } = started()
    master.refusal = { kind: 'unavailable', effect: 'not_sent', message: 'no response' }
    expect(await after(rollout())).toEqual(['PUT 1 Baking 1'])
    expect(await after(rollout({ stage: 2 }), SECOND)).toEqual([])
    master.refusal = undefined
    expect(await after(rollout({ stage: 3 }), 2 * SECOND)).toEqual(['PUT 3 Baking 1'])
  })

  it('ask a master of an earlier release once in 10 minutes, without a line in the log', async () => {
    const { after, log, master } = started()
    master.refusal = { kind: 'not_registered' }
    expect(await after(rollout(), 9 * MINUTE)).toEqual([])
    master.refusal = undefined
    expect(await after(rollout(), 2 * MINUTE)).toEqual(expect.arrayContaining(['PUT 1 Baking 1']))
    expect(log.lines).toEqual([])
  })

  it('log a report that the master refuses once, and try again after 10 minutes', async () => {
    const { after, log, master } = started()
    master.refusal = { kind: 'rejected', faults: [], message: 'type job has 64 rollout reports' }
    expect(await after(rollout(), 9 * MINUTE)).toHaveLength(1)
    expect(await after(rollout(), 10 * MINUTE)).toHaveLength(1)
    expect(log.lines.map(({ level, message }) => [level, message])).toEqual([
      ['warn', 'the master refuses the report of a rollout; the rollout is not affected'],
    ])
  })
})
