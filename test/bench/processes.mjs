/** Starts and stops the processes that the benchmark measures. Each is stopped by its own handle. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'

const ROOT = join(import.meta.dirname, '../..')
export const ADMIN_TOKEN = 'bench-admin-token'
export const WORKER_TOKEN = 'bench-worker-token'
/** The unit of CPU time in Linux interfaces. */
const TICKS_PER_SECOND = 100
const PAGE_BYTES = 4_096

export async function freePort() {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address()
  server.close()
  await once(server, 'close')
  return port
}

/** Polls until `holds` returns true. Its load is at most one small request per `everyMs`. */
export async function until(what, holds, { withinMs = 120_000, everyMs = 5 } = {}) {
  const deadline = performance.now() + withinMs
  while (performance.now() < deadline) {
    if (await holds()) return
    await new Promise((resolve) => setTimeout(resolve, everyMs))
  }
  throw new Error(`not within ${withinMs} ms: ${what}`)
}

/**
 * Starts a process. `stop` and `kill` may be called repeatedly. @param options.hasChannel for messages, as of
 * node:child_process.
 */
export function start(command, args, environment = {}, { hasChannel = false } = {}) {
  const child = spawn(command, args, {
    cwd: ROOT,
    env: { PATH: process.env.PATH, ...environment },
    stdio: ['ignore', 'pipe', 'inherit', ...(hasChannel ? ['ipc'] : [])],
  })
  child.stdout.on('data', () => {})
  const exited = once(child, 'exit')
  const end = async (signal) => {
    if (child.exitCode === null && child.signalCode === null) child.kill(signal)
    await exited
  }
  return { child, pid: child.pid, stop: () => end('SIGTERM'), kill: () => end('SIGKILL') }
}

/** Resolves with the first line that the process prints. */
export async function firstLine({ child }) {
  const [chunk] = await Promise.race([
    once(child.stdout, 'data'),
    once(child, 'exit').then(([code]) => {
      throw new Error(`ended with ${code} before it was ready`)
    }),
  ])
  return chunk.toString().trim()
}

/** CPU time of a process so far, in milliseconds; NaN if the system does not report it. */
export function cpuMs(pid) {
  try {
    const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ').at(-1).split(' ')
    return ((Number(fields[11]) + Number(fields[12])) * 1_000) / TICKS_PER_SECOND
  } catch {
    return NaN
  }
}

/** Resident memory of a process; NaN if the system does not report it. */
export function rssBytes(pid) {
  try {
    return Number(readFileSync(`/proc/${pid}/statm`, 'utf8').split(' ')[1]) * PAGE_BYTES
  } catch {
    return NaN
  }
}

/** @param options.port Port of a master that is restarted; options.nodeArguments for Node itself. */
export async function startMaster(
  backendUrl,
  { port, nodeArguments = [], automations = './test/bench/automations.mjs' } = {},
) {
  const listens = port ?? (await freePort())
  const url = `http://127.0.0.1:${listens}`
  const master = start(process.execPath, [...nodeArguments, 'dist/cmd/muster.js', 'master'], {
    SVC_LISTEN: `127.0.0.1:${listens}`,
    SVC_BACKEND_URL: backendUrl,
    SVC_AUTOMATIONS: automations,
    SVC_ADMIN_TOKEN: ADMIN_TOKEN,
    SVC_WORKER_TOKEN: WORKER_TOKEN,
    SVC_LOG_LEVEL: 'error',
  })
  await until(
    'the master is ready',
    async () => {
      if (master.child.exitCode !== null) throw new Error(`the master ended with ${master.child.exitCode}`)
      return (await fetch(`${url}/readyz`).catch(() => null))?.status === 200
    },
    { withinMs: 30_000 },
  )
  return { ...master, url, port: listens }
}

/** @param ids The file for the executed IDs, see recorder.mjs. */
export function startWorker(url, type, ids, id = 'w-1') {
  return start(process.execPath, ['dist/cmd/muster.js', 'worker'], {
    SVC_MASTER_URL: url,
    SVC_WORKER_TOKEN: WORKER_TOKEN,
    SVC_AUTOMATION_TYPE: type,
    SVC_WORKER_ID: id,
    SVC_AUTOMATIONS: './test/bench/automations.mjs',
    SVC_LOG_LEVEL: 'error',
    BENCH_IDS: ids,
  })
}

export async function call(url, method, path, body) {
  const response = await fetch(`${url}/api/v1/automations/${path}`, {
    method,
    headers: {
      authorization: `Bearer ${ADMIN_TOKEN}`,
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  })
  if (response.status !== 200) throw new Error(`${method} ${path}: ${response.status} ${await response.text()}`)
  return response.json()
}
