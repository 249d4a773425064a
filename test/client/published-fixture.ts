/** A published client of a real master, and helpers that count its requests. */
import { defineBatch, Type } from '../../src/automation/index.ts'
import { MusterClient, MusterError, type MusterClientOptions } from '../../src/client/public.ts'
import type { MasterOptions } from '../../src/master/index.ts'
import { runMaster, TOKENS, type TestMaster } from '../kit/running-master.ts'

/** Has the schemas of the type `mailer` of the kit's master. */
export const mailer = defineBatch({
  type: 'mailer',
  payload: Type.Object({ to: Type.String() }),
  output: Type.Object({ sent: Type.Boolean() }),
  run: () => {},
})

export const publishedClient = (url: string, options: Partial<MusterClientOptions> = {}): MusterClient =>
  new MusterClient({ url, token: TOKENS.admin, ...options })

/** The settings of the masters of these tests. */
export const SETTINGS: MasterOptions['settings'] = {
  submitRpsPerToken: 0,
  idempotencyTtlSeconds: 3_600,
  maxBodyBytes: 1_048_576,
  maxLostLeases: 10,
  maxQueueLength: 10_000,
  maxSockets: 1_000,
}

interface SeenBatch {
  readonly tasks: { readonly task_id: string; readonly idempotency_key?: string }[]
}

/** A master, the client of its type `mailer`, and the batches that the client sent. */
export async function published(
  options: Partial<MusterClientOptions> = {},
  settings: Partial<MasterOptions['settings']> = {},
) {
  const master: TestMaster = await runMaster({ settings: { ...SETTINGS, ...settings } })
  const batches: SeenBatch[] = []
  const counting: typeof fetch = (url, init) => {
    if (typeof init?.body === 'string') batches.push(JSON.parse(init.body) as SeenBatch)
    return fetch(url, init)
  }
  const client = publishedClient(master.url, { fetch: counting, ...options })
  return { master, client, batches, mails: client.automation<typeof mailer>('mailer') }
}

/** Resolves with the error of a call. */
export async function failureOf(call: Promise<unknown>): Promise<MusterError> {
  const error: unknown = await call.then(
    () => new Error('it succeeded'),
    (thrown: unknown) => thrown,
  )
  if (error instanceof MusterError) return error
  throw error
}

/** The worker of `complete`. */
export const WORKER = 'postman'

/** Calls a method as the worker. */
export async function rpc<T>(master: TestMaster, method: string, params: object): Promise<T> {
  const { json } = await master.call('POST', `/api/v1/automations/mailer/workers/${WORKER}/rpc`, {
    token: TOKENS.worker,
    body: { jsonrpc: '2.0', id: 1, method, params },
  })
  return (json as { result: T }).result
}

/** Reserves the pending tasks and acknowledges each with its id, or with what `ackOf` returns. */
export async function complete(
  master: TestMaster,
  ackOf = (id: string): object => ({ result: { sent: id } }),
): Promise<void> {
  const { tasks } = await rpc<{ tasks: { task_id: string; token: number }[] }>(master, 'tasks.reserve', { limit: 500 })
  await rpc(master, 'tasks.ack', {
    tasks: tasks.map(({ task_id, token }) => ({ task_id, token, ...ackOf(task_id) })),
  })
}
