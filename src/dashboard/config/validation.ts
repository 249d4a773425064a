/** @module dashboard/config/validation  Decides which validation errors of one patch still apply to another. */
import type { FieldError, JsonObject } from '../../protocol/index.ts'
import { sameJson } from '../components/json-text.ts'
import { topOf } from './draft.ts'

/** Keeps errors of fields whose change is the same in both patches. Other errors apply only to an identical patch. */
export function applicableErrors(
  errors: readonly FieldError[],
  validated: JsonObject,
  now: JsonObject,
): readonly FieldError[] {
  return errors.filter(({ path }) => {
    const name = topOf(path)
    return name !== '' && (Object.hasOwn(validated, name) || Object.hasOwn(now, name))
      ? sameJson(validated[name], now[name])
      : sameJson(validated, now)
  })
}
