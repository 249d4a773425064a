/** Tests at which version of a source a value counts as changed, also over a restart of the operator. */
import { describe, expect, it } from '@jest/globals'
import { MAX_SOURCE_VERSION_CHARS } from '../../../src/operator/config/index.ts'
import { SourceVersions } from '../../../src/operator/fleetworkerset/source-versions.ts'

const versions = (): SourceVersions => new SourceVersions((text) => `digest of ${text}`)
const seen = (version: string, text?: string) => [{ field: 'key', version, text }]

/** A term that has read the value `a` at version 1, and found it again at version 2. */
function sameValue(): { readonly term: SourceVersions; readonly shown: ReturnType<SourceVersions['shown']> } {
  const term = versions()
  term.resolve(seen('u:1', 'a'))
  return { term, shown: term.shown(term.resolve(seen('u:2', 'a'))) }
}

describe('the version of a source', () => {
  it('is the one at which the value changed, whatever else changes', () => {
    const term = versions()
    const resolved = ['a', 'a', 'b', 'b'].map((text, index) => term.resolve(seen(`u:${index}`, text)).get('key'))
    expect(resolved).toEqual(['u:0', 'u:0', 'u:2', 'u:2'])
  })

  it('needs the value only if the version is new, and an earlier value is known', () => {
    const term = versions()
    term.resolve(seen('u:1'))
    expect(term.needsValue('key', 'u:2')).toBe(false)
    term.resolve(seen('u:1', 'a'))
    expect([term.needsValue('key', 'u:1'), term.needsValue('key', 'u:2')]).toEqual([false, true])
    term.resolve(seen('u:2', 'a'))
    expect([term.needsValue('key', 'u:1'), term.needsValue('key', 'u:2')]).toEqual([false, false])
  })

  it('is stored with the newest version of the same value, so a restart needs no value', () => {
    const { shown } = sameValue()
    expect(shown).toEqual([{ field: 'key', version: 'u:1 u:2' }])
    const restarted = versions()
    expect(restarted.resolve(seen('u:2'), shown).get('key')).toBe('u:1')
    expect(restarted.shown(restarted.resolve(seen('u:2'), shown))).toEqual(shown)
    expect(restarted.resolve(seen('u:2', 'a'), shown).get('key')).toBe('u:1')
    expect(restarted.resolve(seen('u:3', 'a'), shown).get('key')).toBe('u:1')
  })

  it('is new for a change while no operator ran, whose earlier value no process has read', () => {
    const { shown } = sameValue()
    expect(versions().resolve(seen('u:3'), shown).get('key')).toBe('u:3')
    expect(versions().resolve(seen('u:3', 'a'), shown).get('key')).toBe('u:3')
  })

  it('is not the one of the status once this term knows more', () => {
    const { term } = sameValue()
    expect(term.resolve(seen('u:3', 'b'), [{ field: 'key', version: 'u:1 u:3' }]).get('key')).toBe('u:3')
  })

  it('is forgotten with its field, and stored alone if both are too long for the status', () => {
    const term = versions()
    const long = 'u:'.padEnd(MAX_SOURCE_VERSION_CHARS / 2, '1')
    term.resolve(seen(long, 'a'))
    expect(term.shown(term.resolve(seen(`${long}2`, 'a')))).toEqual([{ field: 'key', version: long }])
    term.resolve([])
    expect(term.resolve(seen('u:3', 'a')).get('key')).toBe('u:3')
  })
})
