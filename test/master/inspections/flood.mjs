// A hostile client in its own process. It sends CLIENTS concurrent requests to the last path read from stdin and
// discards the responses. Beside them SLOW sockets of each kind do nothing: they never read the response of that path,
// stop within their headers, or stop within their body. An empty line stops all. It prints a line when the first bytes
// of a path have arrived and its slow sockets are open.
// Usage: node flood.mjs URL TOKEN CLIENTS SLOW
import { Agent, request } from 'node:http'
import { once as onceOf } from 'node:events'
import { connect } from 'node:net'
import { createInterface } from 'node:readline'
import { setTimeout as pause } from 'node:timers/promises'

const AFTER_REFUSAL_MS = 10
const [url, token, clients, slow] = process.argv.slice(2)
const { hostname, port } = new URL(url)
let flood = { path: '', agent: new Agent(), sockets: [] }
let received = 0

const methodOf = (path) => (path.endsWith('/pop') ? 'POST' : 'GET')
const BODY = '{"n":10000}'

const once = ({ path, agent }) =>
  new Promise((resolve) => {
    const method = methodOf(path)
    const headers = {
      authorization: `Bearer ${token}`,
      ...(method === 'POST' && { 'content-type': 'application/json' }),
    }
    const sent = request(url + path, { method, agent, headers }, (response) => {
      response.on('data', (chunk) => {
        if (response.statusCode === 200 && received === 0) void openSlowSockets(path)
        if (response.statusCode === 200) received += chunk.length
      })
      response.on('end', () => resolve(response.statusCode)).on('error', () => resolve(0))
    })
    sent.on('error', () => resolve(0)).end(method === 'POST' ? BODY : undefined)
  })

async function openSlowSockets(path) {
  const own = flood
  const head = (method, lengthBytes) =>
    `${method} ${path} HTTP/1.1\r\nHost: test\r\nAuthorization: Bearer ${token}\r\n` +
    `Content-Type: application/json\r\nContent-Length: ${lengthBytes}\r\n`
  const body = methodOf(path) === 'POST' ? BODY : ''
  const texts = [
    `${head(methodOf(path), body.length)}\r\n${body}`, // Its response is never read.
    head(methodOf(path), 1_000),
    `${head('POST', 1_000)}\r\n{"n":`,
  ]
  const opened = texts.flatMap((text) => Array.from({ length: Number(slow) }, () => openSocket(own, text)))
  await Promise.all(opened)
  if (isCurrent(own)) console.log(path)
}

async function openSocket(own, text) {
  const socket = connect(Number(port), hostname)
  socket.on('error', () => {}) // The master may close it.
  own.sockets.push(socket)
  await Promise.race([onceOf(socket, 'connect'), onceOf(socket, 'close')])
  socket.write(text)
}

const isCurrent = (own) => flood === own

async function run(own) {
  while (isCurrent(own)) if ((await once(own)) !== 200) await pause(AFTER_REFUSAL_MS)
}

for await (const path of createInterface(process.stdin)) {
  flood.agent.destroy()
  for (const socket of flood.sockets) socket.destroy()
  flood = { path, agent: new Agent({ keepAlive: true }), sockets: [] }
  received = 0
  if (path !== '') for (let i = 0; i < Number(clients); i += 1) void run(flood)
}
process.exit(0)
