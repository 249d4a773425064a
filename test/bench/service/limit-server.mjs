/**
 * Servers for the limits of the machine, each in its own process like the master. Usage: limit-server.mjs MODE …
 * Prints the port it listens on.
 *
 *   http      raw node:http that reads a body and sends it back
 *   express   the same through Express with its JSON reader
 *   check     raw node:http that parses a batch of tasks, checks it against the schemas, and returns as many ids
 *   answer N  raw node:http that returns N bytes for any request
 *   frames    a ws server that parses each frame, counts its outputs, and replies to `ping` frames with their number
 *   sockets   a ws server that keeps sockets and replies to `ping` frames
 *   steps P   the steps of a task: HTTP in, SET on the Redis at port P, HTTP out and a frame to each socket; when a
 *             socket replies with a frame, DEL on Redis, and a frame back
 *   notify P  HTTP in, one GET and one SET on the Redis at port P, a frame to the socket named in the path, HTTP out
 */
import { createServer } from 'node:http'
import express from 'express'
import { Redis } from 'ioredis'
import { WebSocketServer } from 'ws'

const [mode, setting] = process.argv.slice(2)

const answer = (response, text) =>
  response.writeHead(200, { 'content-type': 'application/json', 'content-length': Buffer.byteLength(text) }).end(text)

function withBody(request, use) {
  const chunks = []
  request.on('data', (chunk) => chunks.push(chunk))
  request.on('end', () => use(Buffer.concat(chunks).toString()))
}

/** Keeps sockets by path. `onFrame(socket, frame)` receives their frames, parsed. */
function sockets(server, onFrame) {
  const byPath = new Map()
  const upgrades = new WebSocketServer({ server, perMessageDeflate: false })
  upgrades.on('connection', (socket, { url }) => {
    byPath.set(url, socket)
    socket.on('message', (/** @type {Buffer} */ data) => onFrame(socket, JSON.parse(data.toString())))
    socket.on('close', () => byPath.delete(url))
  })
  return byPath
}

const pong = (socket, frame) => frame.type === 'ping' && socket.send(JSON.stringify(frame))

function outputsIn(frame) {
  if (frame.type === 'output_batch') return frame.outputs.length
  return frame.type === 'output' ? 1 : 0
}

const SERVERS = {
  http: () => createServer((request, response) => withBody(request, (text) => answer(response, text))),
  express: () =>
    createServer(
      express()
        .disable('x-powered-by')
        .disable('etag')
        .use(express.json())
        .post('/{*path}', (request, response) => void response.json(request.body)),
    ),
  async check() {
    const { compileValidator, TaskBatchBody, TaskBody } = await import('../../../src/protocol/index.ts')
    const [batch, task] = [compileValidator(TaskBatchBody), compileValidator(TaskBody)]
    const payload = compileValidator({
      type: 'object',
      required: ['text'],
      properties: { text: { type: 'string' } },
      additionalProperties: false,
    })
    return createServer((request, response) =>
      withBody(request, (text) => {
        const body = JSON.parse(text)
        if (batch(body).length > 0 || body.tasks.some((each) => task(each).length + payload(each.payload).length > 0))
          throw new Error('the task is not valid')
        answer(
          response,
          JSON.stringify({
            results: body.tasks.map((_, at) => ({ task_id: `${at}`.padStart(32, '0'), queued: true, priority: 0 })),
          }),
        )
      }),
    )
  },
  answer() {
    const text = JSON.stringify('x'.repeat(Number(setting) - 2))
    return createServer((request, response) => withBody(request, () => answer(response, text)))
  },
  frames() {
    const server = createServer()
    let outputs = 0
    sockets(server, (socket, frame) => {
      if (frame.type === 'ping') socket.send(JSON.stringify({ type: 'ping', id: `${outputs}` }))
      else outputs += outputsIn(frame)
    })
    return server
  },
  sockets() {
    const server = createServer((_request, response) => answer(response, '{}'))
    sockets(server, pong)
    return server
  },
  steps() {
    const redis = new Redis({ host: '127.0.0.1', port: Number(setting) })
    const server = createServer((request, response) =>
      withBody(request, async (text) => {
        const { id } = JSON.parse(text)
        await redis.set(id, text)
        answer(response, text)
        for (const socket of byPath.values()) socket.send(JSON.stringify({ type: 'task', id }))
      }),
    )
    const byPath = sockets(server, async (socket, { id }) => {
      await redis.del(id)
      socket.send(JSON.stringify({ type: 'done', id }))
    })
    return server
  },
  notify() {
    const redis = new Redis({ host: '127.0.0.1', port: Number(setting) })
    const server = createServer((request, response) =>
      withBody(request, async (text) => {
        await redis.get(request.url)
        await redis.set(request.url, text)
        byPath.get(request.url)?.send('{"type":"config_changed","config_gen":2}')
        answer(response, text)
      }),
    )
    const byPath = sockets(server, pong)
    return server
  },
}

const server = await SERVERS[mode]()
server.keepAliveTimeout = 75_000
server.listen(0, '127.0.0.1', () => process.stdout.write(`${server.address().port}\n`))
