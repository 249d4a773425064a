import { beforeEach, describe, expect, it } from '@jest/globals'
import { reconcileWorld, type ReconcileWorld } from './reconcile-world.ts'

let world: ReconcileWorld
beforeEach(async () => {
  world = await reconcileWorld()
})

describe('reconcile: one worker', () => {
  it('claims the worker, writes the config once, and reports when the worker runs it', async () => {
    await world.applied('w1')
    world.create('w1', { config: { enabled: true, url: 'http://a' }, slots: 4 })
    await world.pass('w1')
    expect(world.fleet.bodies('patch')).toEqual([{ enabled: true, url: 'http://a', slots: 4 }])
    expect((await world.record('w1')).managed_by).toBe(world.claim('w1'))
    expect((await world.record('w1')).config_changed_by).toContain(world.claim('w1'))
    expect([world.condition('w1', 'Synced'), world.condition('w1', 'Ready')]).toEqual([
      'True InSync',
      'False WaitingForWorker',
    ])
    await world.applied('w1')
    await world.pass('w1')
    expect(world.condition('w1', 'Ready')).toBe('True Ready')
    expect(world.object('w1').status?.config).toMatchObject({ generation: 1, appliedGeneration: 1 })
    expect(world.statusWrites).toBe(2)
    await world.expectQuiet('w1')
  })

  it.each<[string, object]>([
    ['1 instead of 1.0', { ratio: 1, slots: 2 }],
    ['another order of keys', { limits: { memory: 5, cpu: 2 } }],
    ['defaults written out', { limits: { cpu: 1 }, url: 'http://default', tags: [] }],
    ['null where it is not a value', { url: null, slots: null }],
    ['null where it is a value', { note: null }],
    ['the value null replaced', { note: 'x' }],
  ])('does not write again for %s', async (_, config) => {
    await world.dashboard('w1', { limits: { cpu: 2, memory: 5 }, note: 'old' })
    world.create('w1', { config: config as never })
    await world.pass('w1')
    expect(world.fleet.count('patch')).toBe(1)
    await world.expectQuiet('w1')
  })

  it('resets a field that is no longer named, and leaves a field that it never named', async () => {
    world.create('w1', { config: { url: 'http://a', tags: ['x'] } })
    await world.pass('w1')
    world.edit('w1', { config: { url: null } })
    await world.pass('w1')
    expect(world.fleet.bodies('patch').at(-1)).toEqual({ url: null })
    expect(await world.config('w1')).toMatchObject({ url: 'http://default', tags: ['x'] })
    await world.expectQuiet('w1')
  })

  it('does not decide by a view that is older than its own write', async () => {
    world.create('w1', { config: { url: 'http://a' } })
    await world.see()
    const old = world.fleet.get('job', 'w1')
    await world.act('w1')
    world.fleet.show(old)
    await world.act('w1')
    expect(world.fleet.bodies('patch')).toHaveLength(2) // Tried with the old generation, and rejected.
    expect((await world.record('w1')).config_gen).toBe(1)
    expect(world.confirms).toBe(1)
    expect(world.condition('w1', 'Synced')).toBe('True InSync')
  })

  it('looks at every resource of the first round before it writes to the master', async () => {
    for (const name of ['w1', 'w2']) world.create(name, { config: { url: 'http://a' } })
    await world.see()
    world.deps.memory.beginRound(world.cache.all())
    expect(await world.act('w1')).toEqual({ kind: 'ok', againAfterMs: 1, priority: 80 })
    expect([world.changes, world.statusWrites, world.deps.memory.comparedCount]).toEqual([0, 0, 1])
    await world.act('w1')
    expect([world.fleet.count('patch'), world.condition('w1', 'Synced')]).toEqual([1, 'True InSync'])
    await world.work('w3')
    world.create('w3', { config: { url: 'http://a' } })
    await world.pass('w3') // It was created later, and has nothing to wait for.
    expect(world.condition('w3', 'Synced')).toBe('True InSync')
  })

  it('requeues a difference after all other resources, but earlier if it was edited', async () => {
    await world.work('w2')
    for (const name of ['w1', 'w2']) {
      world.create(name, { config: { url: 'http://a' } })
      await world.pass(name)
      await world.dashboard(name, { url: 'http://alice' })
    }
    world.edit('w2', { config: { url: 'http://b' } })
    await world.see()
    world.deps.memory.beginRound(world.cache.all())
    expect([await world.act('w1'), await world.act('w2')]).toEqual([
      { kind: 'ok', againAfterMs: 1, priority: -100 },
      { kind: 'ok', againAfterMs: 1, priority: 80 },
    ])
  })

  it('sends calls for an edit with priority, but not for changes by others', async () => {
    const asked: string[] = []
    const { patch } = world.fleet
    const asking = (line: string): object =>
      Object.create(world.fleet, {
        patch: { value: (...change: Parameters<typeof patch>) => (asked.push(line), patch(...change)) },
      }) as object
    Object.assign(world.deps, { master: asking('all else'), edits: asking('edits') })
    await world.work('w1')
    world.create('w1', { config: { url: 'http://a' } })
    await world.pass('w1')
    await world.dashboard('w1', { url: 'http://alice' })
    await world.pass('w1')
    world.edit('w1', { config: { url: 'http://b' } })
    await world.pass('w1')
    expect(asked).toEqual(['edits', 'all else', 'edits'])
  })

  it('reverts changes by others, and records the reason in the history', async () => {
    world.create('w1', { config: { url: 'http://a' } })
    await world.pass('w1')
    await world.dashboard('w1', { url: 'http://alice', ratio: 0.9 })
    await world.pass('w1')
    expect(world.fleet.bodies('patch').at(-1)).toEqual({ url: 'http://a', ratio: null })
    expect(world.drifts).toEqual(['reverted'])
    await world.expectQuiet('w1')
  })

  it('reports 2 of 3 resources for one worker as conflicting until the owner is deleted', async () => {
    world.create('first', { workerId: 'w1', config: { url: 'http://first' } })
    await world.time.advance(2_000)
    world.create('second', { workerId: 'w1', config: { url: 'http://second' } }, 'other')
    await world.time.advance(2_000)
    world.create('third', { workerId: 'w1', config: { url: 'http://third' } })
    const round = async () => {
      for (const [name, namespace] of [
        ['third', 'ns'],
        ['second', 'other'],
        ['first', 'ns'],
      ] as const)
        await world.pass(name, namespace)
    }
    await round()
    expect(await world.config('w1')).toMatchObject({ url: 'http://first' })
    expect(world.condition('third', 'Stalled')).toBe('True OwnershipConflict')
    expect(messageOf('third', 'ns')).toContain('first')
    expect(messageOf('second', 'other')).not.toContain('first')
    world.remove('first')
    await round()
    expect((await world.record('w1')).managed_by).toBe(world.claim('second', 'other'))
    expect(await world.config('w1')).toMatchObject({ url: 'http://second' })
    const { changes } = world
    await world.pass('third')
    expect([world.changes, world.condition('third', 'Stalled')]).toEqual([changes, 'True OwnershipConflict'])
  })

  const messageOf = (name: string, namespace: string) =>
    world.object(name, namespace).status?.conditions?.find(({ type }) => type === 'Synced')?.message

  it('leaves a worker that another operator claims, also one that it took over', async () => {
    await world.claimed('w1', 'kubernetes:elsewhere/w1#00000000')
    world.create('w1', { config: { url: 'http://a' } })
    await world.pass('w1')
    expect([world.changes, world.condition('w1', 'Synced')]).toEqual([0, 'False OwnershipConflict'])
    await world.claimed('w1', null)
    await world.pass('w1')
    expect(world.condition('w1', 'Synced')).toBe('True InSync')
    await world.claimed('w1', 'kubernetes:ns/w1#11111111') // A FleetWorker of the same name in another cluster.
    await world.dashboard('w1', { url: 'http://theirs' })
    const { changes } = world
    await world.pass('w1')
    world.restart()
    await world.pass('w1')
    expect([world.changes, world.condition('w1', 'Synced')]).toEqual([changes, 'False OwnershipConflict'])
  })

  it.each(['Enforce', 'Warn'] as const)(
    'takes a worker back from a claim of a client that is no operator, and continues to correct drift (D66): %s',
    async (managementPolicy) => {
      world.create('w1', { config: { url: 'http://a' }, managementPolicy })
      await world.settle('w1')
      await world.claimed('w1', 'mine now')
      await world.dashboard('w1', { url: 'http://theirs' })
      await world.settle('w1')
      expect((await world.record('w1')).managed_by).toBe(world.claim('w1'))
      expect((await world.config('w1'))['url']).toBe(managementPolicy === 'Enforce' ? 'http://a' : 'http://theirs')
      await world.expectQuiet('w1')
    },
  )

  it('resets a worker at its deletion although another client has claimed it (D66)', async () => {
    world.create('w1', { config: { url: 'http://a' }, deletionPolicy: 'Reset' })
    await world.settle('w1')
    await world.claimed('w1', 'mine now')
    world.remove('w1')
    await world.settle('w1')
    expect([world.names, (await world.config('w1'))['url']]).toEqual([[], 'http://default'])
  })

  it('takes over the claim of a deleted resource', async () => {
    await world.claimed('w1', 'kubernetes:ns/w1#99999999')
    world.create('w1', { config: { url: 'http://a' } })
    await world.pass('w1')
    expect((await world.record('w1')).managed_by).toBe(world.claim('w1'))
  })
})

