/**
 * Eight threads of one worker id reserve, ack and reserve again, over sockets of a whole master. The store takes a few
 * milliseconds, as over a network, so that some of them reserve again while a call of the store is under way. While
 * tasks are free, none of them starves and none gets an empty response (G31).
 */
import { describe, expect, it } from '@jest/globals'
import { seededRandom, systemTime } from '../../../src/runtime/index.ts'
import { MemoryBackend } from '../../../src/storage/memory/index.ts'
import { runMaster, TOKENS, type TestMaster } from '../../kit/running-master.ts'
import { task } from '../../storage/contract/fixture.ts'
import { Watched } from '../queue/watched.ts'

const LANES = 8
const TASKS = 240
const STORE_MS = 4
const RPC = '/api/v1/automations/mailer/workers/w/rpc'

interface Leased {
  readonly task_id: string
  readonly token: number
}

async function rpc(master: TestMaster, method: string, params: object): Promise<unknown> {
  const body = { jsonrpc: '2.0', id: 1, method, params }
  const { json } = await master.call('POST', RPC, { token: TOKENS.worker, body })
  return (json as { result: unknown }).result
}

async function start(tasks: number): Promise<TestMaster> {
  const store = new Watched()
  const backend = store.wrap(new MemoryBackend({ clock: systemTime, random: seededRandom(1) }))
  const master = await runMaster({ backend })
  await backend.workers.register([
    { type: 'mailer', id: 'w', conn: 'elsewhere/1', instance: '', hardware: '{}', defaults: '{"max_attempts":3}' },
  ])
  const ids = Array.from({ length: tasks }, (_, at) => `task-${at}`)
  await backend.tasks.submit(
    'mailer',
    1_000,
    ids.map((id) => task(id)),
  )
  store.gate = (name) => (name === 'tasks.reserve' ? systemTime.sleep(STORE_MS) : undefined)
  return master
}

describe('eight threads of one worker', () => {
  it.each([1, 3])('that reserve %d tasks each get their share, and none an empty response (G31)', async (limit) => {
    const master = await start(TASKS + LANES * limit)
    let left = TASKS
    const responses = await Promise.all(
      Array.from({ length: LANES }, async (_, lane) => {
        const counts: number[] = []
        while (left > 0) {
          const { tasks } = (await rpc(master, 'tasks.reserve', { limit, wait_ms: 20_000 })) as { tasks: Leased[] }
          counts.push(tasks.length)
          left -= tasks.length
          await systemTime.sleep((lane % 4) * (STORE_MS / 2))
          await rpc(master, 'tasks.ack', { tasks: tasks.map(({ task_id, token }) => ({ task_id, token })) })
        }
        return counts
      }),
    )
    const shares = responses.map((counts) => counts.reduce((sum, count) => sum + count, 0))
    expect(responses.flat().filter((count) => count === 0)).toEqual([])
    expect(Math.min(...shares)).toBeGreaterThan(TASKS / LANES / 3)
  })
})
