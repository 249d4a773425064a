/**
 * @module storage/redis/checked-groups
 * Wraps the groups of the backend: each method checks its arguments before it runs.
 */
import { groupsOf, runCall, type Groups } from '../index.ts'

/** @param run Runs each call, or rejects it: those that come while the backend is not open. */
export function checkedGroups(parts: Groups, run: <T>(call: () => Promise<T>) => Promise<T>): Groups {
  return groupsOf((group, method, check) => (...args) => {
    return run(() => {
      check(...args)
      return runCall(parts, { group, method, args }) as Promise<unknown>
    })
  })
}
