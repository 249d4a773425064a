import { describe, expect, it } from '@jest/globals'
import { actCommands } from '../../../src/dashboard/operations/commands.ts'
import { FIRST_PACE, leastSeconds, paceFaults, paceOf } from '../../../src/dashboard/operations/settings.ts'
import {
  cancelText,
  endText,
  generationsText,
  kindText,
  listPollMs,
  outcomesOf,
  paceText,
  pollMs,
  previewLines,
  replayText,
  settledOf,
  stopText,
  whatText,
} from '../../../src/dashboard/operations/texts.ts'
import type { OperationPreview, OperationShown } from '../../../src/protocol/index.ts'

const COUNTS = {
  pending: 0,
  active: 0,
  done: 0,
  offline: 0,
  unchanged: 0,
  conflict: 0,
  refused: 0,
  failed: 0,
  unknown: 0,
}

function operation(
  change: Partial<Omit<OperationShown, 'counts'>>,
  counts: Partial<typeof COUNTS> = {},
): OperationShown {
  return {
    operation: '3f2a91bc',
    type: 'mailer',
    kind: 'patch',
    state: 'running',
    reason: null,
    note: null,
    created_at: 1,
    created_by: 'admin',
    ended_at: null,
    total: 300,
    patch: { slots: 4, host: 'a' },
    fields: ['host', 'slots'],
    group: null,
    before: null,
    per_second: 20,
    parallel: 5,
    wait_seconds: 60,
    bake_seconds: 2,
    stop_after: null,
    stop_share: null,
    failures: [],
    undo_of: null,
    undone_by: null,
    can_undo: false,
    ...change,
    counts: { ...COUNTS, ...counts },
  }
}

describe('what an operation does', () => {
  it('is one line, for each kind and for an undo', () => {
    expect(whatText(operation({}))).toBe('sets slots: 4, host: "a" on 300 workers')
    expect(whatText(operation({ kind: 'drain', patch: null, total: 1 }))).toBe('drains 1 worker')
    expect(whatText(operation({ kind: 'replay', patch: null }))).toBe('replays 300 dead tasks')
    const undo = operation({ patch: null, undo_of: 'aa' })
    expect([kindText(undo), whatText(undo)]).toEqual([
      'Undo',
      'restores host, slots on 300 workers to the values before operation aa',
    ])
  })

  it('has a pace, and rules by which it stops', () => {
    expect(paceText(operation({}))).toBe('20 a second, 5 at a time')
    expect(paceText(operation({ kind: 'replay' }))).toBe('20 a second')
    expect(stopText(operation({}))).toBeNull()
    expect(stopText(operation({ stop_after: 1, stop_share: 0.125 }))).toBe(
      'after 1 failure, or when 12.5 % have failed, of at least 10',
    )
  })
})

describe('the outcomes of an operation', () => {
  const texts = (of: OperationShown) => outcomesOf(of).map(({ text, count }) => `${count} ${text}`)

  it('are those that occur, in words of the kind', () => {
    const counts = { pending: 7, active: 2, done: 3, unchanged: 1, failed: 1 }
    expect(texts(operation({}, counts))).toEqual([
      '7 pending',
      '2 changed, not confirmed yet',
      '3 done',
      '1 already set',
      '1 failed',
    ])
    expect(texts(operation({ kind: 'drain' }, counts))).toEqual([
      '7 pending',
      '2 draining',
      '3 drained',
      '1 skipped: not connected',
      '1 failed',
    ])
    expect(texts(operation({ state: 'stopped' }, { pending: 7 }))).toEqual(['7 not changed'])
    const replay = { kind: 'replay', total: 9 } as const
    expect(texts(operation({ ...replay, state: 'cancelled' }, { done: 2, pending: 7 }))).toEqual([
      '7 not replayed',
      '2 replayed',
    ])
    expect(texts(operation({ ...replay, state: 'done' }, { done: 2, pending: 7 }))).toEqual([
      '7 skipped: no longer dead',
      '2 replayed',
    ])
    expect(settledOf(operation({ total: 14 }, counts))).toBe(5)
  })

  it('end with the reason and with what was left', () => {
    expect(endText(operation({}))).toBeNull()
    expect(endText(operation({ state: 'done' }))).toBeNull()
    expect(endText(operation({ state: 'stopped', reason: '3 workers have failed' }, { pending: 250 }))).toBe(
      'Stopped: 3 workers have failed. 250 workers were not changed.',
    )
    expect(endText(operation({ state: 'cancelled', reason: 'cancelled by admin' }, { pending: 1 }))).toBe(
      'Cancelled by admin. 1 worker was not changed.',
    )
    const replay = { kind: 'replay', state: 'cancelled', reason: 'cancelled by admin' } as const
    expect(endText(operation(replay, { pending: 7 }))).toBe('Cancelled by admin. 7 dead tasks were not replayed.')
  })

  it('say before a cancel what it does to the workers under way', () => {
    expect(cancelText(operation({}, { pending: 7, active: 1 }))).toBe(
      '7 workers will not be changed. 1 worker keeps the change that was made already.',
    )
    expect(cancelText(operation({ kind: 'drain' }, { pending: 1, active: 2 }))).toBe(
      '1 worker will not be drained. 2 workers drain already; a drain cannot be cancelled.',
    )
  })
})

