/**
 * @module runtime/trace
 * OpenTelemetry traces, loaded only when asked for: SVC_OTEL_ENABLED=1, or any OTEL_EXPORTER_* that is not empty.
 * Otherwise the api's no-op costs some 50 ns a span. Spans are ours alone, no auto-instrumentation.
 */
import { context, isSpanContextValid, SpanStatusCode, trace, type Attributes, type Span } from '@opentelemetry/api'
import type { Log } from './log.ts'

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

/** Runs `inside` in a span; an exception is recorded on it and thrown on. */
export function inSpan<T>(name: string, attributes: Attributes, inside: (span: Span) => Promise<T>): Promise<T> {
  const span = trace.getTracer('muster').startSpan(name, { attributes })
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
