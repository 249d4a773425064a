import { beforeEach, describe, expect, it } from '@jest/globals'
import type { ConfigSource } from '../../../src/operator/fleetworker/index.ts'
import { turns } from '../kube/world.ts'
import { reconcileWorld, type ReconcileWorld } from './reconcile-world.ts'

const never = new AbortController().signal
const from = (name: string, key = 'key', more: Partial<ConfigSource> = {}): { configFrom: ConfigSource[] } => ({
  configFrom: [{ field: 'api_key', secretKeyRef: { name, key }, ...more }],
})

let world: ReconcileWorld
beforeEach(async () => {
  world = await reconcileWorld()
})

const read = (name: string) => world.sources.read(world.object(name), () => true, never)

describe('the sources of configs', () => {
  it('polls each name once a minute, metadata only, however many resources share it', async () => {
    world.secret('s', { key: 'k' })
    for (const name of ['a', 'b', 'c']) world.create(name, from('s'))
    world.create('d', from('missing'))
    world.seeCluster()
    const end = new AbortController()
    const polling = world.sources.run(end.signal)
    for (let n = 0; n < 185; n += 1) await world.time.advance(1_000)
    end.abort()
    await polling
    const seen = world.fake.seen('GET', /\/secrets\//)
    expect(seen.map(({ path }) => path.split('/').at(-1))).toEqual(['s', 'missing', 's', 'missing', 's', 'missing'])
    expect(seen.every(({ headers }) => headers.accept?.includes('PartialObjectMetadata'))).toBe(true)
    expect(world.changedSources).toEqual([])
  })

  it('polls a missing source or key every five seconds until it exists', async () => {
    world.create('a', from('s'))
    world.seeCluster()
    const end = new AbortController()
    const polling = world.sources.run(end.signal)
    const changesWithin = async (withinSeconds: number): Promise<number> => {
      const before = world.changedSources.length
      for (let n = 0; n < withinSeconds && world.changedSources.length === before; n += 1) {
        await world.time.advance(1_000)
        await turns()
      }
      return world.changedSources.length - before
    }
    expect(await read('a')).toMatchObject({ reason: 'SourceNotFound' })
    world.secret('s', { other: 'x' })
    expect(await changesWithin(8)).toBe(1)
    expect(await read('a')).toMatchObject({ reason: 'SourceNotFound' })
    world.secret('s', { key: 'k' })
    expect(await changesWithin(8)).toBe(1)
    expect(await read('a')).toHaveProperty('sources')
    await changesWithin(8) // The interval that has already started.
    const polls = world.fake.seen('GET', /\/secrets\//).length
    expect(await changesWithin(30)).toBe(0)
    expect(world.fake.seen('GET', /\/secrets\//).length - polls).toBeLessThanOrEqual(1)
    end.abort()
    await polling
  })

  it('polls for a missing key although another key of the same object is found', async () => {
    world.create('a', from('s', 'missing'))
    world.create('b', from('s'))
    world.secret('s', { key: 'k' })
    world.seeCluster()
    const end = new AbortController()
    const polling = world.sources.run(end.signal)
    const polls = async (seconds: number): Promise<number> => {
      const before = world.fake.seen('GET', /\/secrets\//).length
      for (let n = 0; n < seconds; n += 1) {
        await world.time.advance(1_000)
        await turns()
      }
      return world.fake.seen('GET', /\/secrets\//).length - before
    }
    expect(await read('a')).toMatchObject({ reason: 'SourceNotFound' })
    expect(await read('b')).toHaveProperty('sources')
    expect(await polls(60)).toBeGreaterThanOrEqual(10)
    world.remove('a')
    world.seeCluster()
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
      world.create(name, from(secret))
      await read(name)
    }
    world.seeCluster()
    const end = new AbortController()
    const polling = world.sources.run(end.signal)
    for (let n = 0; n < 130; n += 1) await world.time.advance(1_000)
    end.abort()
    await polling
    expect(world.fake.seen('GET', /secrets/)).toEqual([])
  })

  it('notifies when a source is created, changed and deleted', async () => {
    world.create('a', from('s'))
    world.seeCluster()
    const end = new AbortController()
    const polling = world.sources.run(end.signal)
    const minute = async () => {
      for (let n = 0; n < 61; n += 1) await world.time.advance(1_000)
    }
    await minute()
    for (const change of [
      () => world.secret('s', { key: 'k' }),
      () => world.touchSecret('s'),
      () => world.removeSecret('s'),
    ]) {
      change()
      await minute()
    }
    end.abort()
    await polling
    expect(world.changedSources).toEqual(['secrets/ns/s', 'secrets/ns/s', 'secrets/ns/s'])
  })

  it.each([
    ['..', 'a name that no object can have'],
    ['s/../../pods', 'a name that no object can have'],
    ['bytes', 'holds bytes that are no text'],
  ])('rejects what it cannot read from %j', async (name, why) => {
    world.secret('bytes', {})
    world.fake.store.patch(
      { kind: { group: '', version: 'v1', plural: 'secrets', kind: 'Secret' }, namespace: 'ns', name: 'bytes' },
      '',
      'application/merge-patch+json',
      { data: { key: '/w==' } },
      'kubectl',
      false,
    )
    world.create('a', from(name))
    expect(await read('a')).toMatchObject({ reason: 'ConfigInvalid', message: expect.stringContaining(why) })
    expect(world.fake.seen('GET', /pods|secrets$/)).toEqual([])
  })

  it('reads an object once for all its fields, and keeps text unchanged', async () => {
    world.secret('s', { key: '\uFEFF k \n', other: '1' })
    world.create('a', {
      configFrom: [...from('s').configFrom, { ...(from('s', 'other').configFrom[0] as ConfigSource), field: 'note' }],
    })
    const found = await read('a')
    expect('sources' in found && [...found.sources.values()].map(({ text }) => text)).toEqual(['\uFEFF k \n', '1'])
    expect(world.fake.seen('GET', /\/secrets\//)).toHaveLength(2) // Its version, then its data.
  })

  describe('consent', () => {
    const data = () =>
      world.fake
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
      world.secret('s', { key: 'k' }, consent)
      world.create('a', from('s'))
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
      world.configMap('c', { key: 'k' }, null)
      world.create('a', { configFrom: [{ field: 'note', configMapKeyRef: { name: 'c', key: 'key' } }] })
      expect(await read('a')).toMatchObject({
        reason: 'SourceForbidden',
        message: expect.stringContaining('kubectl annotate configmap c -n ns muster.dev/config-for=job'),
      })
      expect(data()).toEqual([])
    })

    it('withdrawn between the two requests is respected: the data is dropped', async () => {
      world.secret('s', { key: 'k' })
      world.create('a', from('s'))
      const found = world.sources.read(
        world.object('a'),
        () => {
          world.secret('s', { key: 'k' }, null) // The metadata was read; the data follows.
          return true
        },
        never,
      )
      expect(await found).toMatchObject({ reason: 'SourceForbidden' })
      expect(data().length).toBe(1)
    })

    it('withdrawn later is noticed by the poll, even if a value was read before', async () => {
      world.configMap('c', { key: 'k' })
      world.create('a', { configFrom: [{ field: 'note', configMapKeyRef: { name: 'c', key: 'key' } }] })
      world.seeCluster()
      expect(await read('a')).toHaveProperty('sources')
      world.configMap('c', { key: 'k' }, null)
      const end = new AbortController()
      const polling = world.sources.run(end.signal)
      for (let n = 0; n < 65; n += 1) await world.time.advance(1_000)
      end.abort()
      await polling
      expect(world.changedSources).toEqual(['configmaps/ns/c'])
      expect(await read('a')).toMatchObject({ reason: 'SourceForbidden' })
    })

    it('cannot be given for a Secret that Muster itself uses, which is never requested', async () => {
      world.reserved.add('secrets/ns/tokens')
      world.secret('tokens', { key: 'k' })
      world.create('a', from('tokens'))
      world.seeCluster()
      const end = new AbortController()
      const polling = world.sources.run(end.signal)
      expect(await read('a')).toMatchObject({
        reason: 'SourceForbidden',
        message: expect.stringContaining('credentials of Muster itself'),
      })
      for (let n = 0; n < 65; n += 1) await world.time.advance(1_000)
      end.abort()
      await polling
      expect(world.fake.seen('GET', /secrets/)).toEqual([])
    })
  })
})
