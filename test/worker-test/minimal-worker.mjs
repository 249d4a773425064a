// A worker in one file, written from src/worker-test/README.md and src/protocol/README.md alone, with the package `ws`
// as its only dependency. It runs the automation of `muster worker-test --manifest`.
import { randomUUID } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { cpus, hostname, release, totalmem } from 'node:os'
import { setTimeout as sleep } from 'node:timers/promises'
import { WebSocket } from 'ws'

const env = process.env
const id = encodeURIComponent(env.SVC_WORKER_ID)
const base = `${env.SVC_MASTER_URL}/api/v1/automations/${env.SVC_AUTOMATION_TYPE}/workers/${id}`
const drainMs = 1_000 * Number(env.SVC_DRAIN_TIMEOUT_SECONDS ?? 30)
const MiB = 1_048_576
const instanceId = randomUUID()
const token = () => env.SVC_WORKER_TOKEN ?? readFileSync(env.SVC_WORKER_TOKEN_FILE, 'utf8').trim()
const authorization = () => ({ authorization: `Bearer ${token()}` })

let config = { enabled: false, slots: 1, label: '' }
let applied // The ETag and generation of the config.
let lastError = null
let configError = null
let isDraining = false
const stop = new AbortController() // Ends the runs.
const runs = new Map() // token -> lease

// ── Secrets ──
const secrets = new Set()
const mask = (text) => [...secrets].reduce((masked, secret) => masked.replaceAll(secret, '********'), text)
const log = (...words) => logAs('info', null, words)

// ── Log ──
const LEVELS = ['debug', 'info', 'warn', 'error']
const startedAtMs = Date.now()
const firstSeq = 1_000 * startedAtMs
let entries = [] // The newest 1,000, each of at most 900 bytes.
let newestSeq = firstSeq - 1
function logAs(level, task, words) {
  const line = words.join(' ')
  const message = mask(line)
  console.log(message)
  const of = { slot_id: null, task_id: task?.task_id ?? null, attempt: task?.attempt ?? null }
  entries.push({
    seq: (newestSeq += 1),
    ts: Date.now() / 1_000,
    level,
    message: message.slice(0, 100),
    ...of,
    fields: {},
  })
  entries = entries.slice(-1_000)
}
function readLogs({ id: read, limit: most, after, level = 'debug', task_id: taskId }) {
  const limit = Math.min(most, 200) // At most 192 KiB.
  const isOwn = after === 0 || (after >= firstSeq - 1 && after <= newestSeq)
  const isSelected = (entry) =>
    LEVELS.indexOf(entry.level) >= LEVELS.indexOf(level) && (taskId === undefined || entry.task_id === taskId)
  const selected = entries.filter((entry) => isSelected(entry) && !(isOwn && entry.seq <= after))
  const page = after === undefined ? selected.slice(-limit) : selected.slice(0, limit)
  const hasMore = after !== undefined && selected.length > page.length
  const next = hasMore ? page.at(-1).seq : newestSeq
  const oldest = entries[0]?.seq ?? newestSeq + 1
  let missed = 0
  if (after !== undefined) missed = isOwn ? Math.max(0, oldest - Math.max(after + 1, firstSeq)) : null
  const started = { started_at: startedAtMs / 1_000 }
  socket.send(JSON.stringify({ type: 'logs', id: read, ...started, entries: page, next, has_more: hasMore, missed }))
}

// ── Calls ──
const retryAfterMs = (value) => 1_000 * Math.min(30, Number(value ?? 0) || 0)
/** Sends JSON-RPC. Throws without a response; `waitMs` of the error is its Retry-After. */
async function post(body, signal, accept) {
  const response = await fetch(`${base}/rpc`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...authorization(), ...accept },
    body: JSON.stringify(body),
    signal,
  })
  if (response.status !== 200) {
    const waitMs = retryAfterMs(response.headers.get('retry-after'))
    throw Object.assign(new Error(`HTTP ${response.status}`), { waitMs })
  }
  return response
}
/** Sends one call. Throws without a complete response. */
async function call(method, params, timeoutMs = 15_000) {
  const response = await post({ jsonrpc: '2.0', id: 1, method, params }, AbortSignal.timeout(timeoutMs))
  const { result, error } = await response.json()
  if (error) throw Object.assign(new Error(error.message), { code: error.data?.code })
  return result
}
const backoffMs = (failures, capMs) => Math.min(capMs, 1_000 * 2 ** failures) * (0.5 + Math.random() / 2)

