/** Starting and ending what the benchmark measures. Everything started here is ended by its own handle. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { connect, createServer } from 'node:net'
import { join } from 'node:path'

const ROOT = join(import.meta.dirname, '../..')

export async function freePort() {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address()
  server.close()
  await once(server, 'close')
  return port
}

/** Polls until `holds` answers true; the benchmark's own waiting costs at most one small request each 5 ms. */
export async function until(what, holds, withinMs = 120_000) {
  const deadline = performance.now() + withinMs
  while (performance.now() < deadline) {
    if (await holds()) return
    await new Promise((resolve) => setTimeout(resolve, 5))
  }
  throw new Error(`not within ${withinMs} ms: ${what}`)
}

export function start(command, args, environment = {}) {
  const child = spawn(command, args, { cwd: ROOT, env: { PATH: process.env.PATH, ...environment }, stdio: ['ignore', 'pipe', 'inherit'] })
  child.stdout.on('data', () => {})
  const exited = once(child, 'exit')
  return {
    child,
    stop: async () => {
      child.kill('SIGTERM')
      await exited
    },
  }
}

function accepts(port) {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1', () => {
      socket.destroy()
      resolve(true)
    })
    socket.on('error', () => resolve(false))
  })
}

export async function startRedis(directory) {
  const port = await freePort()
  const server = start('redis-server', ['--port', `${port}`, '--bind', '127.0.0.1', '--dir', directory, '--save', '', '--appendonly', 'no', '--maxmemory-policy', 'noeviction'])
  await until('redis answers', () => accepts(port))
  return { ...server, port }
}

export async function startMaster(backendUrl) {
  const port = await freePort()
  const url = `http://127.0.0.1:${port}`
  const master = start(process.execPath, ['dist/cmd/muster.js', 'master'], {
    SVC_LISTEN: `127.0.0.1:${port}`, SVC_BACKEND_URL: backendUrl, SVC_AUTOMATIONS: './test/bench/automations.mjs',
    SVC_ADMIN_TOKEN: 'bench-admin-token', SVC_WORKER_TOKEN: 'bench-worker-token', SVC_LOG_LEVEL: 'warn',
  })
  await until('the master is ready', async () => (await fetch(`${url}/readyz`).catch(() => null))?.status === 200)
  return { ...master, url }
}

export function startWorker(url, type, ids) {
  return start(process.execPath, ['dist/cmd/muster.js', 'worker'], {
    SVC_MASTER_URL: url, SVC_WORKER_TOKEN: 'bench-worker-token', SVC_AUTOMATION_TYPE: type, SVC_WORKER_ID: 'w-1',
    SVC_AUTOMATIONS: './test/bench/automations.mjs', SVC_LOG_LEVEL: 'warn', BENCH_IDS: ids,
  })
}

export async function call(url, method, path, body) {
  const response = await fetch(`${url}/api/v1/automations/${path}`, {
    method,
    headers: { authorization: 'Bearer bench-admin-token', ...(body === undefined ? {} : { 'content-type': 'application/json' }) },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  })
  if (response.status !== 200) throw new Error(`${method} ${path}: ${response.status} ${await response.text()}`)
  return response.json()
}
