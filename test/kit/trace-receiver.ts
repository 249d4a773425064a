/** Receives and decodes traces of the OpenTelemetry SDK, and searches them for secrets. */
import { once } from 'node:events'
import { createServer, type Server } from 'node:http'
import { canaries } from './canary.ts'

interface Attribute {
  readonly key: string
  readonly value: { readonly stringValue?: string; readonly intValue?: number | string }
}

interface OtlpSpan {
  readonly name: string
  readonly traceId: string
  readonly spanId: string
  readonly parentSpanId?: string
  readonly links?: readonly { readonly traceId: string; readonly spanId: string }[]
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
  readonly traceId: string
  readonly spanId: string
  readonly parentSpanId: string | undefined
  readonly links: readonly { readonly traceId: string; readonly spanId: string }[]
  readonly attributes: Record<string, unknown>
  readonly exceptions: readonly Record<string, unknown>[]
  readonly failed: boolean
}

const plain = (attributes: readonly Attribute[]): Record<string, unknown> =>
  Object.fromEntries(attributes.map(({ key, value }) => [key, value.stringValue ?? Number(value.intValue)]))

/**
 * An HTTP server for `POST /v1/traces` in the JSON encoding of OTLP. The caller stops it.
 * @see https://opentelemetry.io/docs/specs/otlp/#otlphttp
 */
export class TraceReceiver {
  readonly spans: Span[] = []
  readonly paths = new Set<string>()
  readonly #server: Server = createServer((request, response) => {
    this.paths.add(request.url ?? '')
    let body = ''
    request.on('data', (chunk: Buffer) => (body += chunk.toString()))
    request.on('end', () => {
      canaries.scan('an exported span', body)
      this.#take(JSON.parse(body) as Export)
      response.setHeader('content-type', 'application/json').end('{}')
    })
  })

  #take({ resourceSpans }: Export): void {
    for (const { resource, scopeSpans } of resourceSpans) {
      for (const span of scopeSpans.flatMap(({ spans }) => spans)) {
        const { name, traceId, spanId, parentSpanId, links = [], attributes, events = [], status } = span
        const exceptions = events.filter((event) => event.name === 'exception').map((event) => plain(event.attributes))
        this.spans.push({
          service: plain(resource.attributes)['service.name'],
          name,
          traceId,
          spanId,
          parentSpanId,
          links: links.map((link) => ({ traceId: link.traceId, spanId: link.spanId })),
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