// ── Outputs ──
let buffer = []
let buffered = 0
function emitOf({ slot, task }, payload) {
  const ofTask = socket?.offers?.includes('output_task') ? { task_id: task.task_id } : {}
  const text = JSON.stringify({ type: 'output', slot_id: slot, ts: Date.now() / 1_000, ...ofTask, payload })
  const bytes = Buffer.byteLength(text)
  if (bytes > MiB) throw new Error(`the output has ${bytes} bytes, and a frame at most 1 MiB`)
  buffer.push({ text, bytes })
  buffered += bytes
  while (buffer.length > 1_024 || buffered > 16 * MiB) buffered -= buffer.shift().bytes
  flush()
}
function flush() {
  if (socket?.isGreeted !== true || socket.readyState !== WebSocket.OPEN) return
  for (const { text } of buffer) socket.send(text)
  buffer = []
  buffered = 0
}

// ── Control channel ──
const labels = Object.fromEntries(
  (env.SVC_WORKER_LABELS ?? '')
    .split(',')
    .filter(Boolean)
    .map((pair) => pair.split('=')),
)
/** The field `labels` of `register`, for a master that knows it. */
function labelsFor(channel) {
  if (!channel.offers.includes('labels')) return {}
  return Object.keys(labels).length === 0 ? {} : { labels }
}
let socket
let failures = 0
function connect() {
  let waitMs = 0
  let openedAtMs
  const channel = new WebSocket(`${base.replace('http', 'ws')}/control`, {
    headers: { ...authorization(), 'muster-features': 'stream, cancel, labels, logs, output_task, slot_tasks' },
  })
  socket = channel
  channel.on('upgrade', ({ headers }) => (channel.offers = headers['muster-features'] ?? ''))
  channel.on('open', () => {
    openedAtMs = Date.now()
    const hardware = { cores: cpus().length, ram_gb: totalmem() / 2 ** 30, hostname: hostname(), kernel: release() }
    send({
      type: 'register',
      worker_id: env.SVC_WORKER_ID,
      automation_type: env.SVC_AUTOMATION_TYPE,
      protocol_version: 1,
      hardware,
      instance_id: instanceId,
      ...labelsFor(channel),
    })
    send({ type: 'ping', id: 'greeting' }) // Its response proves that the token was accepted.
  })
  channel.on('message', (data) => {
    const frame = JSON.parse(data)
    if (frame.type === 'ping') greeted(channel)
    if (frame.type === 'config_changed') poll()
    if (frame.type === 'drain') void drain()
    if (frame.type === 'task_cancelled') cancelled(frame)
    if (frame.type === 'read_logs') readLogs(frame)
  })
  channel.on('unexpected-response', (request, response) => {
    waitMs = retryAfterMs(response.headers['retry-after'])
    log('handshake rejected', response.statusCode)
    request.destroy()
    channel.terminate()
  })
  channel.on('error', (error) => log('control channel:', error.message))
  channel.on('close', (code) => {
    if (code === 4000) process.exit(1)
    if (isDraining && runs.size === 0) return
    if (openedAtMs !== undefined && Date.now() - openedAtMs > 30_000) failures = 0
    setTimeout(connect, Math.max(waitMs, backoffMs(failures, 30_000)))
    failures += 1
  })
}
function greeted(channel) {
  channel.isGreeted = true
  reportState()
  reportStats()
  flush()
  poll()
}
function send(frame) {
  if (socket?.readyState === WebSocket.OPEN) socket.send(mask(JSON.stringify(frame)))
}
const isActive = () => config.enabled && config.slots > 0
function reportState() {
  const state = isActive() ? 'RUNNING' : 'IDLE'
  const error = configError ?? lastError
  send({ type: 'state', state, config_gen: applied?.gen ?? 0, ts: Date.now() / 1_000, last_error: error })
}
function reportStats() {
  const rss = process.memoryUsage.rss() / MiB
  const perSlot = [...runs.values()].map(({ slot, startedMs, task }) => {
    const seconds = (Date.now() - startedMs) / 1_000
    const ofTask = socket?.offers?.includes('slot_tasks') ? { task_id: task.task_id, task_seconds: seconds } : {}
    return { slot_id: slot, age_seconds: seconds, counters: {}, ...ofTask }
  })
  const usage = { slots: runs.size, cpu_pct: 0, rss_mb: rss }
  send({ type: 'stats', ...usage, ts: Date.now() / 1_000, metrics: {}, per_slot: perSlot })
}

