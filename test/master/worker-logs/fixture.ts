/** A real master with real workers that log what their tasks say, and workers of older releases. */
import { once } from 'node:events'
import { WebSocket } from 'ws'
import { buildCatalog, defineBatch, Type } from '../../../src/automation/index.ts'
import type { MasterOptions } from '../../../src/master/index.ts'
import type { WorkerLogsBody } from '../../../src/protocol/index.ts'
import { systemRandom, systemTime } from '../../../src/runtime/index.ts'
import { startWorker, type RunningWorker } from '../../../src/worker/index.ts'
import { eventually, recordingLog } from '../../kit/index.ts'
import { runMaster, TOKENS, type TestMaster } from '../../kit/running-master.ts'
import { testHost } from '../../worker/fixtures.ts'

const TYPE = '/api/v1/automations/mailer'

/** Logs the lines of its payload, then fails if the payload says so. */
const mailer = defineBatch({
  type: 'mailer',
  config: Type.Object({ password: Type.Optional(Type.String({ writeOnly: true })) }),
  payload: Type.Object({
    lines: Type.Array(Type.Object({ level: Type.String(), message: Type.String(), fields: Type.Unknown() })),
    fails: Type.Optional(Type.Boolean()),
    shows: Type.Optional(Type.Boolean()),
  }),
  run: async ({ config, log, task }) => {
    for (const { level, message, fields } of task.payload.lines) log[level as 'info'](message, fields as object)
    if (task.payload.shows === true) log.info(`the password is ${config.password}`, { config, of: [config.password] })
    if (task.payload.fails === true) throw new Error(`failed with ${config.password}`)
  },
})
const catalog = buildCatalog([mailer])

export interface Line {
  readonly level?: 'debug' | 'info' | 'warn' | 'error'
  readonly message: string
  readonly fields?: object
}

const workers: RunningWorker[] = []
const sockets: WebSocket[] = []

export async function stopWorkers(): Promise<void> {
  for (const socket of sockets.splice(0)) socket.terminate()
  await Promise.all(workers.splice(0).map((worker) => (worker.drain('the test is over'), worker.done)))
}

export const masterOf = (options: Partial<MasterOptions> = {}): Promise<TestMaster> =>
  runMaster({ catalog, ...options })

/** Starts a worker in this process. Resolves when it has applied a config with one slot. */
export async function work(master: TestMaster, id: string, config: object = {}): Promise<RunningWorker> {
  const worker = startWorker({
    masterUrl: master.url,
    token: TOKENS.worker,
    entry: mailerEntry(),
    workerId: id,
    drainTimeoutSeconds: 1,
    clock: systemTime,
    timers: systemTime,
    random: systemRandom,
    log: recordingLog(),
    host: testHost,
  })
  workers.push(worker)
  await eventually(() => worker.state().registered)
  const body = { enabled: true, slots: 1, ...config }
  const patched = await master.call('PATCH', `${TYPE}/workers/${id}/config`, { body })
  if (patched.status !== 200) throw new Error(patched.text)
  await eventually(() => worker.state().slots === 1)
  return worker
}

function mailerEntry() {
  const entry = catalog.get('mailer')
  if (entry === undefined) throw new Error('no entry')
  return entry
}

/** Opens a control channel as another program would. @returns the frames that it receives. */
export async function connectOther(
  master: TestMaster,
  id: string,
  headers: Readonly<Record<string, string>> = {},
): Promise<{ readonly frames: Record<string, unknown>[]; readonly send: (frame: object) => void; close(): void }> {
  const socket = new WebSocket(`${master.url.replace('http', 'ws')}${TYPE}/workers/${id}/control`, {
    headers: { authorization: `Bearer ${TOKENS.worker}`, ...headers },
  })
  sockets.push(socket)
  const frames: Record<string, unknown>[] = []
  socket.on('message', (data: Buffer) => frames.push(JSON.parse(data.toString()) as Record<string, unknown>))
  const send = (frame: object): void => socket.send(JSON.stringify(frame))
  await once(socket, 'open')
  const hardware = { cores: 1, ram_gb: 1, hostname: 'h', kernel: 'k' }
  send({ type: 'register', worker_id: id, automation_type: 'mailer', protocol_version: 1, hardware })
  send({ type: 'ping', id: 'registered' })
  await eventually(() => frames.some((frame) => frame['id'] === 'registered'))
  return { frames, send, close: () => socket.close() }
}

let tasks = 0
/** Runs a task that logs these lines. @returns its id when its run has ended. */
export async function runTask(
  master: TestMaster,
  lines: readonly Line[],
  more: { readonly fails?: boolean; readonly shows?: boolean } = {},
): Promise<string> {
  const id = `t-${(tasks += 1)}`
  const payload = {
    lines: lines.map(({ level = 'info', message, fields = {} }) => ({ level, message, fields })),
    ...more,
  }
  const submitted = await master.call('POST', `${TYPE}/tasks`, { body: { task_id: id, payload, retain_seconds: 60 } })
  if (submitted.status >= 300) throw new Error(submitted.text)
  await eventually(async () => {
    const { json } = await master.call('GET', `${TYPE}/tasks/${id}`)
    return ['done', 'dead', 'scheduled'].includes(String((json as { place: unknown }).place))
  })
  return id
}

export async function logsOf(master: TestMaster, id: string, query = '', token: string = TOKENS.viewer) {
  const { status, json } = await master.call('GET', `${TYPE}/workers/${id}/logs${query}`, { token })
  return { status, body: json as WorkerLogsBody, detail: String((json as { detail?: unknown } | null)?.detail) }
}
