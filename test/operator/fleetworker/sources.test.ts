import { beforeEach, describe, expect, it } from '@jest/globals'
import type { ConfigSource } from '../../../src/operator/config/index.ts'
import { reconcileFixture, type ReconcileFixture } from './reconcile-fixture.ts'
import { runTurns } from '../../kit/index.ts'

const never = new AbortController().signal
const from = (name: string, key = 'key', more: Partial<ConfigSource> = {}): { configFrom: ConfigSource[] } => ({
  configFrom: [{ field: 'api_key', secretKeyRef: { name, key }, ...more }],
})

let fixture: ReconcileFixture
beforeEach(async () => {
  fixture = await reconcileFixture()
})

const read = (name: string) => fixture.sources.read(fixture.object(name), () => true, never)

describe('the sources of configs', () => {
  it('polls each name once a minute, metadata only, however many resources share it', async () => {
    fixture.secret('s', { key: 'k' })
    for (const name of ['a', 'b', 'c']) fixture.create(name, from('s'))
    fixture.create('d', from('missing'))
    fixture.seeCluster()
    const end = new AbortController()
    const polling = fixture.sources.run(end.signal)
    for (let n = 0; n < 185; n += 1) await fixture.time.advance(1_000)
    end.abort()
    await polling
    const seen = fixture.fake.seen('GET', /\/secrets\//)
    expect(seen.map(({ path }) => path.split('/').at(-1))).toEqual(['s', 'missing', 's', 'missing', 's', 'missing'])
    expect(seen.every(({ headers }) => headers.accept?.includes('PartialObjectMetadata'))).toBe(true)
    expect(fixture.changedSources).toEqual([])
  })

  it('polls a missing source or key every five seconds until it exists', async () => {
    fixture.create('a', from('s'))
    fixture.seeCluster()
    const end = new AbortController()
    const polling = fixture.sources.run(end.signal)
    const changesWithin = async (withinSeconds: number): Promise<number> => {
      const before = fixture.changedSources.length
      for (let n = 0; n < withinSeconds && fixture.changedSources.length === before; n += 1) {
        await fixture.time.advance(1_000)
        await runTurns()
      }
      return fixture.changedSources.length - before
    }
    expect(await read('a')).toMatchObject({ reason: 'SourceNotFound' })
    fixture.secret('s', { other: 'x' })
    expect(await changesWithin(8)).toBe(1)
    expect(await read('a')).toMatchObject({ reason: 'SourceNotFound' })
    fixture.secret('s', { key: 'k' })
    expect(await changesWithin(8)).toBe(1)
    expect(await read('a')).toHaveProperty('sources')
    await changesWithin(8) // The interval that has already started.
    const polls = fixture.fake.seen('GET', /\/secrets\//).length
    expect(await changesWithin(30)).toBe(0)
    expect(fixture.fake.seen('GET', /\/secrets\//).length - polls).toBeLessThanOrEqual(1)
    end.abort()
    await polling
  })

  it('polls for a missing key although another key of the same object is found', async () => {
    fixture.create('a', from('s', 'missing'))
    fixture.create('b', from('s'))
    fixture.secret('s', { key: 'k' })
    fixture.seeCluster()
    const end = new AbortController()
    const polling = fixture.sources.run(end.signal)
    const polls = async (seconds: number): Promise<number> => {
      const before = fixture.fake.seen('GET', /\/secrets\//).length
      for (let n = 0; n < seconds; n += 1) {
        await fixture.time.advance(1_000)
        await runTurns()
      }
      return fixture.fake.seen('GET', /\/secrets\//).length - before
    }
    expect(await read('a')).toMatchObject({ reason: 'SourceNotFound' })
    expect(await read('b')).toHaveProperty('sources')
    expect(await polls(60)).toBeGreaterThanOrEqual(10)
    fixture.remove('a')
    fixture.seeCluster()
    await polls(61) // Until names are looked up again.
    expect(await polls(60)).toBeLessThanOrEqual(2)
    end.abort()
    await polling
  })

  it('never requests a name that no object can have', async () => {
    for (const [name, secret] of [
      ['a', '..'],
      ['b', 's/../../pods'],
    ] as const) {
      fixture.create(name, from(secret))
      await read(name)
    }
    fixture.seeCluster()
    const end = new AbortController()
    const polling = fixture.sources.run(end.signal)
    for (let n = 0; n < 130; n += 1) await fixture.time.advance(1_000)
    end.abort()
    await polling
    expect(fixture.fake.seen('GET', /secrets/)).toEqual([])
  })

  it('notifies when a read for one resource finds another version than the others know', async () => {
    fixture.secret('s', { key: 'old' })
    for (const name of ['a', 'b']) fixture.create(name, from('s'))
    await read('a')
    await read('b')
    expect(fixture.changedSources).toEqual([])
    fixture.secret('s', { key: 'new' })
    await read('b')
    expect(fixture.changedSources).toEqual(['secrets/ns/s'])
  })

  it('notifies when a source is created, changed and deleted', async () => {
    fixture.create('a', from('s'))
    fixture.seeCluster()
    const end = new AbortController()
    const polling = fixture.sources.run(end.signal)
    const minute = async () => {
      for (let n = 0; n < 61; n += 1) await fixture.time.advance(1_000)
    }
    await minute()
    for (const change of [
      () => fixture.secret('s', { key: 'k' }),
      () => fixture.touchSecret('s'),
      () => fixture.removeSecret('s'),
    ]) {
      change()
      await minute()
    }
    end.abort()
    await polling
    expect(fixture.changedSources).toEqual(['secrets/ns/s', 'secrets/ns/s', 'secrets/ns/s'])
  })

  it.each([
    ['..', 'cannot be the name of a Secret'],
    ['s/../../pods', 'cannot be the name of a Secret'],
    ['bytes', 'is not UTF-8 text'],
  ])('rejects what it cannot read from %j', async (name, why) => {
    fixture.secret('bytes', {})
    fixture.fake.store.patch(
      { kind: { group: '', version: 'v1', plural: 'secrets', kind: 'Secret' }, namespace: 'ns', name: 'bytes' },
      '',
      'application/merge-patch+json',
      { data: { key: '/w==' } },
      'kubectl',
      false,
    )
    fixture.create('a', from(name))
    expect(await read('a')).toMatchObject({ reason: 'ConfigInvalid', message: expect.stringContaining(why) })
    expect(fixture.fake.seen('GET', /pods|secrets$/)).toEqual([])
  })

  it('reads an object once for all its fields, and keeps text unchanged', async () => {
    fixture.secret('s', { key: '\uFEFF k \n', other: '1' })
    fixture.create('a', {
      configFrom: [...from('s').configFrom, { ...(from('s', 'other').configFrom[0] as ConfigSource), field: 'note' }],
    })
    const found = await read('a')
    expect('sources' in found && [...found.sources.values()].map(({ text }) => text)).toEqual(['\uFEFF k \n', '1'])
    expect(fixture.fake.seen('GET', /\/secrets\//)).toHaveLength(2) // Its version, then its data.
  })

  describe('consent', () => {
    const data = () =>
      fixture.fake
        .seen('GET', /\/(secrets|configmaps)\//)
        .filter(({ headers }) => !headers.accept?.includes('PartialObjectMetadata'))

    it.each([
      ['*', true],
      ['job', true],
      ['other, job', true],
      ['job/a', true],
      ['other', false],
      ['job/b', false],
      ['jo', false],
      ['', false],
      [null, false],
    ])('is given by the annotation %j: %j; without it no data is requested', async (consent, isGiven) => {
      fixture.secret('s', { key: 'k' }, consent)
      fixture.create('a', from('s'))
      const found = await read('a')
      if (isGiven) expect(found).toHaveProperty('sources')
      else
        expect(found).toMatchObject({
          reason: 'SourceForbidden',
          message: expect.stringMatching(
            /kubectl annotate secret s -n ns muster\.dev\/config-for=(other,|job\/b,|jo,)?job --overwrite$/,
          ),
        })
      expect(data().length).toBe(isGiven ? 1 : 0)
    })

    it('is needed for a ConfigMap too', async () => {
      fixture.configMap('c', { key: 'k' }, null)
      fixture.create('a', { configFrom: [{ field: 'note', configMapKeyRef: { name: 'c', key: 'key' } }] })
      expect(await read('a')).toMatchObject({
        reason: 'SourceForbidden',
        message: expect.stringContaining('kubectl annotate configmap c -n ns muster.dev/config-for=job'),
      })
      expect(data()).toEqual([])
    })

    it('withdrawn between the two requests is respected: the data is dropped', async () => {
      fixture.secret('s', { key: 'k' })
      fixture.create('a', from('s'))
      const found = fixture.sources.read(
        fixture.object('a'),
        () => {
          fixture.secret('s', { key: 'k' }, null) // The metadata was read; the data follows.
          return true
        },
        never,
      )
      expect(await found).toMatchObject({ reason: 'SourceForbidden' })
      expect(data().length).toBe(1)
    })

    it('withdrawn later is noticed by the poll, even if a value was read before', async () => {
      fixture.configMap('c', { key: 'k' })
      fixture.create('a', { configFrom: [{ field: 'note', configMapKeyRef: { name: 'c', key: 'key' } }] })
      fixture.seeCluster()
      expect(await read('a')).toHaveProperty('sources')
      fixture.configMap('c', { key: 'k' }, null)
      const end = new AbortController()
      const polling = fixture.sources.run(end.signal)
      for (let n = 0; n < 65; n += 1) await fixture.time.advance(1_000)
      end.abort()
      await polling
      expect(fixture.changedSources).toEqual(['configmaps/ns/c'])
      expect(await read('a')).toMatchObject({ reason: 'SourceForbidden' })
    })

    it('cannot be given for a Secret that Muster itself uses, which is never requested', async () => {
      fixture.reserved.add('secrets/ns/tokens')
      fixture.secret('tokens', { key: 'k' })
      fixture.create('a', from('tokens'))
      fixture.seeCluster()
      const end = new AbortController()
      const polling = fixture.sources.run(end.signal)
      expect(await read('a')).toMatchObject({
        reason: 'SourceForbidden',
        message: expect.stringContaining('credentials of Muster itself'),
      })
      for (let n = 0; n < 65; n += 1) await fixture.time.advance(1_000)
      end.abort()
      await polling
      expect(fixture.fake.seen('GET', /secrets/)).toEqual([])
    })
  })
})
