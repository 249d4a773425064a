/** Tests what a master offers and accepts beside masters of other releases. */
import { describe, expect, it } from '@jest/globals'
import { MasterReleases } from '../../src/master/master-releases.ts'
import { FEATURES } from '../../src/protocol/index.ts'

const own = (): MasterReleases => new MasterReleases('0.3.0', 1)
const recorded = (version: string, features: readonly string[], additions: readonly string[]): string =>
  JSON.stringify({ version, layout: 1, features, additions })

describe('the releases of the live masters', () => {
  it('offer all features and accept every field while all masters are of this release', () => {
    const releases = own()
    releases.update([releases.text, releases.text])
    expect([...releases.features]).toEqual([...FEATURES])
    expect(releases.faultOf({ labels: { a: 'b' } })).toBeNull()
    expect(() => releases.require('cancel')).not.toThrow()
    expect(releases.masters).toEqual([
      { version: '0.3.0', layout: 1 },
      { version: '0.3.0', layout: 1 },
    ])
  })

  it('may write batches only while every live master reads them (D135)', () => {
    const releases = own()
    expect(releases.canRead('batches')).toBe(true)
    const { additions } = JSON.parse(releases.text) as { additions: string[] }
    const others = additions.filter((name) => name !== 'batches')
    for (const older of [recorded('0.2.0', FEATURES, others), null]) {
      releases.update([releases.text, older])
      expect(releases.canRead('batches')).toBe(false)
      releases.update([releases.text])
      expect(releases.canRead('batches')).toBe(true)
    }
    releases.update([releases.text, recorded('0.2.0', FEATURES, others)])
    expect(releases.faultOf({ labels: { a: 'b' } })).toBeNull() // An older master of the previous release knows them.
    releases.update([releases.text, recorded('0.1.0', [], ['batches'])])
    expect(releases.canRead('batches')).toBe(true)
  })

  it('offer only what concerns the socket beside a master that records nothing, or something unreadable', () => {
    const releases = own()
    for (const text of [null, '{', '{"version":1}', 'null']) {
      releases.update([releases.text, text])
      expect([...releases.features]).toEqual(['labels', 'logs', 'output_task', 'slot_tasks'])
      expect(releases.faultOf({ payload: {}, priority: 1, labels: null })).toBeNull()
      expect(releases.faultOf({ payload: {}, retain_seconds: 0 })).toMatchObject({
        code: 'UPGRADING',
        retryAfterSeconds: 5,
        detail: expect.stringContaining('"retain_seconds" cannot be used yet: a live master runs an older release'),
      })
      expect(releases.faultOf({ payload: {}, group_key: 'a' })).toMatchObject({ code: 'UPGRADING' })
      expect(() => releases.require('pause')).toThrow('"pause"')
    }
    releases.update([releases.text])
    expect(() => releases.require('pause')).not.toThrow()
  })

  it('name the oldest of the masters that lack the field', () => {
    const releases = own()
    releases.update([
      releases.text,
      recorded('0.10.0', ['result'], ['labels']),
      recorded('0.9.0', ['result', 'later'], ['labels']),
      recorded('0.2.0', ['result'], ['labels', 'retry']),
    ])
    expect([...releases.features]).toEqual(['result', 'labels', 'logs', 'output_task', 'slot_tasks'])
    expect(releases.faultOf({ labels: {} })).toBeNull()
    expect(releases.faultOf({ retry: {} })?.detail).toContain('version 0.9.0')
  })
})
