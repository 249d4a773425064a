/**
 * @module test/e2e/socket-worker
 * A worker simulated by the test on a real control channel of a real master. It sends frames on request and records the
 * frames of the master.
 */
import { once } from 'node:events'
import { WebSocket } from 'ws'
import { WORKER_TOKEN, type Fleet } from './fleet.ts'
import { eventually } from '../kit/index.ts'

interface Frame {
  readonly type: string
  readonly config_gen?: number
  readonly id?: string
}

export class SocketWorker {
  readonly type: string
  readonly id: string
  readonly frames: Frame[] = []
  readonly closed: Promise<{ readonly code: number; readonly reason: string }>
  readonly #socket: WebSocket
  #pings = 0

  private constructor(fleet: Fleet, type: string, id: string) {
    this.type = type
    this.id = id
    this.#socket = new WebSocket(
      `${fleet.url.replace('http', 'ws')}/api/v1/automations/${type}/workers/${id}/control`,
      { headers: { authorization: `Bearer ${WORKER_TOKEN}` } },
    )
    this.#socket.on('message', (data: Buffer) => this.frames.push(JSON.parse(data.toString()) as Frame))
    this.#socket.on('error', () => undefined) // A close event follows.
    this.closed = once(this.#socket, 'close').then(([code, reason]: unknown[]) => ({
      code: Number(code),
      reason: String(reason),
    }))
  }

  /** Connects and registers. Resolves when the record is stored. */
  static async join(fleet: Fleet, type: string, id: string): Promise<SocketWorker> {
    const worker = new SocketWorker(fleet, type, id)
    await once(worker.#socket, 'open')
    worker.#send({
      type: 'register',
      worker_id: id,
      automation_type: type,
      protocol_version: 1,
      hardware: { cores: 1, ram_gb: 1, hostname: 'test', kernel: 'test' },
    })
    await worker.received()
    return worker
  }

  /** Resolves when the master has processed everything sent so far. */
  async received(): Promise<void> {
    const ping = `ping ${++this.#pings}`
    this.#send({ type: 'ping', id: ping })
    await eventually('the master responds to a ping', async () => this.frames.some(({ id }) => id === ping))
  }

  state(gen: number): void {
    this.#send({ type: 'state', state: 'IDLE', config_gen: gen, ts: 1, last_error: null })
  }

  /** Sends one frame with these outputs, each with its slot. */
  emit(outputs: readonly { readonly slot: number; readonly payload: object }[]): void {
    this.#send({
      type: 'output_batch',
      outputs: outputs.map(({ slot, payload }) => ({ slot_id: slot, ts: 1, payload })),
    })
  }

  /** The received generations and drains, without pings. */
  get reported(): readonly (number | 'drain')[] {
    return this.frames
      .filter(({ type }) => type !== 'ping')
      .map(({ type, config_gen: gen }) => (type === 'drain' ? 'drain' : (gen ?? -1)))
  }

  leave(): void {
    this.#socket.terminate()
  }

  #send(frame: object): void {
    this.#socket.send(JSON.stringify(frame))
  }
}

export interface Reserved {
  readonly task_id: string
  readonly token: number
  readonly attempt: number
}
interface RpcAnswer<T> {
  readonly result?: T
  readonly error?: { readonly code: number; readonly message: string }
}

/** Makes a call of a worker through any master. */
export async function tryRpc<T>(
  fleet: Fleet,
  { type, id }: { readonly type: string; readonly id: string },
  method: string,
  params: object,
): Promise<RpcAnswer<T>> {
  const response = await fetch(`${fleet.url}/api/v1/automations/${type}/workers/${id}/rpc`, {
    method: 'POST',
    headers: { authorization: `Bearer ${WORKER_TOKEN}`, 'content-type': 'application/json' },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }),
  })
  return (await response.json()) as RpcAnswer<T>
}

/** Like `tryRpc`, for a call that must succeed. */
export async function rpc<T>(
  fleet: Fleet,
  worker: { readonly type: string; readonly id: string },
  method: string,
  params: object,
): Promise<T> {
  const answer = await tryRpc<T>(fleet, worker, method, params)
  if (answer.result === undefined) throw new Error(`${method}: ${JSON.stringify(answer)}`)
  return answer.result
}
