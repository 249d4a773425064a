// Asks a running fleet what its clients ask: the pod of `helm test`, and `make smoke` from outside.
// Usage: MASTER_URL=http://… TOKENS=FOLDER [PUBLIC_URL=https://…] [NAMESPACE=…] node smoke.mjs
//        TOKENS holds the files admin-token and worker-token. In a pod with a service account a FleetWorker is made
//        Ready too, and deleted again. Exit: 0 all went well, 1 the first thing that did not.
import { randomUUID } from 'node:crypto'
import { lookup } from 'node:dns/promises'
import { existsSync, readFileSync } from 'node:fs'
import { request } from 'node:https'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'

const { MASTER_URL, PUBLIC_URL, TOKENS, NAMESPACE, KUBERNETES_SERVICE_HOST, KUBERNETES_SERVICE_PORT } = process.env
const ACCOUNT = process.env.SERVICE_ACCOUNT ?? '/var/run/secrets/kubernetes.io/serviceaccount'
const WITHIN_MS = 60_000
const workerId = `smoke-${randomUUID().slice(0, 8)}`
const token = (name) => readFileSync(join(TOKENS, name), 'utf8').trim()
const limit = AbortSignal.timeout(3 * WITHIN_MS)

function expect(isSo, what) {
  if (!isSo) throw new Error(what)
  console.log(`ok: ${what}`)
}

async function ask(base, path, role, options = {}) {
  const headers = { ...(role === undefined ? {} : { authorization: `Bearer ${token(role)}` }), ...options.headers }
  const answer = await fetch(`${base}${path}`, { ...options, headers, signal: limit }).catch((error) => {
    throw new Error(`${base}${path}: ${error.cause?.message ?? error.message}`, { cause: error.cause })
  })
  const text = await answer.text()
  return { status: answer.status, body: /^[[{]/.test(text) ? JSON.parse(text) : text }
}

async function until(what, isSo) {
  for (const end = Date.now() + WITHIN_MS; !(await isSo()); await pause(500)) {
    if (Date.now() > end) throw new Error(`waited ${WITHIN_MS / 1000} s: ${what}`)
  }
  console.log(`ok: ${what}`)
}

/** A worker that does nothing: it registers, and confirms each config that the master announces. */
async function asWorker(base, type, inside) {
  const path = `/api/v1/automations/${type}/workers/${workerId}`
  const headers = { authorization: `Bearer ${token('worker-token')}` } // Not in the URL, which proxies log.
  const socket = new WebSocket(`${base.replace(/^http/, 'ws')}${path}/control`, { headers })
  const send = (frame) => socket.send(JSON.stringify(frame))
  const now = () => Date.now() / 1000
  const report = (generation) => send({ type: 'state', state: 'IDLE', config_gen: generation, ts: now(), last_error: null })
  const applied = async () => report((await ask(base, `${path}/config`, 'worker-token')).body.config_gen)
  let greeted = () => undefined
  let lost = ''
  socket.addEventListener('message', ({ data }) => {
    const frame = JSON.parse(data)
    if (frame.type === 'ping' && frame.id === workerId) greeted()
    else if (frame.type === 'ping') send(frame)
    else if (frame.type === 'config_changed') void applied()
  })
  socket.addEventListener('close', ({ code, reason }) => (lost = `the control socket closed with ${code} ${reason}`))
  try {
    await new Promise((resolve, reject) => {
      socket.addEventListener('open', resolve)
      socket.addEventListener('error', () => reject(new Error(`no control socket at ${base}`)))
    })
    const hardware = { cores: 1, ram_gb: 0, hostname: workerId, kernel: 'none' }
    send({ type: 'register', worker_id: workerId, automation_type: type, protocol_version: 1, hardware })
    send({ type: 'ping', id: workerId })
    await new Promise((resolve) => (greeted = resolve))
    report(0)
    console.log(`ok: a control socket at ${base}`)
    await inside()
    if (lost !== '') throw new Error(lost)
  } finally {
    socket.close()
  }
}

/** One call to the API server, with the service account of the pod. */
function kube(method, path, body) {
  const file = (name) => readFileSync(join(ACCOUNT, name), 'utf8')
  return new Promise((resolve, reject) => {
    const call = request({
      host: KUBERNETES_SERVICE_HOST, port: KUBERNETES_SERVICE_PORT, method, path: `/apis/muster.dev/v1alpha1/namespaces/${NAMESPACE}/fleetworkers${path}`,
      ca: file('ca.crt'), headers: { authorization: `Bearer ${file('token').trim()}`, 'content-type': 'application/json' }, signal: limit,
    }, async (answer) => {
      const text = (await answer.toArray()).join('')
      resolve({ status: answer.statusCode, body: /^\{/.test(text) ? JSON.parse(text) : {} })
    })
    call.on('error', reject).end(body === undefined ? undefined : JSON.stringify(body))
  })
}

async function fleetWorkerGetsReady(type) {
  const object = { apiVersion: 'muster.dev/v1alpha1', kind: 'FleetWorker', metadata: { name: workerId }, spec: { type, config: { slots: 0 } } }
  const { status, body } = await kube('POST', '', object)
  expect(status === 201, `a FleetWorker is accepted (${body.message ?? status})`)
  const isReady = async () => (await kube('GET', `/${workerId}`)).body.status?.conditions?.some((each) => each.type === 'Ready' && each.status === 'True')
  await until('the FleetWorker is Ready', isReady).finally(() => kube('DELETE', `/${workerId}`))
}

/** A name of the outside need not be known inside the cluster: then the way through it is left to `make smoke`. */
async function isKnown(host) {
  const found = await lookup(host).then(() => true, () => false)
  if (!found) console.log(`not asked: ${host} is not known here`)
  return found
}

async function main() {
  await until('the master is ready', async () => (await ask(MASTER_URL, '/readyz').catch(() => ({}))).status === 200)
  expect((await ask(MASTER_URL, '/healthz')).status === 200, 'the master is healthy')
  expect((await ask(MASTER_URL, '/api/v1/me', 'admin-token')).body.role === 'admin', 'the admin token is the admin token')
  expect((await ask(MASTER_URL, '/api/v1/me')).status === 401, 'a request without a token is rejected')
  const { body } = await ask(MASTER_URL, '/api/v1/automations', 'admin-token')
  const type = (Array.isArray(body) ? body : body.automations)[0].type
  const inCluster = KUBERNETES_SERVICE_HOST !== undefined && existsSync(join(ACCOUNT, 'token'))
  try {
    await asWorker(MASTER_URL, type, () => (inCluster ? fleetWorkerGetsReady(type) : undefined))
    if (PUBLIC_URL !== undefined && (await isKnown(new URL(PUBLIC_URL).hostname))) {
      expect((await ask(PUBLIC_URL, '/healthz')).status === 200, `${PUBLIC_URL} leads to the master`)
      expect((await ask(PUBLIC_URL, '/metrics')).status !== 200, `${PUBLIC_URL} shows no metrics`)
      await asWorker(PUBLIC_URL, type, () => undefined)
    }
  } finally {
    await ask(MASTER_URL, `/api/v1/automations/${type}/workers/${workerId}`, 'admin-token', { method: 'DELETE' })
  }
}

try {
  await main()
} catch (error) {
  console.error(`failed: ${error.message}`)
  process.exitCode = 1
}
