/**
 * Runs many real workers in one process, and writes each reserve, ack, nack and release of theirs to file descriptor 3,
 * an ack before it is sent. Settings: SOAK_COUNTS (`{"job": 20, "beat": 20}`), SOAK_HOST, SVC_MASTER_URL,
 * SVC_WORKER_TOKEN, SVC_AUTOMATIONS. SIGTERM drains all workers.
 */
import { writeSync } from 'node:fs'
import { buildCatalog, isRunnable, loadAutomations } from '../../src/automation/index.ts'
import { createHttpPool, systemRandom, systemTime, type CreateHttpPool, type Log } from '../../src/runtime/index.ts'
import { startWorker, systemHost, type RunningWorker } from '../../src/worker/index.ts'

export type SoakOperation = 'reserve' | 'ack' | 'nack' | 'release'
/** A lease as `[task id, token]`. */
export type SoakLease = readonly [id: string, token: number]
/** One line of the record. Times are ns of the monotonic clock, which all processes of a machine share. */
export type SoakLine =
  | {
      readonly kind: 'reserved'
      readonly startNs: number
      readonly endNs: number
      readonly leases: readonly SoakLease[]
    }
  | ({ readonly kind: 'settling'; readonly call: number; readonly startNs: number } & Settled)
  | { readonly kind: 'settled'; readonly call: number; readonly endNs: number; readonly results: readonly string[] }
  | { readonly kind: 'unknown'; readonly call: number }
interface Settled {
  readonly operation: Exclude<SoakOperation, 'reserve'>
  readonly leases: readonly SoakLease[]
}

interface RpcCall {
  readonly id: number
  readonly method: string
  readonly params: { readonly tasks?: readonly { readonly task_id: string; readonly token: number }[] }
}
interface RpcReply {
  readonly id: number | null
  readonly result?: {
    readonly tasks?: readonly { readonly task_id: string; readonly token: number }[]
    readonly results?: readonly { readonly ok: boolean; readonly error?: string }[]
  }
}

const RECORD_FD = 3
const OPERATIONS: Readonly<Record<string, SoakOperation>> = {
  'tasks.reserve': 'reserve',
  'tasks.ack': 'ack',
  'tasks.nack': 'nack',
  'tasks.release': 'release',
}
let calls = 0

const nowNs = (): number => Number(process.hrtime.bigint())
const record = (line: SoakLine): void => void writeSync(RECORD_FD, `${JSON.stringify(line)}\n`)
const leaseOf = ({ task_id: id, token }: { task_id: string; token: number }): SoakLease => [id, token]

/** Records the calls of a request. @returns a function that records its response; without a text it is unknown. */
function begin(body: string): (text?: string) => void {
  const request = JSON.parse(body) as RpcCall | readonly RpcCall[]
  const ends = (Array.isArray(request) ? (request as readonly RpcCall[]) : [request as RpcCall]).map((call) => ({
    id: call.id,
    end: beginCall(call),
  }))
  return (text) => {
    const replies = repliesOf(text)
    for (const { id, end } of ends) end(replies.find((reply) => reply.id === id))
  }
}

function beginCall({ method, params }: RpcCall): (reply: RpcReply | undefined) => void {
  const operation = OPERATIONS[method]
  const startNs = nowNs()
  if (operation === undefined) return () => undefined
  if (operation === 'reserve')
    return (reply) => {
      const leases = reply?.result?.tasks?.map(leaseOf) ?? []
      if (leases.length > 0) record({ kind: 'reserved', startNs, endNs: nowNs(), leases })
    }
  const call = ++calls
  record({ kind: 'settling', call, startNs, operation, leases: (params.tasks ?? []).map(leaseOf) })
  return (reply) => {
    const results = reply?.result?.results?.map(({ ok, error }) => (ok ? 'ok' : (error ?? 'error')))
    if (results === undefined) record({ kind: 'unknown', call })
    else record({ kind: 'settled', call, endNs: nowNs(), results })
  }
}

function repliesOf(text: string | undefined): readonly RpcReply[] {
  try {
    const reply = text === undefined ? [] : (JSON.parse(text) as RpcReply | readonly RpcReply[])
    return Array.isArray(reply) ? (reply as readonly RpcReply[]) : [reply as RpcReply]
  } catch {
    return [] // Not a response of the master.
  }
}

/** A pool of undici whose calls are recorded. */
const recordingPool: CreateHttpPool = (origin, options) => {
  const pool = createHttpPool(origin, options)
  return {
    request: async (request) => {
      if (request.body === undefined || !request.path.endsWith('/rpc')) return pool.request(request)
      const end = begin(request.body)
      try {
        const response = await pool.request(request)
        const text = await response.body.text()
        end(response.statusCode === 200 ? text : undefined)
        const chunks = async function* (): AsyncGenerator<Buffer> {
          yield Buffer.from(text)
        }
        return {
          statusCode: response.statusCode,
          headers: response.headers,
          body: { [Symbol.asyncIterator]: chunks, text: async () => text, dump: async () => undefined },
        }
      } catch (error) {
        end()
        throw error
      }
    },
    destroy: () => pool.destroy(),
  }
}

const line = (level: string) => (message: string, fields?: object) =>
  void process.stderr.write(`${level} ${message} ${JSON.stringify(fields ?? {})}\n`)
const log: Log = {
  debug: () => undefined,
  info: () => undefined,
  warn: line('warn'),
  error: line('error'),
  isEnabled: (level) => level === 'warn' || level === 'error',
}

const setting = (name: string): string => {
  const value = process.env[name]
  if (value === undefined) throw new Error(`set ${name}`)
  return value
}

async function main(): Promise<void> {
  const counts = JSON.parse(setting('SOAK_COUNTS')) as Readonly<Record<string, number>>
  const catalog = buildCatalog(
    await loadAutomations({ specifiers: [setting('SVC_AUTOMATIONS')], directory: process.cwd() }),
  )
  const workers: RunningWorker[] = []
  for (const [type, count] of Object.entries(counts)) {
    const entry = catalog.get(type)
    if (!isRunnable(entry)) throw new Error(`${type} is not installed`)
    for (let n = 0; n < count; n += 1)
      workers.push(
        startWorker({
          masterUrl: setting('SVC_MASTER_URL'),
          token: setting('SVC_WORKER_TOKEN'),
          entry,
          workerId: `${setting('SOAK_HOST')}-${n}`,
          drainTimeoutSeconds: 10,
          clock: systemTime,
          timers: systemTime,
          random: systemRandom,
          log,
          host: systemHost,
          createPool: recordingPool,
        }),
      )
  }
  process.once('SIGTERM', () => {
    for (const worker of workers) worker.drain('SIGTERM')
  })
  await Promise.all(workers.map(({ done }) => done))
}

await main()
