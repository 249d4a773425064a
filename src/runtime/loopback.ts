/**
 * @module runtime/loopback
 * Decides whether a host is this machine, by its name alone: nothing is resolved.
 */

/** @param host a name or an address, IPv6 with or without brackets */
export function isLoopbackHost(host: string): boolean {
  return (
    host === 'localhost' ||
    host.endsWith('.localhost') ||
    host === '::1' ||
    host === '[::1]' ||
    /^127(?:\.\d{1,3}){3}$/.test(host)
  )
}
