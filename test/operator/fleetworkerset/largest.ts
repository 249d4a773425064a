/** Builds the largest status of a FleetWorkerSet that the schema permits, in ASCII. */
import { countersOf } from '../../../src/operator/fleetworkerset/gates/index.ts'
import { FleetWorkerSetStatus } from '../../../src/operator/fleetworkerset/index.ts'

/** The keywords that bound a value. */
interface Schema {
  readonly type?: string
  readonly format?: string
  readonly enum?: readonly string[]
  readonly maxLength?: number
  readonly maxItems?: number
  readonly items?: Schema
  readonly properties?: Readonly<Record<string, Schema>>
}

/** The condition Ready, which every object has from the beginning, is one of the conditions. */
export function largestStatus(): FleetWorkerSetStatus {
  const status = largest(FleetWorkerSetStatus as Schema) as FleetWorkerSetStatus
  const [first, ...others] = status.conditions ?? []
  if (first === undefined) throw new Error('a status has conditions')
  const { rollout } = status
  if (rollout === undefined) throw new Error('the largest status has a rollout')
  return {
    ...status,
    conditions: [{ ...first, type: 'Ready' }, ...others],
    // A window has the counters of the updated workers and of one other group.
    rollout: { ...rollout, window: { updated: COUNTERS, current: COUNTERS, workers: 2_147_483_647 } },
  }
}

/** Every counter that gates can compare. */
const COUNTERS = Object.fromEntries(
  countersOf({
    runSeconds: { quantile: 'p95', maxRatio: '1.3' },
    counters: Array.from({ length: 8 }, (_, n) => ({ name: `x${n}`.padEnd(56, 'x'), maxRatio: '1.3' })),
  }).map((name) => [name, Number.MAX_SAFE_INTEGER]),
)

/**
 * @param index Makes the texts of different items of a list differ.
 * @throws {Error} for a text or list without a bound.
 */
function largest(schema: Schema, index = 0): unknown {
  if (schema.enum !== undefined) return schema.enum.toSorted((a, b) => b.length - a.length)[0]
  switch (schema.type) {
    case 'object':
      return Object.fromEntries(
        Object.entries(schema.properties ?? {}).map(([name, child]) => [name, largest(child, index)]),
      )
    case 'array':
      return Array.from({ length: bound(schema.maxItems) }, (_, item) => largest(schema.items ?? {}, item))
    case 'integer':
      return schema.format === 'int64' ? Number.MAX_SAFE_INTEGER : 2_147_483_647
    case 'string':
      return schema.format === 'date-time' ? '2026-01-01T00:00:00Z' : textOf(schema, index)
    case undefined:
    default:
      throw new Error(`${String(schema.type)}: this type has no largest value`)
  }
}

/** Letters and a number, which the pattern of every text permits. */
const textOf = ({ maxLength }: Schema, index: number): string => `x${index}`.padEnd(bound(maxLength), 'x')

function bound(max: number | undefined): number {
  if (max === undefined) throw new Error('a text or list has no bound')
  return max
}
