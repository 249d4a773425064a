/** @module master/auth/actor  Names the author of a change: the role of the token and the name that the caller sent. */
import { invalid, MAX_ACTOR_CHARS } from '../../protocol/index.ts'
import type { Principal } from './principal.ts'

const PRINTABLE = /^[\x20-\x7e]+$/

/**
 * The author of a change, such as `admin cli:ada` (D39).
 *
 * @param stated The `Muster-Actor` header.
 * @throws {FleetError} INVALID
 */
export function actorOf({ role }: Principal, stated: string | undefined): string {
  if (stated === undefined) return role
  if (stated.length > MAX_ACTOR_CHARS || !PRINTABLE.test(stated)) {
    throw invalid('/headers/Muster-Actor', `must be 1 to ${MAX_ACTOR_CHARS} printable ASCII characters`, 'format', {})
  }
  return `${role} ${stated}`
}
