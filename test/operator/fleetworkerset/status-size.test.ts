/**
 * Tests the size of the status of a set whose workers, labels and errors have texts of characters that take four bytes:
 * bounds of a schema count characters, and a status is limited in bytes.
 */
import { Buffer } from 'node:buffer'
import { describe, expect, it } from '@jest/globals'
import { MAX_NAME_CHARS } from '../../../src/protocol/index.ts'
import type { SetContext, SetResult } from '../../../src/operator/fleetworkerset/context.ts'
import { reportSet } from '../../../src/operator/fleetworkerset/status.ts'
import type { FleetWorkerSetStatus } from '../../../src/operator/fleetworkerset/index.ts'
import { rolloutReport } from '../../kit/rollout-report.ts'
import { largestStatus } from './largest.ts'

const MAX_STATUS_BYTES = 65_536
const { counts } = rolloutReport()
const many = <T>(count: number, each: (index: number) => T): T[] => Array.from({ length: count }, (_, n) => each(n))
const named = (text: string, index: number): string =>
  [...String(index), ...text.repeat(MAX_NAME_CHARS)].slice(0, MAX_NAME_CHARS).join('')

/** What a reconcile has found, with every text of others made of this one. */
function hostileResult(text: string): SetResult {
  const [long, last] = [text.repeat(5_000), largestStatus()]
  if (last.rollout === undefined) throw new Error('the largest status has a rollout')
  const { gates = [] } = last.rollout
  return {
    synced: { reason: 'RolloutFailed', message: long },
    outcome: { kind: 'ok' },
    refused: 'f'.repeat(12),
    stored: {
      current: 'r1',
      rollout: { ...last.rollout, phase: 'RolledBack' },
      failed: many(4, () => ({ revision: 'r', attempts: 1, time: '2026-01-01T00:00:00Z', message: 'x'.repeat(512) })),
    },
    sources: last.sources,
    rollout: {
      counts: { ...counts, conflicted: 3 },
      waiting: 0,
      maxUnavailable: 3,
      isHeld: false,
      isOverdue: false,
      holders: many(3, () => long),
      isPaused: false,
      waitsFor: undefined,
      stage: { ...last.rollout, phase: 'RolledBack' },
      failure: { revision: 'r', time: '2026-01-01T00:00:00Z', message: long },
      gates,
    },
    worst: many(100, (index) => ({ worker: named(text, index), reason: 'WorkerError', message: long })),
    drift: {
      workers: many(100, (index) => named(text, index)),
      paths: many(100, (index) => `/${index}${long}`),
      isContested: true,
    },
  }
}

/** @returns the status that is written for the result, and the note of its Event. */
function reported(result: SetResult): { readonly status: FleetWorkerSetStatus; readonly note: string } {
  let status: FleetWorkerSetStatus | undefined
  let note = ''
  const context = {
    lastStatus: largestStatus(),
    state: { reportedMs: -Infinity },
    set: { metadata: { namespace: 'prod', name: 'crawlers', uid: 'u', generation: 1 }, spec: {} },
    deps: {
      table: { unavailableMs: 0, masterNowMs: () => 1_000 },
      clock: { monotonicMs: () => 0 },
      status: { put: (_: unknown, put: FleetWorkerSetStatus) => (status = put) },
      events: { record: (...[, , , message]: readonly string[]) => (note = message ?? '') },
    },
  } as unknown as SetContext
  reportSet(context, result)
  if (status === undefined) throw new Error('no status was written')
  return { status, note }
}

/** As the API server stores it: its encoder escapes characters that matter in HTML. */
const bytesOf = (value: unknown): number =>
  Buffer.byteLength(JSON.stringify(value).replaceAll(/[<>&\u2028\u2029]/g, String.raw`\u0000`))

describe('the status of a set', () => {
  it.each([
    ['four bytes', '\u{1f98a}'],
    ['three bytes', '\u{20ac}'],
    ['an escape in JSON', '"'],
    ['a longer escape at the API server', '<'],
  ])('takes less than 64 KiB if each character takes %s', (_, text) => {
    const { status } = reported(hostileResult(text))
    expect(bytesOf(status)).toBeLessThan(MAX_STATUS_BYTES)
    // Whatever is shortened, the status still says what is wrong, and with which workers.
    const ready = status.conditions?.find(({ type }) => type === 'Ready')
    expect(ready?.message).toContain(text.repeat(100))
    expect(status.worst?.[0]?.worker).toBe(named(text, 0))
    expect(status.drift?.workers?.[0]).toBe(named(text, 0))
    expect(status.failed).toHaveLength(5)
  })

  it('names as many workers as the schema permits if their ids are short', () => {
    const result = hostileResult('\u{1f98a}')
    const worst = many(100, (index) => ({ worker: `w-${index}`, reason: 'Offline', message: 'it is offline' }))
    const workers = worst.map(({ worker }) => worker)
    const { status } = reported({ ...result, worst, drift: { workers, paths: ['/a'], isContested: false } })
    expect([status.worst?.length, status.drift?.workers?.length, status.drift?.paths]).toEqual([20, 10, ['/a']])
  })
})
