import { expect, it } from '@jest/globals'
import { Problem } from '../../../src/dashboard/api/problem.ts'
import { cancelText } from '../../../src/dashboard/tasks/cancel-text.ts'

const run = { total: 6, results: [], open: 0, failure: null }
const outcomes = ['cancelled', 'done', 'not_found', 'cancelled', 'dead', 'expired'] as const

it('names each outcome of a cancel that occurred', () => {
  const results = outcomes.map((outcome) => ({ task_id: 't', outcome }))
  expect(cancelText({ ...run, results })).toBe(
    '2 tasks cancelled. 1 was completed before. 1 was dead and not removed. 1 was past the time to live. ' +
      '1 was no longer stored.',
  )
  expect(cancelText({ ...run, total: 1, results: results.slice(0, 1) })).toBe('1 task cancelled.')
})

it('says that an outcome is unknown, that a call was rejected, and what was not attempted', () => {
  const failed = { ...run, total: 2_500, open: 1_000 }
  expect(cancelText({ ...failed, failure: new Error('cut') })).toBe(
    '0 tasks cancelled. The outcome of 1,000 is unknown; the list is reloaded. 1,500 not attempted.',
  )
  expect(cancelText({ ...failed, failure: new Problem('no', { status: 403 }) })).toContain('1,000 rejected')
})
