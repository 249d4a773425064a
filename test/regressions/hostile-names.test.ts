/**
 * Regression: a lower layer interpreted names as its own syntax: braces, globs, quotes, NUL, `__proto__`, emoji. Any
 * text must be a valid name everywhere, and different names must never collide.
 */
import { expect, it } from '@jest/globals'
import {
  DAY,
  DEFAULTS,
  HARDWARE,
  HOSTILE,
  MINUTE,
  ask,
  ids,
  item,
  leasesOf,
  refOf,
  reopen,
  sole,
  task,
} from '../storage/contract/fixture.ts'
import { onEachBackend } from './backends.ts'

onEachBackend('hostile names', (open) => {
  it('processes tasks with hostile types, ids and keys through their whole lifecycle', async () => {
    const { backend } = await open()
    const tasks = HOSTILE.map((name) => task(name, { ownId: true, key: name }))
    for (const type of HOSTILE) {
      expect(await backend.tasks.submit(type, DAY, tasks)).toEqual(HOSTILE.map(() => ({ kind: 'queued' })))
      expect(await backend.tasks.submit(type, DAY, tasks)).toEqual(
        HOSTILE.map((name) => ({ kind: 'duplicate', duplicateOf: name })),
      )
    }
    for (const type of HOSTILE) {
      const leases = leasesOf(
        sole((await ask(backend, [{ worker: type, limit: 500, defaultMaxAttempts: 3 }], { type })).results),
      )
      expect(leases.map(({ id, body }) => [id, body])).toEqual(tasks.map(({ id, body }) => [id, body]))
      const nacks = leases.map((lease) => ({
        ...refOf(lease),
        error: lease.id,
        retryInMs: null,
        permanent: true,
        jitter: 0,
      }))
      expect(await backend.tasks.nack(type, { baseMs: 0, factor: 1, capMs: 0 }, nacks)).toEqual(
        HOSTILE.map(() => 'dead'),
      )
      expect((await backend.tasks.dead(type, 500)).items.map(({ id, lastError }) => [id, lastError])).toEqual(
        HOSTILE.map((name) => [name, name]),
      )
      expect(await backend.tasks.applyToDead(type, 'replay', HOSTILE)).toEqual(HOSTILE.map(() => 'replayed'))
      const again = leasesOf(
        sole((await ask(backend, [{ worker: type, limit: 500, defaultMaxAttempts: 3 }], { type })).results),
      )
      expect(await backend.tasks.ack(type, again.map(refOf))).toEqual(HOSTILE.map(() => 'ok'))
      expect(await backend.tasks.locate(type, HOSTILE)).toEqual(HOSTILE.map(() => null))
    }
  })

  it('keeps workers with hostile types, ids, instances and connections apart', async () => {
    const { backend } = await open()
    const refs = HOSTILE.flatMap((type) => HOSTILE.map((id) => ({ type, id })))
    const connOf = ({ type, id }: { type: string; id: string }): string =>
      `${HOSTILE[HOSTILE.indexOf(type)]?.slice(0, 100) ?? ''}/${HOSTILE.indexOf(id)}`
    await backend.workers.register(
      refs.map((ref) => ({ ...ref, conn: connOf(ref), instance: ref.id, hardware: HARDWARE, defaults: DEFAULTS })),
    )
    for (const ref of refs)
      await backend.configs.put({ ...ref, expectGen: 0, config: JSON.stringify(ref), changed: [ref.id], actor: ref.id })
    await backend.workers.manage(refs.map((ref) => ({ ...ref, managedBy: ref.id })))
    const frames = refs.map((ref) => JSON.stringify({ ts: 1, of: ref }))
    await backend.workers.beat(
      refs.map((ref, i) => ({
        ...ref,
        conn: connOf(ref),
        stats: [frames[i] ?? ''],
        state: { state: 'ERROR', gen: 1, lastError: ref.id },
      })),
    )
    expect(
      (await backend.workers.get(refs)).map((row) => [
        row?.type,
        row?.id,
        row?.conn,
        row?.managedBy,
        row?.lastError,
        row?.stats,
        row?.config.config,
      ]),
    ).toEqual(refs.map((ref, i) => [ref.type, ref.id, connOf(ref), ref.id, ref.id, frames[i], JSON.stringify(ref)]))
    for (const type of HOSTILE)
      expect(new Set(ids(await backend.workers.page(type, null, 1_000)))).toEqual(new Set(HOSTILE))
    for (const ref of refs.slice(0, HOSTILE.length))
      expect(sole(await backend.configs.history(ref, 10))).toMatchObject({ changed: [ref.id], actor: ref.id })
    expect(await backend.workers.forget(refs.slice(1))).toEqual(refs.slice(1).map(() => true))
    expect((await backend.workers.get(refs)).filter((row) => row !== null)).toHaveLength(1)
  })

  it('keeps streams with hostile types and producers apart', async () => {
    const { backend } = await open()
    for (const type of HOSTILE) {
      for (const producer of [...HOSTILE, ...HOSTILE])
        await backend.streams.push(type, producer, 0, [JSON.stringify([type, producer])])
    }
    expect(await backend.streams.length(HOSTILE)).toEqual(HOSTILE.map(() => HOSTILE.length))
    for (const type of HOSTILE)
      expect((await backend.streams.pop(type, 500)).map(({ entry }) => entry)).toEqual(
        HOSTILE.map((producer) => JSON.stringify([type, producer])),
      )
  })

  it('keeps pools, items, tags and owners apart, and matches only existing tags', async () => {
    const { backend } = await open()
    for (const pool of HOSTILE)
      await backend.pools.put(
        pool,
        HOSTILE.map((id) => item(id, { tags: `{${JSON.stringify(id)}:${JSON.stringify(pool)}}` })),
      )
    expect(await backend.pools.sizes(HOSTILE)).toEqual(HOSTILE.map(() => HOSTILE.length))
    for (const pool of HOSTILE) {
      for (const tag of HOSTILE) {
        const match = JSON.parse(`{${JSON.stringify(tag)}:${JSON.stringify(pool)}}`) as Record<string, string>
        const claim = sole(sole(await backend.pools.claim(pool, [{ owner: tag, n: 10, holdMs: MINUTE, match }])))
        expect(claim.id).toBe(tag)
        expect(await backend.pools.release(pool, [refOf(claim)])).toEqual(['ok'])
      }
      expect(
        sole(
          await backend.pools.claim(pool, [
            { owner: 'w', n: 10, holdMs: MINUTE, match: { toString: 'x', hasOwnProperty: 'y' } },
          ]),
        ),
      ).toEqual([])
    }
  })

  it('keeps values, locks and counters with hostile names apart, also after a restart', async () => {
    const { backend } = await open()
    for (const [i, namespace] of HOSTILE.entries()) {
      await backend.kv.set(
        namespace,
        HOSTILE.map((key) => ({ key, value: JSON.stringify([namespace, key]), ttlMs: null })),
      )
      await backend.counters.add(
        namespace,
        HOSTILE.map((name, j) => ({ name, delta: 100 * i + j })),
      )
      const got = await backend.locks.acquire(
        namespace,
        HOSTILE.map((name) => ({ name, owner: name, holdMs: MINUTE })),
      )
      expect(got.filter(({ kind }) => kind === 'acquired')).toHaveLength(HOSTILE.length)
    }
    if (backend.capabilities.durable) await reopen(backend)
    for (const [i, namespace] of HOSTILE.entries()) {
      expect(await backend.kv.get(namespace, HOSTILE)).toEqual(HOSTILE.map((key) => JSON.stringify([namespace, key])))
      expect(await backend.counters.get(namespace, HOSTILE)).toEqual(HOSTILE.map((_, j) => 100 * i + j))
      expect(await backend.kv.delete(namespace, HOSTILE)).toEqual(HOSTILE.map(() => true))
    }
  })
})