// ── Config ──
let polling = Promise.resolve()
let nextPoll
/** Polls after the poll that is in progress. */
function poll() {
  clearTimeout(nextPoll)
  nextPoll = setTimeout(poll, 30_000)
  polling = polling.then(pollOnce).catch((error) => log('poll failed:', error.message))
}
async function pollOnce() {
  const headers = { ...authorization(), ...(applied && { 'if-none-match': applied.etag }) }
  const response = await fetch(`${base}/config`, { headers, signal: AbortSignal.timeout(15_000) })
  if (response.status !== 200) return
  const etag = response.headers.get('etag')
  const epoch = etag.slice(0, etag.lastIndexOf('.'))
  const { config: next, config_gen: gen } = await response.json()
  if (applied !== undefined && applied.epoch === epoch && gen <= applied.gen) return
  if (typeof next.enabled !== 'boolean' || !Number.isInteger(next.slots) || next.slots < 0 || next.slots > 1_024) {
    configError = `config ${gen} rejected: enabled or slots is invalid`
  } else {
    if (next.password) secrets.add(next.password)
    config = next
    applied = { etag, epoch, gen }
    configError = null
    wake()
  }
  reportState()
}

// ── Tasks ──
let wake = () => undefined
const freeSlots = () => (isActive() && !isDraining ? config.slots - runs.size : 0)
async function reserve() {
  for (let failed = 0; ;) {
    while (freeSlots() <= 0) await new Promise((resolve) => (wake = resolve))
    try {
      if (socket?.offers?.includes('stream') && Date.now() >= streamsFromMs) {
        await stream(hasStreamed ? freeSlots() : 1)
        failed = 0
        continue
      }
      const { tasks } = await call('tasks.reserve', { limit: freeSlots(), wait_ms: 20_000 }, 30_000)
      failed = 0
      for (const task of tasks) void start(task)
      if (tasks.length === 0) await sleep(200)
    } catch (error) {
      log('reserve failed:', error.message)
      await sleep(Math.max(error.waitMs ?? 0, backoffMs(failed++, 5_000)))
    }
  }
}
let start = (task) => (freeSlots() > 0 ? runTask(task) : settle('tasks.release', task, {}))
let streamsFromMs = 0 // When streams may be used again.
let hasStreamed = false
/** Reserves with a stream, whose tasks run as their lines arrive. Without a first line, a proxy may buffer them. */
async function stream(limit) {
  const silence = new AbortController()
  const within = (ms) => setTimeout(() => silence.abort(new Error('the stream is silent')), ms)
  let timer = within(5_000)
  let hasArrived = false
  try {
    const params = { limit, wait_ms: 20_000, stream: true }
    const calls = [{ jsonrpc: '2.0', id: 1, method: 'tasks.reserve', params }]
    const response = await post(calls, silence.signal, { accept: 'application/x-ndjson' })
    if (response.headers.get('content-type') !== 'application/x-ndjson') return rejected(await response.json())
    let rest = ''
    for await (const text of response.body.pipeThrough(new TextDecoderStream())) {
      hasArrived = hasStreamed = true
      clearTimeout(timer)
      timer = within(25_000)
      const lines = (rest + text).split('\n')
      rest = lines.pop()
      const leased = lines.filter(Boolean).flatMap((line) => JSON.parse(line).params?.tasks ?? [])
      for (const task of leased) void start(task)
    }
  } catch (error) {
    if (hasArrived || !silence.signal.aborted) throw error
    streamsFromMs = Date.now() + 600_000
  } finally {
    clearTimeout(timer)
  }
}
function rejected([{ error }]) {
  if (error?.data?.code !== 'invalid_params') throw new Error(error?.message ?? 'no lines')
  streamsFromMs = Date.now() + 60_000
}
async function runTask(task) {
  const lost = new AbortController()
  const busy = [...runs.values()].map(({ slot }) => slot)
  const slot = [...busy, -1].map((each) => each + 1).find((free) => !busy.includes(free))
  const lease = { task, slot, startedMs: Date.now(), isLost: false, isReleased: false, lost }
  runs.set(task.token, lease)
  const extending = setInterval(() => void extend(lease), (1_000 * (task.expires_at - Date.now() / 1_000)) / 3)
  try {
    await run(lease, config, AbortSignal.any([stop.signal, lost.signal]))
    lastError = null
    if (!lease.isLost && !lease.isReleased) await settle('tasks.ack', task, {})
  } catch (error) {
    const text = mask(String(error.message)).slice(0, 4_096)
    lastError = text
    logAs('warn', task, ['run failed:', error.message])
    if (!lease.isLost && !lease.isReleased) await settle('tasks.nack', task, { error: text, ...retryOf(task) })
  } finally {
    clearInterval(extending)
    runs.delete(task.token)
    reportState()
    wake()
  }
}
/** The delay of the task's own policy. */
function retryOf({ retry, attempt }) {
  if (retry === undefined) return {}
  const seconds = Math.min(retry.cap_seconds, retry.base_seconds * retry.factor ** attempt)
  return { retry_in_ms: Math.floor(1_000 * seconds * Math.random()) }
}
function cancelled({ task_id: taskId, token: fence }) {
  const lease = runs.get(fence)
  if (lease?.task.task_id !== taskId) return
  lease.isLost = true
  lease.lost.abort()
}
async function extend(lease) {
  const { task_id, token: fence } = lease.task
  try {
    const { results } = await call('tasks.extend', { tasks: [{ task_id, token: fence }] }, 5_000)
    const isLost = results[0].error === 'lease_lost'
    if (isLost) lease.isLost = true
    if (isLost) lease.lost.abort()
  } catch (error) {
    log('extend failed:', error.message)
  }
}
/** Sends an outcome until the master responds to it. */
async function settle(method, { task_id, token: fence }, more) {
  for (let failed = 0; ; failed += 1) {
    try {
      return await call(method, { tasks: [{ task_id, token: fence, ...more }] })
    } catch (error) {
      log(`${method} failed:`, error.message)
      await sleep(Math.max(error.waitMs ?? 0, backoffMs(failed, 5_000)))
    }
  }
}

