import { webcrypto } from 'node:crypto'
import { describe, expect, it } from '@jest/globals'
import { newSubmission, payloadExample, randomKey, readSubmission, resultText } from '../../../src/dashboard/tasks/submission.ts'

describe('a submission', () => {
  it('leaves out what was left empty', () => {
    expect(readSubmission({ ...newSubmission('', '{"url":"x"}'), priority: '1' })).toEqual({ body: { payload: { url: 'x' }, priority: 1 } })
  })

  it('carries everything that was filled in', () => {
    expect(readSubmission({ payload: '{}', priority: '-1', taskId: 't', ttlSeconds: '60', maxAttempts: ' 2 ', idempotencyKey: 'k' }))
      .toEqual({ body: { payload: {}, priority: -1, task_id: 't', ttl_seconds: 60, max_attempts: 2, idempotency_key: 'k' } })
  })

  it('says which text cannot be read', () => {
    const of = (part: object) => readSubmission({ ...newSubmission('k'), ...part })
    expect(of({ payload: '{' })).toEqual({ fault: expect.stringMatching(/^Payload: not JSON/) })
    expect(of({ payload: '[]' })).toEqual({ fault: 'Payload: expected a JSON object, for example {}' })
    expect(of({ ttlSeconds: 'soon' })).toEqual({ fault: expect.stringMatching(/^Time to live/) })
    expect(of({ maxAttempts: '1.5' })).toEqual({ fault: expect.stringMatching(/^Attempts/) })
  })

  it('starts with the fields a payload must have', () => {
    const schema = {
      type: 'object', required: ['url', 'n', 'mode', 'deep'],
      properties: { url: { type: 'string' }, n: { type: 'integer', default: 3 }, mode: { enum: ['a', 'b'] }, deep: { anyOf: [] }, more: { type: 'string' } },
    }
    expect(JSON.parse(payloadExample(schema))).toEqual({ url: '', n: 3, mode: 'a', deep: null })
    expect(payloadExample(null)).toBe('{}')
  })

  it('is answered with what happened to the task', () => {
    expect(resultText({ task_id: 't', queued: true, priority: 0 })).toBe('Queued as t.')
    expect(resultText({ task_id: 't', queued: false, duplicate: true })).toBe('Not queued again: this is the task t.')
  })

  it('gets an idempotency key of 128 random bits', () => {
    const keys = new Set(Array.from({ length: 100 }, () => randomKey((bytes) => webcrypto.getRandomValues(bytes))))
    expect(keys.size).toBe(100)
    for (const key of keys) expect(key).toMatch(/^[0-9a-f]{32}$/)
  })
})
