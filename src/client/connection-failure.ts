/** @module client/connection-failure  Converts the error of a connection to a MasterError. */
import { MasterError } from './master-error.ts'

/** Codes of Node and undici for a connection that was never made. */
const NOT_SENT: ReadonlySet<string> = new Set([
  'ECONNREFUSED',
  'ENOTFOUND',
  'EAI_AGAIN',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'UND_ERR_CONNECT_TIMEOUT',
])

/**
 * Returns UNREACHABLE if the code shows that nothing was sent, otherwise BROKEN.
 * @param code The code of Node or undici; '' in a browser, which does not say.
 * @param message The message of the error.
 * @param cause The error.
 */
export function connectionFailure(code: string, message: string, cause: unknown): MasterError {
  if (NOT_SENT.has(code) || /CERT|TLS|SSL|UNABLE_TO_/.test(code))
    return new MasterError('UNREACHABLE', `cannot connect to the master: ${message || code}`, { cause })
  return new MasterError('BROKEN', `the connection was lost before the response was complete: ${message || code}`, {
    cause,
  })
}
