/** @module automation/testing/usage  Checks the arguments of the harness, which may come from plain JavaScript. */
import { isAutomation, type Automation, type AutomationKind } from '../index.ts'
import { Faults } from './errors.ts'

const WORDS: Readonly<Record<AutomationKind, { readonly by: string; readonly kind: string; readonly made: string }>> = {
  BatchAutomation: { by: 'runBatch', kind: 'batch', made: 'defineBatch' },
  ContinuousAutomation: { by: 'runContinuous', kind: 'continuous', made: 'defineContinuous' },
}
const COMMON = ['config', 'slots', 'seed', 'pools', 'kv', 'counters', 'locks', 'allow', 'maxWaitSeconds', 'script']

/** @throws {RunError} `usage` for an invalid call. */
export function checkedCall(
  expected: AutomationKind,
  automation: unknown,
  options: unknown,
  own: readonly string[],
): Faults {
  const { by, kind, made } = WORDS[expected]
  if (!isAutomation(automation)) throw new Faults(by).usage(`takes what ${made} made, got ${described(automation)}`)
  const faults = new Faults(`${by} of "${automation.type}"`, (Object(options) as { allow?: readonly string[] }).allow)
  if (automation.kind !== expected)
    throw faults.usage(
      `"${automation.type}" is a ${WORDS[automation.kind].kind} automation and ${by} runs ${kind} ones; ` +
        `use ${WORDS[automation.kind].by}`,
    )
  const known = [...own, ...COMMON]
  const unknown = Object.keys(Object(options) as object).filter((name) => !known.includes(name))
  if (unknown.length > 0)
    throw faults.usage(...unknown.map((name) => `${name}: is no option; known: ${known.join(', ')}`))
  return faults
}

function described(value: unknown): string {
  if (typeof value !== 'object' || value === null) return value === null ? 'null' : `a value of type ${typeof value}`
  const found = Object.entries(value as Readonly<Record<string, unknown>>).find(
    (entry): entry is [string, Automation] => isAutomation(entry[1]),
  )
  return found === undefined
    ? 'an object that is no automation'
    : `an object that holds one, as "${found[0]}": pass that`
}

/** @returns `value` if it is a number of seconds above 0. @throws {RunError} `usage` otherwise. */
export function checkedSeconds(faults: Faults, name: string, value: unknown): number {
  if (typeof value === 'number' && value > 0 && Number.isFinite(value)) return value
  throw faults.usage(`${name}: must be a number of seconds above 0, got ${String(value)}`)
}
