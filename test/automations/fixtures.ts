/** @module test/automations/fixtures  Real HTTP servers, and one task run by the author's harness. */
import { once } from 'node:events'
import { createServer, type IncomingHttpHeaders, type RequestListener, type Server } from 'node:http'
import type { BatchAutomation, Pools } from '../../src/automation/index.ts'
import { runBatch, type ConfigPatch, type TaskSeed } from '../../src/automation/testing/index.ts'

export interface ReceivedRequest {
  readonly method: string
  readonly url: string
  readonly headers: IncomingHttpHeaders
  readonly body: string
}

/** A server on loopback that records its requests. */
export class TestServer {
  readonly requests: ReceivedRequest[] = []
  readonly #server: Server

  constructor(answer: RequestListener) {
    this.#server = createServer((request, response) => {
      let body = ''
      request.on('data', (chunk: Buffer) => (body += chunk.toString()))
      request.on('end', () => {
        this.requests.push({ method: request.method ?? '', url: request.url ?? '', headers: request.headers, body })
        answer(request, response)
      })
    })
  }
  async start(): Promise<this> {
    this.#server.listen(0, '127.0.0.1')
    await once(this.#server, 'listening')
    return this
  }
  get port(): number {
    return (this.#server.address() as { port: number }).port
  }
  get url(): string {
    return `http://127.0.0.1:${this.port}`
  }
  async stop(): Promise<void> {
    this.#server.closeAllConnections()
    this.#server.close()
    await once(this.#server, 'close')
  }
}

/** Runs one task. `attempt` is its first attempt. */
export async function runTask<C, O, T, P extends Pools>(
  automation: BatchAutomation<C, O, T, P>,
  config: ConfigPatch<C>,
  payload: TaskSeed<T>['payload'],
  id = 'task-1',
) {
  const {
    attempts: [attempt],
    outputs,
  } = await runBatch(automation, { config, tasks: [{ id, payload }] })
  if (attempt === undefined) throw new Error('the task was not run')
  return { attempt, outputs }
}
