/** @module worker-test/line-response  Sends a response of lines (D125), whole or as a broken network would. */
import type { ServerResponse } from 'node:http'
import { LINES_TYPE, type RpcRequest } from '../protocol/index.ts'
import { systemTime, type Cancel } from '../runtime/index.ts'
import { errorResponse } from './rpc-calls.ts'

export type StreamDamage =
  /** The connection ends after half of the first line with tasks. */
  | 'cut'
  /** Nothing is sent before the end, as behind a proxy that buffers responses. */
  | 'buffered'
  /** The master does not know streams, and rejects the params. */
  | 'refused'

/** Receives tasks when they are leased. */
export type OnTasks = (tasks: readonly { readonly token: number }[]) => void

export interface LinesOptions {
  readonly damage: StreamDamage | undefined
  /** After how many milliseconds each empty line follows. The first is sent immediately. */
  readonly heartbeatMs: number
  readonly respond: (call: RpcRequest, onTasks: OnTasks) => Promise<object>
  /** Called with the tokens of a damaged response whose connection ended. */
  readonly onLost: (tokens: readonly number[]) => void
}

const HALVES_MS = 10

class LineResponse {
  readonly #response: ServerResponse
  readonly #damage: StreamDamage | undefined
  #cancel: Cancel
  /** Resolves when all earlier lines were sent. */
  #sent: Promise<void> = Promise.resolve()
  #kept = ''

  constructor(response: ServerResponse, { damage, heartbeatMs }: LinesOptions) {
    this.#response = response
    this.#damage = damage
    this.#cancel = systemTime.every(heartbeatMs, () => this.#write('\n'))
    response.once('close', () => this.#cancel())
    response.writeHead(200, { 'content-type': LINES_TYPE })
    this.#write('\n')
  }

  /** Writes a line. */
  line(value: object): void {
    this.#write(`${JSON.stringify(value)}\n`)
  }

  /** Writes a line with tasks. */
  tasks(value: object): void {
    if (this.#damage !== 'cut') return this.line(value)
    this.#cancel()
    const bytes = Buffer.from(JSON.stringify(value))
    this.#response.write(bytes.subarray(0, bytes.byteLength / 2))
    this.#response.socket?.end()
  }

  async end(): Promise<void> {
    this.#cancel()
    await this.#sent
    if (!this.#response.destroyed) this.#response.end(this.#kept)
  }

  /** Sends the text in two chunks, which may cut a character. */
  #write(text: string): void {
    if (this.#damage === 'buffered') this.#kept += text
    else this.#sent = this.#sent.then(() => this.#send(Buffer.from(text)))
  }

  async #send(bytes: Buffer): Promise<void> {
    const middle = Math.floor(bytes.byteLength / 2)
    if (middle > 0) {
      this.#response.write(bytes.subarray(0, middle))
      await systemTime.sleep(HALVES_MS)
    }
    if (!this.#response.destroyed) this.#response.write(bytes.subarray(middle))
  }
}

/** Responds to calls by lines, one for each response. Resolves when all were sent. */
export async function serveLines(
  response: ServerResponse,
  calls: readonly RpcRequest[],
  options: LinesOptions,
): Promise<void> {
  const { damage, onLost, respond } = options
  if (damage === 'refused') {
    const responses = calls.map(({ id }) => errorResponse(id, 'invalid_params', 'params/stream: must not be present'))
    return void response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(responses))
  }
  const lines = new LineResponse(response, options)
  const tokens: number[] = []
  response.once('close', () => damage !== undefined && !response.writableFinished && onLost(tokens))
  const serve = async (call: RpcRequest): Promise<void> => {
    const onTasks: OnTasks = (tasks) => {
      tokens.push(...tasks.map(({ token }) => token))
      lines.tasks({ jsonrpc: '2.0', method: 'tasks.leased', params: { id: call.id, tasks } })
    }
    lines.line(await respond(call, onTasks))
  }
  await Promise.all(calls.map(serve))
  await lines.end()
}
