/** Tests which store keeps its epoch: after a restart, with a further node, and after a migration. */
import { afterAll, beforeAll, beforeEach, expect, it } from '@jest/globals'
import { systemTime } from '../../../src/runtime/index.ts'
import { admitStore, MIGRATIONS, type Admission } from '../../../src/storage/redis/meta.ts'
import { startRedis, withRedisServer, type RedisServer } from '../../kit/redis-server.ts'
import { TracedCaller } from './traced.ts'

let server: RedisServer
let starts = 0

/** Admits a store of these servers. The n-th start of a test offers epoch `en`. */
function admit(nodes: readonly string[], more: Partial<Admission> = {}): ReturnType<typeof admitStore> {
  const caller = new TracedCaller(server.client, systemTime)
  starts += 1
  return admitStore((...call) => caller.run(...call), {
    runId: nodes.join('+'),
    nodes,
    survivesRestart: false,
    freshEpoch: `e${starts}`,
    migrations: MIGRATIONS,
    ...more,
  })
}

withRedisServer('redis admission', () => {
  beforeAll(async () => {
    server = await startRedis()
  })
  afterAll(() => server.close())
  beforeEach(async () => {
    await server.client.flushall()
    starts = 0
  })

  it('begins an epoch in an empty store, and keeps it while the same servers run', async () => {
    expect(await admit(['a'])).toEqual({ epoch: 'e1', life: 'a', isNew: true })
    expect(await admit(['a'])).toEqual({ epoch: 'e1', life: 'a', isNew: false })
  })

  it('begins an epoch after a restart, except in a store that loses nothing (G26)', async () => {
    await admit(['a'])
    expect(await admit(['b'])).toEqual({ epoch: 'e2', life: 'b', isNew: true })
    expect(await admit(['c'], { survivesRestart: true })).toEqual({ epoch: 'e2', life: 'c', isNew: false })
  })

  it('keeps epoch and life of a cluster that gains a node, until that node restarts (G26)', async () => {
    await admit(['a', 'b'])
    expect(await admit(['a', 'b', 'c'])).toEqual({ epoch: 'e1', life: 'a+b', isNew: false })
    expect(await admit(['a', 'b', 'restarted c'])).toEqual({ epoch: 'e3', life: 'a+b+restarted c', isNew: true })
  })

  it('migrates a store once (G27)', async () => {
    let runs = 0
    const migrations = [...MIGRATIONS, () => Promise.resolve(void (runs += 1))]
    await admit(['a'])
    for (let i = 0; i < 2; i += 1) expect(await admit(['a'], { migrations })).toMatchObject({ isNew: false })
    expect(runs).toBe(1)
  })
})
