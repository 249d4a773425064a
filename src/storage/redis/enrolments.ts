/**
 * @module storage/redis/enrolments
 * The `enrolments` of the contract. The rules lie beside the registry, so that a register compares their version in the
 * step that creates a record (workers-layout.ts).
 */
import { byName, type EnrolmentPutResult, type EnrolmentRule, type Enrolments } from '../index.ts'
import type { Caller } from './caller.ts'
import { keysOfType } from './keys.ts'
import { script } from './script.ts'
import { ruleOf, ruleText } from './workers-layout.ts'

const PUT = script('enrolments.put')
const REMOVE = script('enrolments.remove')
const LIST = script('enrolments.list')
/** The name of the version. */
const VERSION = ''

export function createEnrolments(caller: Caller): Enrolments {
  return {
    put: async (type, rule) => {
      const args = [rule.name, rule.revision, ruleText(rule), rule.body]
      // A repeat would return "unchanged", which means the same: the rule is stored.
      return (await caller.run(PUT, keysOfType(PUT, type), args, { repeatable: true })) as EnrolmentPutResult
    },
    remove: async (type, name) => (await caller.run(REMOVE, keysOfType(REMOVE, type), [name])) === 1,
    list: async (type) => {
      const reply = await caller.run(LIST, keysOfType(LIST, type), [], { repeatable: true })
      const [pairs, bodies] = reply as readonly [readonly string[], readonly (string | null)[]]
      const rules: EnrolmentRule[] = []
      let version = ''
      for (const [at, body] of bodies.entries()) {
        const [name = '', text = ''] = pairs.slice(2 * at, 2 * at + 2)
        if (name === VERSION) version = text
        else rules.push({ name, ...ruleOf(text), body: body ?? '' })
      }
      return { version, rules: rules.toSorted(byName) }
    },
  }
}
