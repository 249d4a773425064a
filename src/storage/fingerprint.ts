/**
 * @module storage/fingerprint
 * 32 bits of a task id, kept beside each acknowledged token: repeating an ack succeeds for the task it acked, and for
 * no other (D80). FNV-1a over UTF-16 code units; never 0, which stands for "not known", as of acks by an older version.
 *
 * @see http://www.isthe.com/chongo/tech/comp/fnv/
 */
const OFFSET_BASIS = 0x811c9dc5
const PRIME = 0x01000193

export function fingerprintOf(id: string): number {
  let hash = OFFSET_BASIS
  for (let at = 0; at < id.length; at += 1) hash = Math.imul(hash ^ id.charCodeAt(at), PRIME)
  return hash >>> 0 || 1
}
