import { beforeEach, describe, expect, it } from '@jest/globals'
import { reconcileFixture, type ReconcileFixture } from './reconcile-fixture.ts'

let fixture: ReconcileFixture
beforeEach(async () => {
  fixture = await reconcileFixture()
})

describe('reconcile: one worker', () => {
  it('claims the worker, writes the config once, and reports when the worker runs it', async () => {
    await fixture.applied('w1')
    fixture.create('w1', { config: { enabled: true, url: 'http://a' }, slots: 4 })
    await fixture.pass('w1')
    expect(fixture.fleet.bodies('patch')).toEqual([{ enabled: true, url: 'http://a', slots: 4 }])
    expect((await fixture.record('w1')).managed_by).toBe(fixture.claim('w1'))
    expect((await fixture.record('w1')).config_changed_by).toContain(fixture.claim('w1'))
    expect([fixture.condition('w1', 'Synced'), fixture.condition('w1', 'Ready')]).toEqual([
      'True InSync',
      'False WaitingForWorker',
    ])
    await fixture.applied('w1')
    await fixture.pass('w1')
    expect(fixture.condition('w1', 'Ready')).toBe('True Ready')
    expect(fixture.object('w1').status?.config).toMatchObject({ generation: 1, appliedGeneration: 1 })
    expect(fixture.statusWrites).toBe(2)
    await fixture.expectQuiet('w1')
  })

  it.each<[string, object]>([
    ['1 instead of 1.0', { ratio: 1, slots: 2 }],
    ['another order of keys', { limits: { memory: 5, cpu: 2 } }],
    ['defaults written out', { limits: { cpu: 1 }, url: 'http://default', tags: [] }],
    ['null where it is not a value', { url: null, slots: null }],
    ['null where it is a value', { note: null }],
    ['the value null replaced', { note: 'x' }],
  ])('does not write again for %s', async (_, config) => {
    await fixture.dashboard('w1', { limits: { cpu: 2, memory: 5 }, note: 'old' })
    fixture.create('w1', { config: config as never })
    await fixture.pass('w1')
    expect(fixture.fleet.count('patch')).toBe(1)
    await fixture.expectQuiet('w1')
  })

  it('resets a field that is no longer named, and leaves a field that it never named', async () => {
    fixture.create('w1', { config: { url: 'http://a', tags: ['x'] } })
    await fixture.pass('w1')
    fixture.edit('w1', { config: { url: null } })
    await fixture.pass('w1')
    expect(fixture.fleet.bodies('patch').at(-1)).toEqual({ url: null })
    expect(await fixture.config('w1')).toMatchObject({ url: 'http://default', tags: ['x'] })
    await fixture.expectQuiet('w1')
  })

  it('does not decide by a view that is older than its own write', async () => {
    fixture.create('w1', { config: { url: 'http://a' } })
    await fixture.see()
    const old = fixture.fleet.get('job', 'w1')
    await fixture.act('w1')
    fixture.fleet.show(old)
    await fixture.act('w1')
    expect(fixture.fleet.bodies('patch')).toHaveLength(2) // Tried with the old generation, and rejected.
    expect((await fixture.record('w1')).config_gen).toBe(1)
    expect(fixture.confirms).toBe(1)
    expect(fixture.condition('w1', 'Synced')).toBe('True InSync')
  })

  it('looks at every resource of the first round before it writes to the master', async () => {
    for (const name of ['w1', 'w2']) fixture.create(name, { config: { url: 'http://a' } })
    await fixture.see()
    fixture.deps.memory.beginRound(fixture.cache.all())
    expect(await fixture.act('w1')).toEqual({ kind: 'ok', againAfterMs: 1, priority: 100 })
    expect([fixture.changes, fixture.statusWrites, fixture.deps.memory.comparedCount]).toEqual([0, 0, 1])
    await fixture.act('w1')
    expect([fixture.fleet.count('patch'), fixture.condition('w1', 'Synced')]).toEqual([1, 'True InSync'])
    await fixture.work('w3')
    fixture.create('w3', { config: { url: 'http://a' } })
    await fixture.pass('w3') // It was created later, and has nothing to wait for.
    expect(fixture.condition('w3', 'Synced')).toBe('True InSync')
  })

  it('needs no first look at what was compared before the round', async () => {
    fixture.create('w1', { config: { url: 'http://a' } })
    await fixture.pass('w1')
    await fixture.dashboard('w1', { url: 'http://alice' })
    await fixture.see()
    fixture.deps.memory.beginRound(fixture.cache.all())
    await fixture.act('w1')
    expect(fixture.fleet.count('patch')).toBe(2)
  })

  it('does not count a resource as compared while its worker is not listed', async () => {
    fixture.create('w1', { config: { url: 'http://a' } })
    fixture.fleet.isPending = true
    await fixture.act('w1')
    expect(fixture.deps.memory.comparedCount).toBe(0)
  })

  it('writes an edit of the first round without a second look', async () => {
    fixture.create('w1', { config: { url: 'http://a' } })
    await fixture.see()
    fixture.deps.memory.beginRound(fixture.cache.all())
    fixture.edit('w1', { config: { url: 'http://b' } })
    await fixture.pass('w1')
    expect([fixture.fleet.bodies('patch'), fixture.condition('w1', 'Synced')]).toEqual([
      [{ url: 'http://b' }],
      'True InSync',
    ])
  })

  it('requeues a difference after all other resources, but earlier if it was edited', async () => {
    await fixture.work('w2')
    for (const name of ['w1', 'w2']) {
      fixture.create(name, { config: { url: 'http://a' } })
      await fixture.pass(name)
      await fixture.dashboard(name, { url: 'http://alice' })
    }
    fixture.edit('w2', { config: { url: 'http://b' } })
    fixture.restart()
    await fixture.see()
    fixture.deps.memory.beginRound(fixture.cache.all())
    expect([await fixture.act('w1'), await fixture.act('w2')]).toEqual([
      { kind: 'ok', againAfterMs: 1, priority: -100 },
      { kind: 'ok', againAfterMs: 1, priority: 100 },
    ])
  })

  it('sends calls for an edit with priority, but not for changes by others', async () => {
    const asked: string[] = []
    const { patch } = fixture.fleet
    const asking = (line: string): object =>
      Object.create(fixture.fleet, {
        patch: { value: (...change: Parameters<typeof patch>) => (asked.push(line), patch(...change)) },
      }) as object
    Object.assign(fixture.deps, { master: asking('all else'), edits: asking('edits') })
    await fixture.work('w1')
    fixture.create('w1', { config: { url: 'http://a' } })
    await fixture.pass('w1')
    await fixture.dashboard('w1', { url: 'http://alice' })
    await fixture.pass('w1')
    fixture.edit('w1', { config: { url: 'http://b' } })
    await fixture.pass('w1')
    expect(asked).toEqual(['edits', 'all else', 'edits'])
  })

  it('reverts changes by others, and records the reason in the history', async () => {
    fixture.create('w1', { config: { url: 'http://a' } })
    await fixture.pass('w1')
    await fixture.dashboard('w1', { url: 'http://alice', ratio: 0.9 })
    await fixture.pass('w1')
    expect(fixture.fleet.bodies('patch').at(-1)).toEqual({ url: 'http://a', ratio: null })
    expect(fixture.drifts).toEqual(['reverted'])
    await fixture.expectQuiet('w1')
  })

  it('reports 2 of 3 resources for one worker as conflicting until the owner is deleted', async () => {
    fixture.create('first', { workerID: 'w1', config: { url: 'http://first' } })
    await fixture.time.advance(2_000)
    fixture.create('second', { workerID: 'w1', config: { url: 'http://second' } }, 'other')
    await fixture.time.advance(2_000)
    fixture.create('third', { workerID: 'w1', config: { url: 'http://third' } })
    const round = async () => {
      for (const [name, namespace] of [
        ['third', 'ns'],
        ['second', 'other'],
        ['first', 'ns'],
      ] as const)
        await fixture.pass(name, namespace)
    }
    await round()
    expect(await fixture.config('w1')).toMatchObject({ url: 'http://first' })
    expect(fixture.condition('third', 'Stalled')).toBe('True OwnershipConflict')
    expect(messageOf('third', 'ns')).toContain('first')
    expect(messageOf('second', 'other')).not.toContain('first')
    fixture.remove('first')
    await round()
    expect((await fixture.record('w1')).managed_by).toBe(fixture.claim('second', 'other'))
    expect(await fixture.config('w1')).toMatchObject({ url: 'http://second' })
    const { changes } = fixture
    await fixture.pass('third')
    expect([fixture.changes, fixture.condition('third', 'Stalled')]).toEqual([changes, 'True OwnershipConflict'])
  })

  const messageOf = (name: string, namespace: string) =>
    fixture.object(name, namespace).status?.conditions?.find(({ type }) => type === 'Synced')?.message

  it('leaves a worker that another operator claims, also one that it took over', async () => {
    await fixture.claimed('w1', 'kubernetes:elsewhere/w1#00000000')
    fixture.create('w1', { config: { url: 'http://a' } })
    await fixture.pass('w1')
    expect([fixture.changes, fixture.condition('w1', 'Synced')]).toEqual([0, 'False OwnershipConflict'])
    await fixture.claimed('w1', null)
    await fixture.pass('w1')
    expect(fixture.condition('w1', 'Synced')).toBe('True InSync')
    await fixture.claimed('w1', 'kubernetes:ns/w1#11111111') // A FleetWorker of the same name in another cluster.
    await fixture.dashboard('w1', { url: 'http://theirs' })
    const { changes } = fixture
    await fixture.pass('w1')
    fixture.restart()
    await fixture.pass('w1')
    expect([fixture.changes, fixture.condition('w1', 'Synced')]).toEqual([changes, 'False OwnershipConflict'])
  })

  it.each(['Enforce', 'Warn'] as const)(
    'takes a worker back from a claim of a client that is no operator, and continues to correct drift (D66): %s',
    async (managementPolicy) => {
      fixture.create('w1', { config: { url: 'http://a' }, managementPolicy })
      await fixture.settle('w1')
      await fixture.claimed('w1', 'mine now')
      await fixture.dashboard('w1', { url: 'http://theirs' })
      await fixture.settle('w1')
      expect((await fixture.record('w1')).managed_by).toBe(fixture.claim('w1'))
      expect((await fixture.config('w1'))['url']).toBe(managementPolicy === 'Enforce' ? 'http://a' : 'http://theirs')
      await fixture.expectQuiet('w1')
    },
  )

  it('resets a worker at its deletion although another client has claimed it (D66)', async () => {
    fixture.create('w1', { config: { url: 'http://a' }, deletionPolicy: 'Reset' })
    await fixture.settle('w1')
    await fixture.claimed('w1', 'mine now')
    fixture.remove('w1')
    await fixture.settle('w1')
    expect([fixture.names, (await fixture.config('w1'))['url']]).toEqual([[], 'http://default'])
  })

  it('takes over the claim of a deleted resource', async () => {
    await fixture.claimed('w1', 'kubernetes:ns/w1#99999999')
    fixture.create('w1', { config: { url: 'http://a' } })
    await fixture.pass('w1')
    expect((await fixture.record('w1')).managed_by).toBe(fixture.claim('w1'))
  })
})

