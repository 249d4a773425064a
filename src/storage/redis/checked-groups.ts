/**
 * @module storage/redis/checked-groups
 * Wraps the groups of the backend: each method checks its arguments before it runs.
 */
import { callMethod, groupsOf, type Groups } from '../index.ts'

/** @param run Runs a call, or rejects it while the backend is not open. */
export function checkedGroups(parts: Groups, run: <T>(call: () => Promise<T>) => Promise<T>): Groups {
  return groupsOf((group, method, check) => {
    const part = parts[group]
    const call = (args: readonly unknown[]): Promise<unknown> => {
      check(...args)
      return callMethod(part, method, args) as Promise<unknown>
    }
    return (...args) => run(() => call(args))
  })
}