describe('the polls of an operation', () => {
  it('end with it, but not before the last worker has confirmed', () => {
    expect(pollMs(operation({}))).toBe(2_000)
    expect(pollMs(operation({ state: 'cancelled' }, { active: 1 }))).toBe(5_000)
    expect(pollMs(operation({ state: 'done' }))).toBe(Infinity)
    expect(listPollMs([operation({ state: 'done' })])).toBe(15_000)
    expect(listPollMs([operation({ state: 'done' }), operation({})])).toBe(2_000)
  })
})

describe('a preview', () => {
  const preview = (change: Partial<OperationPreview>): OperationPreview => ({
    kind: 'patch',
    total: 300,
    change: 290,
    unchanged: 0,
    refused: 0,
    unknown: 0,
    offline: 0,
    generations: [],
    values: [],
    managed: [],
    refused_because: [],
    ...change,
  })

  it('says what does not change and why, and which generations are overwritten', () => {
    const fault = { path: '/slots', message: 'must be <= 2', keyword: 'maximum', params: {} }
    const shown = preview({
      unchanged: 1,
      refused: 2,
      unknown: 3,
      offline: 4,
      refused_because: [{ detail: [fault, fault], workers: 2 }],
      generations: [
        { config_gen: 4, workers: 289 },
        { config_gen: 7, workers: 1 },
      ],
    })
    expect(previewLines(shown)).toEqual([
      '1 worker has these values already.',
      '4 of them are offline: the config is applied when the worker connects.',
      '2 workers refused, because the config would be invalid: /slots must be <= 2 (and 1 more) (2).',
      '3 workers have no record any more.',
    ])
    expect(generationsText(shown)).toBe('generation 4 (289 workers), generation 7 (1 worker)')
    expect(previewLines(preview({ kind: 'drain', unchanged: 2 }))).toEqual(['2 workers are not connected and skipped.'])
  })

  it('has a pace that the user can change', () => {
    expect(paceFaults(FIRST_PACE).size).toBe(0)
    expect(paceOf(FIRST_PACE)).toEqual({ per_second: 20, parallel: 20, stop_after: 3 })
    expect(paceOf({ perSecond: '0.5', parallel: ' 1 ', stopAfter: '' })).toEqual({ per_second: 0.5, parallel: 1 })
    expect([...paceFaults({ perSecond: '0', parallel: '1.5', stopAfter: 'two' })]).toEqual([
      'perSecond',
      'parallel',
      'stopAfter',
    ])
    expect(leastSeconds(290, { per_second: 20 })).toBe(15)
  })
})

describe('the commands of an operation', () => {
  it('do what its buttons do', () => {
    const base = new URL('https://fleet.example.net/api/v1/')
    expect(actCommands(base, operation({}), 'undo').map(({ text }) => text)).toEqual([
      `curl -sS -X POST -H "Authorization: Bearer $SVC_API_TOKEN" ` +
        'https://fleet.example.net/api/v1/automations/mailer/operations/3f2a91bc/undo',
      'muster operations undo mailer/3f2a91bc --master-url https://fleet.example.net',
    ])
  })
})

describe('the result of a replay', () => {
  it('says how many tasks are done, dead again and not finished', () => {
    expect(replayText({ replayed: 1_453, done: 1_390, died: 63 })).toBe('1,453 replayed: 1,390 done, 63 dead again')
    expect(replayText({ replayed: 4, done: 1, died: 0 })).toBe('4 replayed: 1 done, 3 not finished')
    expect(replayText({ replayed: 2, done: 0, died: 2 })).toBe('2 replayed: 0 done, 2 dead again')
  })
})
