/** Prepares tests of scripts of tasks: a private Redis for a file, and an empty store with a worker for each test. */
import { afterAll, beforeAll, beforeEach } from '@jest/globals'
import type { Redis } from 'ioredis'
import { createTasks } from '../../../src/storage/redis/tasks.ts'
import { RedisWorkers } from '../../../src/storage/redis/workers.ts'
import type { Tasks } from '../../../src/storage/index.ts'
import { ManualClock, registration } from '../contract/fixture.ts'
import { startRedis, type RedisServer } from '../../kit/redis-server.ts'
import { TracedCaller } from './traced.ts'

interface TracedTasks {
  readonly client: Redis
  readonly clock: ManualClock
  readonly caller: TracedCaller
  readonly tasks: Tasks
}

/** Calls `use` before each test. The worker is `w:1`. Call it inside `withRedisServer`. */
export function onTracedTasks(use: (on: TracedTasks) => void): void {
  let server: RedisServer
  let client: Redis
  beforeAll(async () => {
    server = await startRedis()
    client = server.connect()
  })
  afterAll(() => server.close())
  beforeEach(async () => {
    const clock = new ManualClock()
    const caller = new TracedCaller(client, clock)
    await client.flushall()
    await new RedisWorkers(caller, async () => []).register([registration('w:1', 'm1/1')])
    use({ client, clock, caller, tasks: createTasks(caller, 'p', clock) })
  })
}
