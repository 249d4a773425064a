/**
 * @module client/published/fetch-transport
 * Sends requests with `fetch`, which Node, Deno, Bun and browsers have. It follows no redirect: a redirect is the
 * response of something else than a master.
 */
import { connectionFailure } from '../connection-failure.ts'
import type { Transport, TransportRequest, TransportResponse } from '../transport.ts'

/** `fetch`, or a function that behaves like it. */
export type Fetch = typeof globalThis.fetch

/**
 * Creates a transport.
 * @param origin Scheme, host and port of the master.
 * @param send The `fetch` to use.
 */
export function fetchTransport(origin: string, send: Fetch): Transport {
  const request = async ({ path, signal, ...init }: TransportRequest): Promise<TransportResponse> => {
    try {
      const response = await send(`${origin}${path}`, { ...init, signal, redirect: 'manual' })
      return {
        status: response.status,
        header: (name) => response.headers.get(name) ?? undefined,
        text: () =>
          response.text().catch((error: unknown) => {
            throw failureOf(error, signal)
          }),
        chunks: () => chunksOf(response.body, signal),
      }
    } catch (error) {
      throw failureOf(error, signal)
    }
  }
  return { send: request, sendForStream: request, close: async () => {} }
}

/** Not every browser can iterate a stream. After a garbage collection, Deno 2.9 does not abort an open one itself. */
async function* chunksOf(body: ReadableStream<Uint8Array> | null, signal: AbortSignal): AsyncGenerator<Uint8Array> {
  const reader = body?.getReader()
  const cancel = (): void => void reader?.cancel().catch(() => {}) // Of a stream that has failed already.
  signal.addEventListener('abort', cancel)
  try {
    for (let next = await reader?.read(); next?.done === false; next = await reader?.read()) yield next.value
    signal.throwIfAborted()
  } finally {
    signal.removeEventListener('abort', cancel)
    cancel()
  }
}

/** Node has the code of the socket in `cause`; a browser says only that the request failed. */
function failureOf(error: unknown, signal: AbortSignal): unknown {
  if (signal.aborted) return signal.reason
  const { cause, message } = error as { cause?: { code?: string; message?: string }; message: string }
  return connectionFailure(cause?.code ?? '', cause?.message ?? message, error)
}
