/** Tests how the rpc client reads the stream of a reserve, from a server that sends each chunk by itself (D125). */
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { ReservedTask, RpcError } from '../../src/protocol/index.ts'
import { RefusalLimiter, seededRandom, systemTime, VirtualTime } from '../../src/runtime/index.ts'
import { RpcClient } from '../../src/worker/rpc-client.ts'

let time: VirtualTime
let server: Server
let respond: (response: ServerResponse, call: { readonly id: number }, request: IncomingMessage) => void
let client: RpcClient
let seen: string[]

beforeEach(async () => {
  time = new VirtualTime()
  seen = []
  server = createServer((request, response) => {
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => void chunks.push(chunk))
    request.on('end', () => {
      const [call] = JSON.parse(Buffer.concat(chunks).toString()) as { id: number }[]
      respond(response, call ?? { id: 0 }, request)
    })
  })
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve))
  client = new RpcClient({
    clock: time,
    timers: time,
    origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    rpcPath: '/rpc',
    token: () => 'token',
    connections: 4,
    refusals: new RefusalLimiter({ clock: time, timers: time, random: seededRandom(1) }),
  })
})
afterEach(async () => {
  await client.close()
  server.closeAllConnections()
  await new Promise((resolve) => void server.close(resolve))
})

const lines = (response: ServerResponse): ServerResponse =>
  response.writeHead(200, { 'content-type': 'application/x-ndjson' })
const leased = (...ids: string[]): string => {
  const params = { id: 1, tasks: ids.map((id) => ({ task_id: id })) }
  return `${JSON.stringify({ jsonrpc: '2.0', method: 'tasks.leased', params })}\n`
}
const ended = ({ id }: { readonly id: number }): string => `{"jsonrpc":"2.0","id":${id},"result":{"tasks":[]}}\n`

/** Opens a stream. @returns the error it ended with; undefined if it ended in order. */
function open(): Promise<RpcError | undefined> {
  const onTasks = (tasks: readonly ReservedTask[]): void => void seen.push(...tasks.map((task) => task.task_id))
  const onAlive = (): void => void seen.push('alive')
  const options = { onTasks, onAlive, firstLineMs: 5_000, signal: new AbortController().signal }
  return client.stream({ limit: 9, wait_ms: 25_000 }, options).then(
    () => undefined,
    (error: RpcError) => error,
  )
}
async function until(isTrue: () => boolean): Promise<void> {
  while (!isTrue()) await systemTime.sleep(5)
}

describe('a stream', () => {
  it('delivers each group of tasks when its line is complete, wherever the chunks are cut', async () => {
    const text = Buffer.from(`\n${leased('a')}\n${leased('é€😀', 'c')}`)
    const write = async (response: ServerResponse, call: { readonly id: number }): Promise<void> => {
      for (const byte of text) {
        response.write(Buffer.from([byte]))
        await systemTime.sleep(0)
      }
      response.end(ended(call))
    }
    respond = (response, call, request) => {
      seen.push(String(request.headers.accept))
      void write(lines(response), call)
    }
    expect(await open()).toBeUndefined()
    expect(seen).toEqual(['application/x-ndjson', 'alive', 'a', 'é€😀', 'c'])
  })

  it('that gets no line in time ends, and says so', async () => {
    let isOpen = false
    respond = (response) => {
      lines(response).flushHeaders()
      isOpen = true
    }
    const error = open()
    await until(() => isOpen)
    await time.advance(5_000)
    expect(await error).toMatchObject({ code: 'unavailable', data: { isSilent: true } })
  })

  it('that falls silent for 25 s ends as a broken connection does', async () => {
    respond = (response) => void lines(response).write(`\n${leased('a')}`)
    const error = open()
    await until(() => seen.length === 2)
    await time.advance(25_000)
    const { code, data } = (await error) as RpcError
    expect([code, data['isSilent'], data['outcome']]).toEqual(['unavailable', undefined, 'unknown'])
  })

  it('that breaks before its response delivers what arrived, and ends with an error', async () => {
    respond = (response) => void lines(response).end(leased('a'))
    expect(await open()).toMatchObject({ code: 'unavailable', data: { outcome: 'unknown' } })
    respond = (response) => {
      lines(response).write(leased('b'))
      setTimeout(() => response.destroy(), 20)
    }
    expect(await open()).toMatchObject({ code: 'unavailable', data: { outcome: 'unknown' } })
    expect(seen).toEqual(['alive', 'a', 'alive', 'b'])
  })

  it('has the error of a master that does not know streams, or refuses the request', async () => {
    const error = { code: -32_602, message: 'params/stream: must not be present', data: {} }
    respond = (response, { id }) => {
      response.setHeader('content-type', 'application/json; charset=utf-8')
      response.end(JSON.stringify([{ jsonrpc: '2.0', id, error }]))
    }
    expect(await open()).toMatchObject({ code: 'invalid_params', message: error.message })
    respond = (response) => void response.writeHead(503, { 'retry-after': '2' }).end('{"detail":"busy"}')
    expect(await open()).toMatchObject({ code: 'unavailable', data: { status: 503, retry_after_ms: 2_000 } })
  })

  it('is not silent while it waits to be sent, because the master rejects requests', async () => {
    respond = (response) => void response.writeHead(503, { 'retry-after': '20' }).end('{"detail":"busy"}')
    for (let refusals = 0; refusals < 3; refusals++) await open()
    respond = (response, call) => void lines(response).end(`\n${ended(call)}`)
    const stream = open()
    for (let seconds = 0; seconds < 30; seconds++) {
      await time.advance(1_000)
      await systemTime.sleep(5)
    }
    expect(await stream).toBeUndefined()
  })

  it('with a line that is not JSON ends with an error', async () => {
    respond = (response) => void lines(response).end('\n{"method":\n')
    expect(await open()).toMatchObject({ code: 'unavailable' })
  })
})
