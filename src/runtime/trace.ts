/**
 * @module runtime/trace
 * OpenTelemetry traces, loaded only when asked for: SVC_OTEL_ENABLED=1, or any OTEL_EXPORTER_* that is not empty.
 * Otherwise the api's no-op costs some 50 ns a span. Spans are ours alone, no auto-instrumentation.
 */
import {
  context,
  isSpanContextValid,
  propagation,
  ROOT_CONTEXT,
  SpanKind,
  SpanStatusCode,
  trace,
  type Attributes,
  type Context,
  type Span,
} from '@opentelemetry/api'
import type { Log } from './log.ts'

export type { Span }

type Environment = Readonly<Record<string, string | undefined>>

/** Whether the environment asks for traces. */
export function tracingWanted(environment: Environment): boolean {
  if (environment['SVC_OTEL_ENABLED'] === '1') return true
  return Object.entries(environment).some(
    ([name, value]) => name.startsWith('OTEL_EXPORTER_') && value !== undefined && value !== '',
  )
}

export interface Tracing {
  /** Sends the remaining spans. An unreachable collector causes one warning and no failure. */
  stop(): Promise<void>
}

/** Starts the SDK. Call before anything makes a span. */
export async function startTracing(environment: NodeJS.ProcessEnv, log: Log): Promise<Tracing> {
  if (!tracingWanted(environment)) return { stop: async () => {} }
  environment['OTEL_METRICS_EXPORTER'] ??= 'none' // The SDK exports all three signals unasked.
  environment['OTEL_LOGS_EXPORTER'] ??= 'none'
  const { NodeSDK } = await import('@opentelemetry/sdk-node')
  const sdk = new NodeSDK({ serviceName: environment['OTEL_SERVICE_NAME'] ?? 'muster', instrumentations: [] })
  sdk.start()
  log.info('traces are exported', { service: environment['OTEL_SERVICE_NAME'] ?? 'muster' })
  return {
    stop: () => sdk.shutdown().catch((error: unknown) => log.warn('the last traces could not be exported', { error })),
  }
}

/** The place of a message in a trace, as the headers of W3C. */
export interface TraceHeaders {
  readonly traceparent: string
  readonly tracestate?: string | undefined
}

/**
 * Relates a span to another trace. `parent`: the span joins that trace. `link`: the span starts a trace of its own, and
 * has a link to that one.
 */
export interface SpanOrigin {
  readonly parent?: TraceHeaders | undefined
  readonly link?: TraceHeaders | undefined
}

/**
 * Runs `inside` in a span; an exception is recorded on it and thrown on. With `parent` or `link` the span produces or
 * consumes a message. A span with a link starts a trace of its own, since a task may run hours later and several times,
 * as the conventions for messaging ask.
 */
export function inSpan<T>(
  name: string,
  attributes: Attributes,
  inside: (span: Span) => Promise<T>,
  origin: SpanOrigin = {},
): Promise<T> {
  const span = startSpan(name, attributes, origin)
  // Tracing is off: there is no context to propagate and nothing to record.
  if (!isSpanContextValid(span.spanContext())) return inside(span)
  return context.with(trace.setSpan(context.active(), span), async () => {
    try {
      return await inside(span)
    } catch (error) {
      span.recordException(error instanceof Error ? error : String(error))
      span.setStatus({ code: SpanStatusCode.ERROR, message: error instanceof Error ? error.message : String(error) })
      throw error
    } finally {
      span.end()
    }
  })
}

function startSpan(name: string, attributes: Attributes, { parent, link }: SpanOrigin): Span {
  const tracer = trace.getTracer('muster')
  if (parent !== undefined) return tracer.startSpan(name, { attributes, kind: SpanKind.PRODUCER }, contextFrom(parent))
  const linked = link === undefined ? undefined : trace.getSpanContext(contextFrom(link))
  if (linked === undefined) return tracer.startSpan(name, { attributes })
  return tracer.startSpan(name, { attributes, kind: SpanKind.CONSUMER, root: true, links: [{ context: linked }] })
}

const contextFrom = (headers: TraceHeaders): Context => propagation.extract(ROOT_CONTEXT, headers)

/** Returns the headers that make other spans part of the trace of `span`; `undefined` if tracing is off. */
export function traceHeadersOf(span: Span): TraceHeaders | undefined {
  if (!isSpanContextValid(span.spanContext())) return undefined
  const headers: { traceparent?: string; tracestate?: string } = {}
  propagation.inject(trace.setSpan(ROOT_CONTEXT, span), headers)
  const { traceparent, tracestate } = headers
  return traceparent === undefined ? undefined : { traceparent, tracestate }
}
