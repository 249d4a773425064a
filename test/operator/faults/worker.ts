/**
 * Simulates a worker process: it connects to a real control channel and acknowledges each config that the master sends.
 */
import { once } from 'node:events'
import { WebSocket } from 'ws'
import { TOKENS, type TestMaster } from '../../kit/running-master.ts'

export const TYPE = 'job'

export class FakeWorker {
  readonly id: string
  readonly #socket: WebSocket

  private constructor(master: TestMaster, id: string) {
    this.id = id
    this.#socket = new WebSocket(
      `${master.url.replace('http', 'ws')}/api/v1/automations/${TYPE}/workers/${id}/control`,
      { headers: { authorization: `Bearer ${TOKENS.worker}` }, perMessageDeflate: false },
    )
    this.#socket.on('error', () => {}) // The `close` event follows.
  }

  static async join(
    master: TestMaster,
    id: string,
    more: { readonly labels?: Readonly<Record<string, string>> } = {},
  ): Promise<FakeWorker> {
    const worker = new FakeWorker(master, id)
    await once(worker.#socket, 'open')
    worker.#send({
      type: 'register',
      worker_id: id,
      automation_type: TYPE,
      protocol_version: 1,
      hardware: { cores: 1, ram_gb: 1, hostname: 'test', kernel: 'test' },
      ...more,
    })
    worker.#send({ type: 'ping', id: 'registered' })
    await once(worker.#socket, 'message')
    const [row] = await master.backend.workers.get([{ type: TYPE, id }])
    worker.#runs(row?.config.gen ?? 0)
    worker.#socket.on('message', (data: Buffer) => {
      const { type, config_gen: gen } = JSON.parse(data.toString()) as { type: string; config_gen?: number }
      if (type === 'config_changed' && gen !== undefined) worker.#runs(gen)
      if (type === 'drain') worker.leave()
    })
    return worker
  }

  leave(): void {
    this.#socket.terminate()
  }

  #runs(gen: number): void {
    this.#send({ type: 'state', state: 'RUNNING', config_gen: gen, ts: 1, last_error: null })
  }

  #send(frame: object): void {
    if (this.#socket.readyState === WebSocket.OPEN) this.#socket.send(JSON.stringify(frame))
  }
}
