/** @module dashboard/config/verdict  What of the master's verdict on one patch holds for another. */
import type { FieldError, JsonObject } from '../../protocol/index.ts'
import { sameJson } from '../parts/json-text.ts'
import { topOf } from './draft.ts'

/** The errors of fields that are in both patches alike; those of none hold for the very same patch. */
export function stillTrue(errors: readonly FieldError[], asked: JsonObject, now: JsonObject): readonly FieldError[] {
  return errors.filter(({ path }) => {
    const name = topOf(path)
    return name !== '' && (Object.hasOwn(asked, name) || Object.hasOwn(now, name))
      ? sameJson(asked[name], now[name])
      : sameJson(asked, now)
  })
}