describe('reconcile: the claim of a deleted resource that returns', () => {
  it('is taken back after a late request (G19, G21)', async () => {
    fixture.create('w1', { config: { url: 'http://a' } })
    await fixture.settle('w1')
    const earlier = fixture.claim('w1')
    fixture.remove('w1')
    await fixture.pass('w1')
    fixture.create('w1', { config: { url: 'http://b' } })
    await fixture.settle('w1')
    await fixture.claimed('w1', earlier)
    await fixture.settle('w1')
    expect([(await fixture.record('w1')).managed_by, fixture.condition('w1', 'Synced')]).toEqual([
      fixture.claim('w1'),
      'True InSync',
    ])
    await fixture.expectQuiet('w1')
  })

  it('is taken back in a term that began after the deletion (G19, G26)', async () => {
    fixture.create('rival', { workerID: 'w1', config: { url: 'http://a' } })
    await fixture.settle('rival')
    const earlier = fixture.claim('rival')
    fixture.remove('rival')
    await fixture.see()
    fixture.beginTerm()
    fixture.create('w1', { config: { url: 'http://a' } })
    await fixture.settle('w1')
    expect((await fixture.record('w1')).managed_by).toBe(fixture.claim('w1'))
    await fixture.claimed('w1', earlier) // A failover lost the newest claim. No generation shows it.
    await fixture.settle('w1')
    expect([(await fixture.record('w1')).managed_by, fixture.condition('w1', 'Synced')]).toEqual([
      fixture.claim('w1'),
      'True InSync',
    ])
  })

  it('is not taken from another cluster, in no term', async () => {
    fixture.create('w1', { config: { url: 'http://a' } })
    await fixture.settle('w1')
    await fixture.claimed('w1', 'kubernetes:ns/rival#99999999')
    fixture.beginTerm()
    await fixture.settle('w1')
    expect([(await fixture.record('w1')).managed_by, fixture.condition('w1', 'Synced')]).toEqual([
      'kubernetes:ns/rival#99999999',
      'False OwnershipConflict',
    ])
  })
})

