/** A real master, clients for it, and helpers that fill its store. */
import { afterEach } from '@jest/globals'
import { MasterClient, type ClientOptions } from '../../src/client/index.ts'
import { seededRandom, systemTime, type VirtualTime } from '../../src/runtime/index.ts'
import { runMaster, TOKENS, type TestMaster } from '../kit/running-master.ts'
import { FaultyProxy, type Deed } from './faulty-proxy.ts'

const closing: (() => Promise<void>)[] = []
afterEach(async () => {
  await Promise.all(closing.splice(0).map((close) => close()))
})

export function clientOf(masterUrl: string, options: Partial<ClientOptions> = {}): MasterClient {
  const client = new MasterClient({
    masterUrl,
    token: () => TOKENS.admin,
    clock: systemTime,
    timers: systemTime,
    random: seededRandom(1),
    ...options,
  })
  closing.push(() => client.close())
  return client
}

/** Creates a client that reaches its master through a proxy with the given `script`. */
export async function throughProxy(
  script: readonly Deed[],
  options: Partial<ClientOptions> = {},
): Promise<{ master: TestMaster; proxy: FaultyProxy; client: MasterClient }> {
  const master = await runMaster()
  const proxy = await FaultyProxy.start(master.url, ...script)
  closing.push(() => proxy.stop())
  return { master, proxy, client: clientOf(proxy.url, options) }
}

const HARDWARE = JSON.stringify({ cores: 1, ram_gb: 1, hostname: 'test', kernel: 'test' })

export async function register(
  master: TestMaster,
  id: string,
  type = 'mailer',
  more: { readonly labels?: string } = {},
): Promise<void> {
  const defaults = JSON.stringify({ enabled: false, slots: 1, max_attempts: 3, recycle_seconds: 0 })
  const registration = { type, id, conn: `gone/${id}`, instance: '', hardware: HARDWARE, defaults, ...more }
  await master.backend.workers.register([registration])
}

/** Submits tasks, and lets a worker fail each of them permanently. */
export async function makeDead(master: TestMaster, ids: readonly string[]): Promise<void> {
  await register(master, 'undertaker')
  await master.call('POST', '/api/v1/automations/mailer/tasks/batch', {
    body: { tasks: ids.map((id) => ({ task_id: id, payload: { to: id } })) },
  })
  const rpc = async <T>(method: string, params: object): Promise<T> => {
    const { json } = await master.call('POST', '/api/v1/automations/mailer/workers/undertaker/rpc', {
      token: TOKENS.worker,
      body: { jsonrpc: '2.0', id: 1, method, params },
    })
    return (json as { result: T }).result
  }
  const { tasks } = await rpc<{ tasks: { task_id: string; token: number }[] }>('tasks.reserve', { limit: ids.length })
  await rpc('tasks.nack', {
    tasks: tasks.map(({ task_id, token }) => ({
      task_id,
      token,
      error: `no such address: ${task_id}`,
      permanent: true,
    })),
  })
}

export async function emit(master: TestMaster, slots: readonly number[], type = 'mailer'): Promise<void> {
  await master.backend.streams.push(
    type,
    `test ${slots.join()}`,
    1,
    slots.map((slot) => JSON.stringify({ slot_id: slot, ts: 1, payload: { sent: true } })),
  )
}

/** Advances virtual time until `call` has settled. The sockets are real. */
export async function advancing<T>(time: VirtualTime, call: Promise<T>): Promise<T> {
  const state = { settled: false }
  const done = call.finally(() => (state.settled = true))
  done.catch(() => {}) // Returned below.
  while (!state.settled) await time.advance(50)
  return done
}
