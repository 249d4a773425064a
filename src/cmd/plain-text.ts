/**
 * @module cmd/plain-text
 * Warns when a token would be sent unencrypted, over http to another host. It is a warning and not an error, because
 * the network inside a cluster may be encrypted.
 */
import { isLoopbackHost } from '../runtime/index.ts'
import type { Log } from '../runtime/index.ts'

/**
 * @param masterUrl address of the master, http or https
 * @returns the warning, or `undefined` when the token is safe: https, or http to a loopback address
 */
export function plainTextWarning(masterUrl: URL): string | undefined {
  if (masterUrl.protocol !== 'http:' || isLoopbackHost(masterUrl.hostname)) return undefined
  return `the token is sent unencrypted to ${masterUrl.host}: use https, or make sure that the network is trusted`
}

/** Logs the warning of {@link plainTextWarning}, if there is one. */
export function warnOfPlainText(masterUrl: URL, log: Log): void {
  const warning = plainTextWarning(masterUrl)
  if (warning !== undefined) log.warn(warning)
}