describe('reconcile: the master lost data', () => {
  it('takes over an older claim from a restored store', async () => {
    fixture.create('w1', { config: { url: 'http://a' } })
    await fixture.settle('w1')
    await fixture.claimed('w1', 'kubernetes:ns/w1#99999999')
    fixture.fleet.epoch = 'another'
    await fixture.pass('w1')
    expect([(await fixture.record('w1')).managed_by, fixture.condition('w1', 'Synced')]).toEqual([
      fixture.claim('w1'),
      'True InSync',
    ])
  })

  it('writes everything again to another store', async () => {
    fixture.secret('s', { key: 'k1' })
    fixture.create('w1', {
      config: { url: 'http://a' },
      configFrom: [{ field: 'api_key', secretKeyRef: { name: 's', key: 'key' } }],
    })
    await fixture.settle('w1')
    fixture.fleet.epoch = 'another-epoch'
    await fixture.claimed('w1', null)
    await fixture.see()
    fixture.fleet.next(
      'patch',
      () => ({ kind: 'ok', value: { config: {}, config_gen: 9 }, epoch: 'another-epoch' }) as never,
    )
    await fixture.act('w1')
    expect(fixture.fleet.bodies('patch').at(-1)).toEqual({ api_key: 'k1' })
    expect([fixture.object('w1').status?.config?.epoch, fixture.fleet.count('history')]).toEqual(['another-epoch', 0])
  })

  it('does not write when only the generation was increased and the config is equal', async () => {
    fixture.create('w1', { config: { url: 'http://a' } })
    await fixture.pass('w1')
    await fixture.dashboard('w1', {})
    await fixture.pass('w1')
    expect([fixture.fleet.count('patch'), fixture.object('w1').status?.config?.generation]).toEqual([1, 2])
  })

  it('reports that the worker is ahead, and waits', async () => {
    fixture.create('w1', { config: { url: 'http://a' } })
    await fixture.pass('w1')
    await fixture.see()
    fixture.fleet.alter('w1', { applied_config_gen: 7 })
    await fixture.act('w1')
    expect([fixture.fleet.count('patch'), fixture.condition('w1', 'Applied')]).toEqual([1, 'False GenerationBehind'])
  })

  it('configures a worker again that was forgotten and registers again', async () => {
    fixture.secret('s', { key: 'k1' })
    fixture.create('w1', {
      config: { url: 'http://a' },
      configFrom: [{ field: 'api_key', secretKeyRef: { name: 's', key: 'key' } }],
    })
    await fixture.settle('w1')
    await fixture.forget('w1')
    await fixture.pass('w1')
    expect(fixture.condition('w1', 'Synced')).toBe('False WorkerNotRegistered')
    await fixture.work('w1')
    await fixture.pass('w1')
    expect(await fixture.config('w1')).toMatchObject({ url: 'http://a', api_key: 'k1' })
    expect((await fixture.record('w1')).managed_by).toBe(fixture.claim('w1'))
  })
})

