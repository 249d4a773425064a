/**
 * @module storage/redis/declare-need
 * Records what the data of the store needs, before a call writes such data (D121). A process trusts its record for
 * 30 s, because the store may be emptied meanwhile.
 */
import type { Clock } from '../../runtime/index.ts'
import { NEEDS_MARK, type LayoutNeed } from '../index.ts'
import type { Caller } from './caller.ts'
import { metaKey } from './keys.ts'
import { script } from './script.ts'

const NEED = script('meta.need')
const TRUSTED_MS = 30_000

/** Records a need, unless this process did so in the last 30 s. Rejects as every call of the store. */
export type DeclareNeed = (need: LayoutNeed) => Promise<void>

export function createDeclareNeed(caller: Caller, clock: Pick<Clock, 'monotonicMs'>): DeclareNeed {
  const declaredAtMs = new Map<LayoutNeed, number>()
  return async (need) => {
    const sentAtMs = clock.monotonicMs()
    if (sentAtMs - (declaredAtMs.get(need) ?? -Infinity) < TRUSTED_MS) return
    await caller.run(NEED, [metaKey('info')], [need, NEEDS_MARK], { repeatable: true })
    declaredAtMs.set(need, sentAtMs)
  }
}
