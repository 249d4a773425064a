// A hostile client in its own process. It sends CLIENTS concurrent requests to the last path read from stdin and
// discards the responses. An empty line stops it. It prints a line when the first bytes of a path arrive.
// Usage: node flood.mjs URL TOKEN CLIENTS
import { Agent, request } from 'node:http'
import { createInterface } from 'node:readline'
import { setTimeout as pause } from 'node:timers/promises'

const AFTER_REFUSAL_MS = 10
const [url, token, clients] = process.argv.slice(2)
let flood = { path: '', agent: new Agent() }
let received = 0

const once = ({ path, agent }) =>
  new Promise((resolve) => {
    const method = path.endsWith('/pop') ? 'POST' : 'GET'
    const headers = {
      authorization: `Bearer ${token}`,
      ...(method === 'POST' && { 'content-type': 'application/json' }),
    }
    const sent = request(url + path, { method, agent, headers }, (response) => {
      response.on('data', (chunk) => {
        if (response.statusCode === 200 && received === 0) console.log(path)
        if (response.statusCode === 200) received += chunk.length
      })
      response.on('end', () => resolve(response.statusCode)).on('error', () => resolve(0))
    })
    sent.on('error', () => resolve(0)).end(method === 'POST' ? '{"n":10000}' : undefined)
  })

const isCurrent = (own) => flood === own

async function run(own) {
  while (isCurrent(own)) if ((await once(own)) !== 200) await pause(AFTER_REFUSAL_MS)
}

for await (const path of createInterface(process.stdin)) {
  flood.agent.destroy()
  flood = { path, agent: new Agent({ keepAlive: true }) }
  received = 0
  if (path !== '') for (let i = 0; i < Number(clients); i += 1) void run(flood)
}
process.exit(0)