describe('reconcile: the master lost data', () => {
  it('takes over an older claim from a restored store', async () => {
    world.create('w1', { config: { url: 'http://a' } })
    await world.settle('w1')
    await world.claimed('w1', 'kubernetes:ns/w1#99999999')
    world.fleet.epoch = 'another'
    await world.pass('w1')
    expect([(await world.record('w1')).managed_by, world.condition('w1', 'Synced')]).toEqual([
      world.claim('w1'),
      'True InSync',
    ])
  })

  it('writes everything again to another store', async () => {
    world.secret('s', { key: 'k1' })
    world.create('w1', {
      config: { url: 'http://a' },
      configFrom: [{ field: 'api_key', secretKeyRef: { name: 's', key: 'key' } }],
    })
    await world.settle('w1')
    world.fleet.epoch = 'another-epoch'
    await world.claimed('w1', null)
    await world.see()
    world.fleet.next(
      'patch',
      () => ({ kind: 'ok', value: { config: {}, config_gen: 9 }, epoch: 'another-epoch' }) as never,
    )
    await world.act('w1')
    expect(world.fleet.bodies('patch').at(-1)).toEqual({ api_key: 'k1' })
    expect([world.object('w1').status?.config?.epoch, world.fleet.count('history')]).toEqual(['another-epoch', 0])
  })

  it('does not write when only the generation was increased and the config is equal', async () => {
    world.create('w1', { config: { url: 'http://a' } })
    await world.pass('w1')
    await world.dashboard('w1', {})
    await world.pass('w1')
    expect([world.fleet.count('patch'), world.object('w1').status?.config?.generation]).toEqual([1, 2])
  })

  it('reports that the worker is ahead, and waits', async () => {
    world.create('w1', { config: { url: 'http://a' } })
    await world.pass('w1')
    await world.see()
    world.fleet.alter('w1', { applied_config_gen: 7 })
    await world.act('w1')
    expect([world.fleet.count('patch'), world.condition('w1', 'Applied')]).toEqual([1, 'False GenerationBehind'])
  })

  it('configures a worker again that was forgotten and registers again', async () => {
    world.secret('s', { key: 'k1' })
    world.create('w1', {
      config: { url: 'http://a' },
      configFrom: [{ field: 'api_key', secretKeyRef: { name: 's', key: 'key' } }],
    })
    await world.settle('w1')
    await world.forget('w1')
    await world.pass('w1')
    expect(world.condition('w1', 'Synced')).toBe('False WorkerNotRegistered')
    await world.work('w1')
    await world.pass('w1')
    expect(await world.config('w1')).toMatchObject({ url: 'http://a', api_key: 'k1' })
    expect((await world.record('w1')).managed_by).toBe(world.claim('w1'))
  })
})

