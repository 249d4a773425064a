import { webcrypto } from 'node:crypto'
import { describe, expect, it } from '@jest/globals'
import { draftOf, typeWhole } from '../../../src/dashboard/config/value-draft.ts'
import type { FieldError } from '../../../src/protocol/index.ts'
import {
  faultOf,
  newSubmission,
  payloadExample,
  payloadFaults,
  randomKey,
  readSubmission,
  resultText,
} from '../../../src/dashboard/tasks/submission.ts'

describe('a submission', () => {
  it('leaves out empty fields', () => {
    expect(readSubmission({ ...newSubmission('', { url: 'x' }), priority: '1' })).toEqual({
      kind: 'valid',
      body: { payload: { url: 'x' }, priority: 1 },
    })
  })

  it('contains all filled fields', () => {
    expect(
      readSubmission({
        payload: draftOf({}),
        priority: '-1',
        taskId: 't',
        delaySeconds: '1.5',
        labels: 'tenant=acme, note=a=b, url:http://c',
        group: 'acme',
        ttlSeconds: '60',
        maxAttempts: ' 2 ',
        idempotencyKey: 'k',
      }),
    ).toEqual({
      kind: 'valid',
      body: {
        payload: {},
        priority: -1,
        task_id: 't',
        delay_seconds: 1.5,
        labels: { tenant: 'acme', note: 'a=b', url: 'http://c' },
        group_key: 'acme',
        ttl_seconds: 60,
        max_attempts: 2,
        idempotency_key: 'k',
      },
    })
  })

  it('reports the fields that cannot be parsed', () => {
    const of = (part: object) => readSubmission({ ...newSubmission('k'), ...part })
    const faults = (path: string, message: unknown) => ({
      kind: 'invalid',
      faults: [expect.objectContaining({ path, message })],
    })
    expect(of({ payload: typeWhole(draftOf({}), '{') })).toEqual(
      faults('/payload', expect.stringMatching(/^invalid JSON/)),
    )
    expect(of({ payload: draftOf([]) })).toEqual(faults('/payload', 'expected a JSON object, for example {}'))
    expect(of({ ttlSeconds: 'soon' })).toEqual(faults('/ttl_seconds', expect.stringMatching(/seconds/)))
    expect(of({ delaySeconds: '-1' })).toEqual(faults('/delay_seconds', expect.stringMatching(/seconds/)))
    for (const labels of ['tenant', '=acme', 'a=b,'])
      expect(of({ labels })).toEqual(faults('/labels', expect.stringMatching(/key=value/)))
    expect(of({ maxAttempts: '1.5' })).toEqual(faults('/max_attempts', expect.stringMatching(/whole number/)))
    for (const priority of ['', 'urgent', '2147483648'])
      expect(of({ priority })).toEqual(faults('/priority', expect.stringMatching(/whole number/)))
  })

  it('assigns each fault to its field, and payload faults to paths inside the payload', () => {
    const faults = [
      { path: '/payload/url', message: 'a', keyword: '', params: {} },
      { path: '/payload', message: 'b', keyword: '', params: {} },
      { path: '/task_id', message: 'c', keyword: '', params: {} },
      { path: '/payloads', message: 'd', keyword: '', params: {} },
    ]
    expect(payloadFaults(faults).map(({ path, message }) => [path, message])).toEqual([
      ['/url', 'a'],
      ['', 'b'],
    ])
    expect([faultOf(faults, 'task_id'), faultOf(faults, 'priority')]).toEqual(['c', null])
  })

  it('words the faults of the master as a config form does, one for each field', () => {
    const fault = (path: string, keyword: string, params: object, message: string): FieldError =>
      ({ path, keyword, params, message }) as FieldError
    const faults = [
      fault('/payload/to', 'format', { format: 'email' }, 'must match format "email"'),
      fault('/payload/to', 'minLength', { limit: 3 }, 'must not have fewer than 3 characters'),
      fault('/priority', 'maximum', { limit: 9 }, 'must be <= 9'),
    ]
    expect(payloadFaults(faults).map(({ path, message }) => [path, message])).toEqual([
      ['/to', 'expected an e-mail address'],
    ])
    expect(faultOf(faults, 'priority')).toBe('expected 9 or less')
  })

  it('starts with the required fields of the payload', () => {
    const schema = {
      type: 'object',
      required: ['url', 'n', 'mode', 'deep'],
      properties: {
        url: { type: 'string' },
        n: { type: 'integer', default: 3 },
        mode: { enum: ['a', 'b'] },
        deep: { anyOf: [] },
        more: { type: 'string' },
      },
    }
    expect(payloadExample(schema)).toEqual({ url: '', n: 3, mode: 'a', deep: null })
    expect(payloadExample(null)).toEqual({})
  })

  it('results in a text that says whether the task was queued', () => {
    expect(resultText({ task_id: 't', queued: true, priority: 0 })).toBe('Queued as t.')
    expect(resultText({ task_id: 't', queued: false, duplicate: true })).toBe('Not queued: duplicate of task t.')
  })

  it('gets an idempotency key of 128 random bits', () => {
    const keys = new Set(Array.from({ length: 100 }, () => randomKey((bytes) => webcrypto.getRandomValues(bytes))))
    expect(keys.size).toBe(100)
    for (const key of keys) expect(key).toMatch(/^[0-9a-f]{32}$/)
  })
})