// ── The end ──
async function drain(deadlineMs = Infinity) {
  if (isDraining) return
  isDraining = true
  const endMs = Date.now() + deadlineMs
  while (runs.size > 0 && Date.now() < endMs) await sleep(50)
  const rest = [...runs.values()]
  for (const lease of rest) lease.isReleased = true
  stop.abort()
  await Promise.race([Promise.all(rest.map(({ task }) => settle('tasks.release', task, {}))), sleep(6_000)])
  socket.close(1000)
  setTimeout(() => process.exit(0), 500)
}

// ── The automation ──
async function run(lease, { label = '' }, signal) {
  const { payload } = lease.task
  const emit = (output) => emitOf(lease, output)
  if (payload.do === 'echo') emit({ value: payload.value, label })
  else if (payload.do === 'fail') throw new Error(payload.error)
  else if (payload.do === 'sleep') {
    emit({ started: true })
    await sleep(1_000 * payload.seconds, undefined, { signal })
    emit({ slept: payload.seconds })
  } else {
    const pad = 'x'.repeat(payload.bytes ?? 0)
    for (let n = 0; n < payload.count; n += 1) emit({ n, pad })
  }
}

process.on('SIGTERM', () => void drain(drainMs))
setInterval(() => {
  reportState()
  reportStats()
}, 15_000)
connect()
void reserve()
