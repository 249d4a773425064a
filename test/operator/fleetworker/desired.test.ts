import { describe, expect, it } from '@jest/globals'
import { SECRET_MASK, type JsonObject } from '../../../src/protocol/index.ts'
import {
  desiredOf,
  type Desired,
  type DesiredResult,
  type FleetWorkerSpec,
  type Source,
} from '../../../src/operator/fleetworker/index.ts'
import { configType, fleetWorker } from './samples.ts'

const type = configType({
  url: { type: 'string' },
  headers: { type: 'object' },
  note: { type: ['string', 'null'] },
  api_key: { type: 'string', writeOnly: true },
  smtp: { type: 'object', properties: { user: { type: 'string' }, password: { type: 'string', writeOnly: true } } },
})
const sources = (texts: Record<string, string>): ReadonlyMap<string, Source> =>
  new Map(Object.entries(texts).map(([field, text]) => [field, { text, version: `uid-${field}:1` }]))
const desired = (spec: Partial<FleetWorkerSpec>, texts: Record<string, string> = {}): DesiredResult =>
  desiredOf(fleetWorker(spec), sources(texts), type)
function valid(result: DesiredResult): Desired {
  if (result.kind === 'invalid') throw new Error(result.message)
  return result.desired
}
const named = (spec: Partial<FleetWorkerSpec>, texts?: Record<string, string>): JsonObject =>
  valid(desired(spec, texts)).named
const from = (field: string, more: object = {}) => ({ field, configMapKeyRef: { name: 'c', key: 'k' }, ...more })

describe('desiredOf', () => {
  it.each([{ format: 'JSON' }, { format: 'JSON', as: 'String' }, { as: 'JSON' }])(
    'contains what config, configFrom and slots set, and nothing else (%j)',
    (how) => {
      expect(
        named({ config: { url: 'u' }, configFrom: [from('headers', how)], slots: 3 }, { headers: '{"a":["b"]}' }),
      ).toEqual({ url: 'u', headers: { a: ['b'] }, slots: 3 })
      expect(named({})).toEqual({})
    },
  )

  it('treats null as "not set", unless the field accepts null (D13)', () => {
    expect(named({ config: { url: null, note: null, enabled: null } })).toEqual({ note: null })
  })

  it('passes a field that the schema does not know to the master, also with null', () => {
    expect(named({ config: { typo: null } })).toEqual({ typo: null })
  })

  it('uses the text of a source unchanged', () => {
    expect(named({ configFrom: [from('url')] }, { url: ' {"a":1}\n' })).toEqual({ url: ' {"a":1}\n' })
  })

  it('reports a source that is not valid JSON or not accepted, without quoting it', () => {
    const broken = desired(
      { configFrom: [from('url', { format: 'JSON' }), from('headers', { as: 'JSON' })] },
      { url: 'canary', headers: '{"a":9007199254740993}' },
    )
    expect(broken).toMatchObject({
      reason: 'ConfigInvalid',
      message: expect.stringMatching(
        /^the source of url is not valid JSON, .*; the source of headers\/a: is an integer/,
      ),
    })
    expect(JSON.stringify(broken)).not.toContain('canary')
  })

  it('uses a Secret only for a field that is secret as a whole (D52)', () => {
    const secret = (field: string) => ({ field, secretKeyRef: { name: 's', key: 'k' }, as: 'String' as const })
    expect(named({ configFrom: [secret('api_key')] }, { api_key: 'k' })).toEqual({ api_key: 'k' })
    expect(desired({ configFrom: [secret('smtp'), secret('url')] }, { smtp: '', url: '' })).toMatchObject({
      reason: 'SecretNotWriteOnly',
      message: expect.stringContaining('smtp, url'),
    })
  })

  it('rejects the mask as the value of a secret, from the spec or from a source, and accepts it elsewhere', () => {
    expect(desired({ config: { smtp: { password: SECRET_MASK } } })).toMatchObject({
      reason: 'ConfigInvalid',
      message: expect.stringContaining('/smtp/password'),
    })
    expect(desired({ configFrom: [from('api_key')] }, { api_key: SECRET_MASK })).toMatchObject({
      reason: 'ConfigInvalid',
    })
    expect(named({ config: { url: SECRET_MASK } })).toEqual({ url: SECRET_MASK })
  })

  it('includes the values of sources in the size limit', () => {
    const half = 'x'.repeat(131_072)
    expect(desired({ config: { url: half }, configFrom: [from('headers')] }, { headers: half })).toMatchObject({
      reason: 'ConfigInvalid',
      message: expect.stringContaining('at most 262144'),
    })
  })

  it('gives a version to each field that contains a secret or comes from a source', () => {
    const { versions } = valid(
      desired(
        { config: { url: 'u', smtp: { user: 'u' }, api_key: 'k' }, configFrom: [from('headers')] },
        { headers: 'h' },
      ),
    )
    expect(Object.fromEntries(versions)).toEqual({
      smtp: 'generation:3',
      api_key: 'generation:3',
      headers: 'uid-headers:1',
    })
  })

  it('reports a violated limit instead of sending the config', () => {
    expect(desired({ slots: 1, config: { slots: 2 } })).toMatchObject({ reason: 'ConfigInvalid' })
  })
})
