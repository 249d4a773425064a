/** Tests traces with a real OTLP receiver: a small HTTP server that decodes the exports of the SDK. */
import { afterEach, describe, expect, it } from '@jest/globals'
import { once } from 'node:events'
import { createServer, type Server } from 'node:http'
import { Fleet } from './fleet.ts'
import { eventually } from '../kit/index.ts'

interface Attribute {
  readonly key: string
  readonly value: { readonly stringValue?: string; readonly intValue?: number | string }
}
interface OtlpSpan {
  readonly name: string
  readonly attributes: readonly Attribute[]
  readonly events?: readonly { readonly name: string; readonly attributes: readonly Attribute[] }[]
  readonly status: { readonly code?: number }
}
interface Export {
  readonly resourceSpans: readonly {
    readonly resource: { readonly attributes: readonly Attribute[] }
    readonly scopeSpans: readonly { readonly spans: readonly OtlpSpan[] }[]
  }[]
}
interface Span {
  readonly service: unknown
  readonly name: string
  readonly attributes: Record<string, unknown>
  readonly exceptions: readonly Record<string, unknown>[]
  readonly failed: boolean
}

const plain = (attributes: readonly Attribute[]): Record<string, unknown> =>
  Object.fromEntries(attributes.map(({ key, value }) => [key, value.stringValue ?? Number(value.intValue)]))

/** Receives `POST /v1/traces` in the JSON encoding of OTLP. @see https://opentelemetry.io/docs/specs/otlp/#otlphttp */
class Receiver {
  readonly spans: Span[] = []
  readonly paths = new Set<string>()
  readonly #server: Server = createServer((request, response) => {
    this.paths.add(request.url ?? '')
    let body = ''
    request.on('data', (chunk: Buffer) => (body += chunk.toString()))
    request.on('end', () => {
      this.#take(JSON.parse(body) as Export)
      response.setHeader('content-type', 'application/json').end('{}')
    })
  })

  #take({ resourceSpans }: Export): void {
    for (const { resource, scopeSpans } of resourceSpans) {
      for (const { name, attributes, events = [], status } of scopeSpans.flatMap(({ spans }) => spans)) {
        const exceptions = events.filter((event) => event.name === 'exception').map((event) => plain(event.attributes))
        this.spans.push({
          service: plain(resource.attributes)['service.name'],
          name,
          attributes: plain(attributes),
          exceptions,
          failed: status.code === 2,
        })
      }
    }
  }
  async start(): Promise<this> {
    this.#server.listen(0, '127.0.0.1')
    await once(this.#server, 'listening')
    return this
  }
  get settings(): Record<string, string> {
    const { port } = this.#server.address() as { port: number }
    return {
      OTEL_EXPORTER_OTLP_ENDPOINT: `http://127.0.0.1:${port}`,
      OTEL_EXPORTER_OTLP_PROTOCOL: 'http/json',
      OTEL_BSP_SCHEDULE_DELAY: '50',
    }
  }
  named(name: string): Span[] {
    return this.spans.filter((span) => span.name === name)
  }
  async stop(): Promise<void> {
    this.#server.closeAllConnections()
    this.#server.close()
    await once(this.#server, 'close')
  }
}

const worlds: { stop(): Promise<void> }[] = []
afterEach(async () => {
  for (const part of worlds.splice(0).toReversed()) await part.stop()
})

async function fixture(): Promise<{ receiver: Receiver; fleet: Fleet }> {
  const receiver = await new Receiver().start()
  const fleet = new Fleet()
  worlds.push(receiver, fleet)
  return { receiver, fleet }
}

describe('traces', () => {
  it('are exported by master and worker with the names of the specification', async () => {
    const { receiver, fleet } = await fixture()
    await fleet.startMaster({ ...receiver.settings, OTEL_SERVICE_NAME: 'the-master' })
    fleet.startWorker('http-request', 'r-1', receiver.settings)
    fleet.startWorker('http-probe', 'p-1', { ...receiver.settings, SVC_OTEL_ENABLED: '1' })
    const port = Number(new URL(fleet.url).port)
    const allowed = { enabled: true, allow_cidrs: ['127.0.0.0/8'], allow_ports: [port] }
    await fleet.configure('http-request', 'r-1', allowed)
    await fleet.configure('http-probe', 'p-1', allowed)

    const good = await fleet.ok<{ task_id: string }>('POST', '/automations/http-request/tasks', {
      payload: { url: `${fleet.url}/healthz` },
      priority: 7,
    })
    const bad = await fleet.ok<{ task_id: string }>('POST', '/automations/http-request/tasks', {
      payload: { url: `${fleet.url}/nothing-here` },
    })
    await eventually('both runs are exported', async () => receiver.named('slot.run_one').length === 2, {
      context: () => receiver.spans.map(({ name }) => name).join(),
    })
    await fleet.configure('http-probe', 'p-1', { enabled: false })
    await eventually(
      'the end of the continuous slot is exported',
      async () => receiver.named('slot.run_continuous').length > 0,
    )

    expect([...receiver.paths]).toEqual(['/v1/traces'])
    expect(new Set(receiver.spans.map(({ name }) => name))).toEqual(
      new Set(['api.submit_task', 'slot.reserve', 'slot.run_one', 'slot.run_continuous']),
    )
    expect(receiver.named('api.submit_task')[0]).toMatchObject({
      service: 'the-master',
      attributes: { 'fleet.automation_type': 'http-request', 'fleet.task_id': good.task_id, 'fleet.priority': 7 },
    })
    const slot = { 'fleet.automation_type': 'http-request', 'fleet.worker_id': 'r-1', 'fleet.slot_id': 0 }
    expect(receiver.named('slot.reserve')[0]).toMatchObject({ service: 'muster', attributes: slot })
    const [first, second] = receiver.named('slot.run_one')
    expect(first).toMatchObject({
      attributes: { ...slot, 'fleet.task_id': good.task_id, 'fleet.attempt': 0 },
      exceptions: [],
      failed: false,
    })
    expect(second).toMatchObject({ attributes: { 'fleet.task_id': bad.task_id }, failed: true })
    expect(second?.exceptions[0]).toMatchObject({
      'exception.type': 'Permanent',
      'exception.message': `GET ${fleet.url}/nothing-here returned 401`,
    })
    expect(receiver.named('slot.run_continuous')[0]).toMatchObject({
      attributes: { 'fleet.automation_type': 'http-probe', 'fleet.worker_id': 'p-1', 'fleet.slot_id': 0 },
    })
  }, 60_000)

  it('cost one warning and no exit code when the collector is unavailable', async () => {
    const { fleet, receiver } = await fixture()
    const { settings } = receiver
    await worlds.shift()?.stop()
    const master = await fleet.startMaster({ ...settings, OTEL_EXPORTER_OTLP_TIMEOUT: '500' })
    await fleet.ok('POST', '/automations/http-request/tasks', { payload: { url: 'http://example.com/' } })
    master.child.kill('SIGTERM')
    expect(await master.exited).toBe(0)
  }, 60_000)
})