describe('reconcile: concurrent changes', () => {
  it('writes nothing for a new resource with the name of the one that it knew', async () => {
    fixture.create('w1', { config: { url: 'http://old' } })
    await fixture.see()
    fixture.remove('w1')
    fixture.create('w1', { config: { url: 'http://new' } })
    expect(await fixture.act('w1')).toEqual({ kind: 'retry' })
    expect([fixture.changes, fixture.statusWrites]).toEqual([0, 0])
    await fixture.pass('w1')
    expect(await fixture.config('w1')).toMatchObject({ url: 'http://new' })
  })

  it('records nothing of a PATCH for a new resource of the same name that was created during it', async () => {
    fixture.create('w1', { config: { url: 'http://old' } })
    fixture.fleet.next('patch', () => {
      fixture.remove('w1')
      fixture.create('w1', { config: { url: 'http://new' } })
    })
    await fixture.pass('w1')
    expect(fixture.object('w1').status?.observedGeneration).toBe(-1)
    await fixture.pass('w1')
    expect(await fixture.config('w1')).toMatchObject({ url: 'http://new' })
    expect((await fixture.record('w1')).managed_by).toBe(fixture.claim('w1'))
  })

  it('reads the newer spec if its own is stale', async () => {
    fixture.create('w1', { config: { url: 'http://old' } })
    await fixture.see()
    fixture.edit('w1', { config: { url: 'http://new' } })
    await fixture.act('w1')
    expect(fixture.fleet.bodies('patch')).toEqual([{ url: 'http://new' }])
    expect(fixture.object('w1').status?.observedGeneration).toBe(2)
  })

  it('reads a resource again before a write only if its cache is not known to be fresh', async () => {
    const reads = (): number => fixture.fake.seen('GET', /fleetworkers\/w1$/).length
    fixture.create('w1', { config: { url: 'http://a' } })
    await fixture.settle('w1')
    expect(reads()).toBe(1)
    fixture.isCacheFresh = true
    fixture.edit('w1', { config: { url: 'http://b' } })
    await fixture.settle('w1')
    expect([reads(), (await fixture.config('w1'))['url']]).toEqual([1, 'http://b'])
  })

  it('starts again if a fresh cache shows a newer spec before the write', async () => {
    fixture.create('w1', { config: { url: 'http://old' } })
    await fixture.see()
    let edits = 1
    const isFresh = (): boolean => {
      if ((edits -= 1) >= 0) fixture.edit('w1', { config: { url: 'http://new' } })
      fixture.seeCluster()
      return true
    }
    fixture.deps = { ...fixture.deps, isFresh }
    await fixture.act('w1')
    expect(fixture.fleet.bodies('patch')).toEqual([{ url: 'http://new' }])
  })

  it('writes the newer spec after a PATCH of the older one, whose status does not count for the newer', async () => {
    fixture.create('w1', { config: { url: 'http://old' } })
    fixture.fleet.next('patch', () => fixture.edit('w1', { config: { url: 'http://new' } }))
    await fixture.pass('w1')
    expect(fixture.object('w1').status?.observedGeneration).not.toBe(2)
    await fixture.pass('w1')
    expect(await fixture.config('w1')).toMatchObject({ url: 'http://new' })
    expect(fixture.object('w1').status?.observedGeneration).toBe(2)
  })

  it('compares again when the generation changed during a PATCH', async () => {
    fixture.create('w1', { config: { url: 'http://a' } })
    fixture.fleet.next('patch', () => fixture.dashboard('w1', { ratio: 0.9 }))
    await fixture.pass('w1')
    expect(fixture.fleet.bodies('patch')).toEqual([{ url: 'http://a' }, { ratio: null, url: 'http://a' }])
    expect(fixture.condition('w1', 'Synced')).toBe('True InSync')
  })

  it('retries later when the generation changes during every PATCH', async () => {
    fixture.create('w1', { config: { url: 'http://a' } })
    for (let n = 0; n < 9; n += 1) fixture.fleet.next('patch', () => fixture.dashboard('w1', { ratio: n / 10 }))
    expect(await fixture.pass('w1')).toEqual({ kind: 'retry' })
    expect(fixture.fleet.count('patch')).toBe(3)
  })
})
