/** @module test/automations/world  Real HTTP servers, and the real slot runners around one automation. */
import { once } from 'node:events'
import { createServer, type IncomingHttpHeaders, type RequestListener, type Server } from 'node:http'
import { buildCatalog, runBatchSlot, runContinuousSlot, SlotMetrics, SlotStopped, type Automation, type AppliedConfig, type SlotPorts, type TaskLease } from '../../src/automation/index.ts'
import type { JsonObject } from '../../src/protocol/index.ts'
import { seededRandom, systemTime } from '../../src/runtime/index.ts'

export interface Heard { readonly method: string; readonly url: string; readonly headers: IncomingHttpHeaders; readonly body: string }

/** A server on loopback that remembers what it was asked. */
export class TestServer {
  readonly heard: Heard[] = []
  readonly #server: Server

  constructor(answer: RequestListener) {
    this.#server = createServer((request, response) => {
      let body = ''
      request.on('data', (chunk: Buffer) => (body += chunk.toString()))
      request.on('end', () => {
        this.heard.push({ method: request.method ?? '', url: request.url ?? '', headers: request.headers, body })
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

function portsOf(config: AppliedConfig, outputs: JsonObject[], errors: string[], onOutput: () => void = () => {}): { ports: SlotPorts; metrics: SlotMetrics } {
  const quiet = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} }
  const metrics = new SlotMetrics(quiet)
  const ports: SlotPorts = {
    clock: systemTime, timers: systemTime, random: seededRandom(1), log: quiet, metrics: metrics.of(0),
    primitives: { call: () => Promise.reject(new Error('not used here')), subscribe: () => { throw new Error('not used here') } },
    config: () => config,
    emit: (output) => {
      outputs.push(output)
      onOutput()
    },
    onError: (message) => void (message !== null && errors.push(message)),
    span: (_name, _attributes, inside) => inside(),
  }
  return { ports, metrics }
}

function entryOf(automation: Automation) {
  const entry = buildCatalog([automation]).get(automation.type)
  if (entry === undefined) throw new Error('the catalog lost its only entry')
  return entry
}

/** A config as the master would hand it out. @throws Error when the schema refuses it. */
function applied(automation: Automation, config: object): AppliedConfig {
  const entry = entryOf(automation)
  const whole = { ...entry.defaults, ...config }
  const faults = entry.validateConfig(whole)
  if (faults.length > 0) throw new Error(faults.map(({ path, message }) => `${path} ${message}`).join('; '))
  return Object.freeze(whole)
}

export type Outcome = { readonly how: 'acked' } | { readonly how: 'nacked'; readonly error: string; readonly retryInMs?: number; readonly permanent?: boolean } | { readonly how: 'released' }

/** Runs one task through the real runner. */
export async function runTask(automation: Automation, config: object, payload: JsonObject, id = 'task-1'): Promise<{ outcome: Outcome; outputs: JsonObject[] }> {
  const outputs: JsonObject[] = []
  const stopping = new AbortController()
  const whole = applied(automation, config)
  let outcome: Outcome | undefined
  const settle = (how: Outcome): void => {
    outcome ??= how
    stopping.abort(new SlotStopped('drain'))
  }
  const lease: TaskLease = {
    id, payload, attempt: 0, config: whole, signal: new AbortController().signal, isLost: false, interrupt: () => {},
    extend: () => Promise.resolve(), ack: () => settle({ how: 'acked' }), nack: (error, options = {}) => settle({ how: 'nacked', error, ...options }), release: () => settle({ how: 'released' }),
  }
  const control = { workerId: 'w', slotId: 0, stopping: stopping.signal, killed: new AbortController().signal }
  await runBatchSlot(entryOf(automation), control, { take: () => Promise.resolve(lease) }, portsOf(whole, outputs, []).ports)
  if (outcome === undefined) throw new Error('the task was not settled')
  return { outcome, outputs }
}

/** Runs a continuous automation until it has emitted `count` outputs. */
export async function runUntilOutputs(automation: Automation, config: object, count: number): Promise<{ outputs: JsonObject[]; metrics: SlotMetrics; errors: string[] }> {
  const outputs: JsonObject[] = []
  const errors: string[] = []
  const stopping = new AbortController()
  const whole = applied(automation, config)
  const { ports, metrics } = portsOf(whole, outputs, errors, () => {
    if (outputs.length === count) stopping.abort(new SlotStopped('drain'))
  })
  await runContinuousSlot(entryOf(automation), { workerId: 'w', slotId: 0, stopping: stopping.signal, killed: new AbortController().signal }, ports)
  return { outputs, metrics, errors }
}