describe('reconcile: concurrent changes', () => {
  it('writes nothing for a new resource with the name of the one that it knew', async () => {
    world.create('w1', { config: { url: 'http://old' } })
    await world.see()
    world.remove('w1')
    world.create('w1', { config: { url: 'http://new' } })
    expect(await world.act('w1')).toEqual({ kind: 'retry' })
    expect([world.changes, world.statusWrites]).toEqual([0, 0])
    await world.pass('w1')
    expect(await world.config('w1')).toMatchObject({ url: 'http://new' })
  })

  it('records nothing of a PATCH for a new resource of the same name that was created during it', async () => {
    world.create('w1', { config: { url: 'http://old' } })
    world.fleet.next('patch', () => {
      world.remove('w1')
      world.create('w1', { config: { url: 'http://new' } })
    })
    await world.pass('w1')
    expect(world.object('w1').status?.observedGeneration).toBe(-1)
    await world.pass('w1')
    expect(await world.config('w1')).toMatchObject({ url: 'http://new' })
    expect((await world.record('w1')).managed_by).toBe(world.claim('w1'))
  })

  it('reads the newer spec if its own is stale', async () => {
    world.create('w1', { config: { url: 'http://old' } })
    await world.see()
    world.edit('w1', { config: { url: 'http://new' } })
    await world.act('w1')
    expect(world.fleet.bodies('patch')).toEqual([{ url: 'http://new' }])
    expect(world.object('w1').status?.observedGeneration).toBe(2)
  })

  it('writes the newer spec after a PATCH of the older one, whose status does not count for the newer', async () => {
    world.create('w1', { config: { url: 'http://old' } })
    world.fleet.next('patch', () => world.edit('w1', { config: { url: 'http://new' } }))
    await world.pass('w1')
    expect(world.object('w1').status?.observedGeneration).not.toBe(2)
    await world.pass('w1')
    expect(await world.config('w1')).toMatchObject({ url: 'http://new' })
    expect(world.object('w1').status?.observedGeneration).toBe(2)
  })

  it('compares again when the generation changed during a PATCH', async () => {
    world.create('w1', { config: { url: 'http://a' } })
    world.fleet.next('patch', () => world.dashboard('w1', { ratio: 0.9 }))
    await world.pass('w1')
    expect(world.fleet.bodies('patch')).toEqual([{ url: 'http://a' }, { ratio: null, url: 'http://a' }])
    expect(world.condition('w1', 'Synced')).toBe('True InSync')
  })

  it('retries later when the generation changes during every PATCH', async () => {
    world.create('w1', { config: { url: 'http://a' } })
    for (let n = 0; n < 9; n += 1) world.fleet.next('patch', () => world.dashboard('w1', { ratio: n / 10 }))
    expect(await world.pass('w1')).toEqual({ kind: 'retry' })
    expect(world.fleet.count('patch')).toBe(3)
  })
})
