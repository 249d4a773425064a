/**
 * Simulates a worker process: it connects to a real control channel and acknowledges each config that the master sends.
 */
import { once } from 'node:events'
import { WebSocket } from 'ws'
import { RESERVED_METRICS } from '../../../src/protocol/index.ts'
import { TOKENS, type TestMaster } from '../../kit/running-master.ts'

export const TYPE = 'job'

export interface JoinOptions {
  readonly labels?: Readonly<Record<string, string>>
  readonly next?: FakeWorker['next']
}

export class FakeWorker {
  readonly id: string
  /** What the worker makes of the next configs that it is sent. */
  next: 'runs' | 'fails' | 'is silent' = 'runs'
  #counters: Readonly<Record<string, number>> = {}
  readonly #socket: WebSocket
  /** Tasks that it reports in statistics; `undefined`: it sends none. */
  #held: number | undefined
  #gen = 0
  /** The generation of the newest config that it was sent. */
  #sent = 0

  /** The generation of the config that it runs. */
  get gen(): number {
    return this.#gen
  }

  private constructor(master: TestMaster, id: string) {
    this.id = id
    this.#socket = new WebSocket(
      `${master.url.replace('http', 'ws')}/api/v1/automations/${TYPE}/workers/${id}/control`,
      { headers: { authorization: `Bearer ${TOKENS.worker}` }, perMessageDeflate: false },
    )
    this.#socket.on('error', () => {}) // The `close` event follows.
  }

  static async join(master: TestMaster, id: string, { next = 'runs', ...more }: JoinOptions = {}): Promise<FakeWorker> {
    const worker = new FakeWorker(master, id)
    worker.next = next
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
    if (next !== 'is silent') worker.#runs(row?.config.gen ?? 0)
    worker.#socket.on('message', (data: Buffer) => {
      const { type, config_gen: gen } = JSON.parse(data.toString()) as { type: string; config_gen?: number }
      if (type === 'config_changed' && gen !== undefined) {
        worker.#sent = gen
        if (worker.next !== 'is silent') worker.#runs(gen)
      }
      if (type === 'drain') worker.leave()
    })
    return worker
  }

  /** Sends statistics with so many tasks, one slot each, now and with each config. */
  hold(tasks: number): void {
    this.#held = tasks
    this.#report()
  }

  /** Counts runs that ended, and sends the statistics. A new config begins again at 0. */
  ran(ok: number, failed: number): void {
    const { runsFailed, runsOk } = RESERVED_METRICS
    this.#counters = {
      [runsOk]: (this.#counters[runsOk] ?? 0) + ok,
      [runsFailed]: (this.#counters[runsFailed] ?? 0) + failed,
    }
    this.#held ??= 0
    this.#report()
  }

  /** Acknowledges the config about which it was silent, if there is one. */
  acknowledge(): void {
    if (this.#sent > this.#gen) this.#runs(this.#sent)
  }

  leave(): void {
    this.#socket.terminate()
  }

  /** Ends as a worker that was drained. */
  end(): void {
    this.#socket.close(4100)
  }

  #runs(gen: number): void {
    this.#gen = gen
    this.#counters = {}
    const [state, error] = this.next === 'fails' ? ['ERROR', 'the config is bad'] : ['RUNNING', null]
    this.#send({ type: 'state', state, config_gen: gen, ts: 1, last_error: error })
    this.#report()
  }

  #report(): void {
    if (this.#held === undefined) return
    const own = { [RESERVED_METRICS.configGen]: this.#gen, [RESERVED_METRICS.tasksHeld]: this.#held }
    const metrics = { ...own, ...this.#counters }
    const slots = { slots: this.#held, per_slot: [] }
    this.#send({ type: 'stats', ...slots, cpu_pct: 0, rss_mb: 1, ts: 1, metrics })
  }

  #send(frame: object): void {
    if (this.#socket.readyState === WebSocket.OPEN) this.#socket.send(JSON.stringify(frame))
  }
}
