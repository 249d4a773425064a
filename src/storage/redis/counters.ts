/**
 * @module storage/redis/counters
 * The `counters` of the contract. One hash per namespace, `{c:N}:h`: name → integer, without those
 * that are 0.
 */
import { key } from './keys.ts'
import { Namespaces } from './namespaces.ts'
import { script } from './script.ts'
import type { Clock } from '../../runtime/index.ts'
import type { Caller, Reply } from './caller.ts'
import type { Counters } from '../index.ts'

const ADD = script('counters.add')
const GET = script('counters.get')
const IS_EMPTY = script('counters.is-empty')

export function createCounters(caller: Caller, clock: Clock): Counters {
  const keysOf = (namespace: string): readonly string[] => [key('c', namespace, 'h')]
  const namespaces = new Namespaces({ caller, clock, kind: 'c', what: 'counters', keysOf, isEmpty: IS_EMPTY })
  return {
    add: async (namespace, items, isOfType = false) => {
      const args = items.flatMap(({ name, delta }) => [name, delta])
      const sums = await namespaces.write(namespace, isOfType, (mark) =>
        caller.run(ADD, keysOf(namespace), [mark, ...args]),
      )
      return (sums as readonly string[]).map((sum) => (sum === '' ? 'out_of_range' : Number(sum)))
    },
    get: async (namespace, names) =>
      ((await caller.run(GET, keysOf(namespace), names, { repeatable: true })) as readonly Reply[]).map(Number),
  }
}
