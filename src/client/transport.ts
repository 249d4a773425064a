/**
 * @module client/transport
 * The interface between the client and the network. The operator and the command line use connections of undici, the
 * published client uses `fetch`. Everything above it, such as repetitions and timeouts, is the same for both.
 */

/** One HTTP request. */
export interface TransportRequest {
  readonly method: 'GET' | 'PUT' | 'POST' | 'PATCH' | 'DELETE'
  /** The path with the prefix of the master and the query. */
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
  readonly body?: string
  /** Aborts the request, and a response that is still being read. */
  readonly signal: AbortSignal
}

/** The head of a response, and its body, which has to be read once. */
export interface TransportResponse {
  readonly status: number
  /** Returns a header by its lower-case name; undefined if it is missing. */
  readonly header: (name: string) => string | undefined
  /** Reads the body. @returns its text. @throws {MasterError} BROKEN, or the reason of the signal. */
  readonly text: () => Promise<string>
  /** Yields the body as it arrives. */
  readonly chunks: () => AsyncIterable<Uint8Array>
}

/** Sends requests to one master. */
export interface Transport {
  /**
   * Sends one request once.
   * @returns the head of its response.
   * @throws {MasterError} UNREACHABLE if no connection was made, BROKEN if it was lost; or the reason of the signal.
   */
  readonly send: (request: TransportRequest) => Promise<TransportResponse>
  /** Like `send`, for a response that may last for hours and must not keep others waiting. @returns its head. */
  readonly sendForStream: (request: TransportRequest) => Promise<TransportResponse>
  /** Aborts all requests and closes the connections. */
  readonly close: () => Promise<void>
}
