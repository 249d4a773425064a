/**
 * @module dashboard/workers/filter
 * Parses the filter of the worker list:
 *
 *   ana "two words"             text in id, type, host or last error
 *   type:mailer,probe           state:error,offline      any of several
 *   online:yes  enabled:no  behind:yes  error:yes  managed:yes  managed:mail/m-7
 *   label:zone  label:zone=eu-1,eu-2               has the label; has it with any of several values
 *   host:node-12                                    runs on one of these hosts
 *   revision:91bc02f7                              beginning of the revision of its config
 *   set:crawlers  set:prod/crawlers                its config is managed by this FleetWorkerSet
 *   cpu:>80  rss:<200  slots:0  seen:>30s               numbers; seen takes s, m, h, d
 *   -state:running              not
 *
 * Unknown filters are reported and ignored, so a typo never empties the table.
 */
import { isBehind, STATE_WORDS, stateWord } from './display-state.ts'
import { partsOf, type FilterPart } from './filter-parts.ts'
import { managerOf } from './managed.ts'
import { liveStats, type WorkerRow } from './row.ts'

type Test = (row: WorkerRow, nowSeconds: number) => boolean
export interface Filter {
  readonly matches: Test
  /** One sentence per part that could not be parsed. */
  readonly faults: readonly string[]
}

type QualifierReading =
  { readonly kind: 'test'; readonly test: Test } | { readonly kind: 'fault'; readonly fault: string }

export function parseFilter(text: string): Filter {
  const readings = partsOf(text).map(readingOf)
  const tests = readings.flatMap((each) => (each.kind === 'test' ? [each.test] : []))
  return {
    matches: (row, nowSeconds) => tests.every((test) => test(row, nowSeconds)),
    faults: readings.flatMap((each) => (each.kind === 'fault' ? [each.fault] : [])),
  }
}

function readingOf({ negated, name, value }: FilterPart): QualifierReading {
  const reading: QualifierReading = name === null ? { kind: 'test', test: textTest(value) } : qualifierOf(name, value)
  if (reading.kind === 'fault' || !negated) return reading
  return { kind: 'test', test: (row, now) => !reading.test(row, now) }
}

function qualifierOf(name: string, value: string): QualifierReading {
  const read = QUALIFIERS.get(name)
  if (read === undefined)
    return {
      kind: 'fault',
      fault:
        `Unknown filter "${name}:". Available: ${[...QUALIFIERS.keys()].join(', ')}. ` +
        'To search for the text, quote it.',
    }
  return read(value)
}

const texts = new WeakMap<WorkerRow, string>()

/** The text that words are searched in. It is cached per row object. */
function textOf(row: WorkerRow): string {
  const known = texts.get(row)
  if (known !== undefined) return known
  const {
    worker_id: id,
    automation_type: type,
    hardware: { hostname },
    last_error: error,
  } = row
  const text = `${id}\n${type}\n${hostname}\n${error ?? ''}`.toLowerCase()
  texts.set(row, text)
  return text
}

/** Reuses the cached search text if the new row has the same host name and last error. */
export function inheritText(before: WorkerRow, row: WorkerRow): void {
  const text = texts.get(before)
  if (text !== undefined && before.last_error === row.last_error && before.hardware.hostname === row.hardware.hostname)
    texts.set(row, text)
}

function textTest(value: string): Test {
  const wanted = value.toLowerCase()
  return (row) => textOf(row).includes(wanted)
}

function yesNo(name: string, holds: Test): (value: string) => QualifierReading {
  return (value) => {
    const wanted = value.toLowerCase()
    if (wanted !== 'yes' && wanted !== 'no')
      return { kind: 'fault', fault: `"${name}:" takes yes or no, not "${value}".` }
    return { kind: 'test', test: (row, now) => holds(row, now) === (wanted === 'yes') }
  }
}

function stateReading(value: string): QualifierReading {
  const wanted = wordsOf(value)
  const wrong = wanted.find((word) => !STATE_WORDS.some((each) => each.toLowerCase() === word))
  if (wanted.length === 0 || wrong !== undefined) {
    const known = STATE_WORDS.map((each) => each.toLowerCase()).join(', ')
    return { kind: 'fault', fault: `"state:" takes ${known}${wrong === undefined ? '' : `, not "${wrong}"`}.` }
  }
  const words = STATE_WORDS.filter((each) => wanted.includes(each.toLowerCase()))
  return { kind: 'test', test: (row, now) => words.includes(stateWord(row, now)) }
}

function typeReading(value: string): QualifierReading {
  const wanted = wordsOf(value)
  if (wanted.length === 0)
    return { kind: 'fault', fault: '"type:" takes automation types, for example type:mailer,probe.' }
  return { kind: 'test', test: ({ automation_type: type }) => wanted.includes(type) }
}

function hostReading(value: string): QualifierReading {
  const wanted = wordsOf(value)
  if (wanted.length === 0) return { kind: 'fault', fault: '"host:" takes host names, for example host:node-12.' }
  return { kind: 'test', test: ({ hardware: { hostname } }) => wanted.includes(hostname.toLowerCase()) }
}

function managedReading(value: string): QualifierReading {
  if (value === 'yes' || value === 'no')
    return { kind: 'test', test: ({ managed_by: by }) => (by !== null) === (value === 'yes') }
  const wanted = value.toLowerCase()
  return wanted === ''
    ? { kind: 'fault', fault: '"managed:" takes yes, no or the name of a manager.' }
    : { kind: 'test', test: ({ managed_by: by }) => by?.toLowerCase().includes(wanted) ?? false }
}

function labelReading(value: string): QualifierReading {
  const equals = value.indexOf('=')
  const key = (equals === -1 ? value : value.slice(0, equals)).toLowerCase()
  if (key === '') return { kind: 'fault', fault: '"label:" takes a label, for example label:zone=eu-1 or label:zone.' }
  const wanted = equals === -1 ? null : value.slice(equals + 1).split(',')
  return {
    kind: 'test',
    test: ({ labels = {} }) => {
      const has = Object.hasOwn(labels, key) ? labels[key] : undefined
      return has !== undefined && (wanted === null || wanted.includes(has))
    },
  }
}

function revisionReading(value: string): QualifierReading {
  const wanted = wordsOf(value)
  if (wanted.length === 0)
    return { kind: 'fault', fault: '"revision:" takes the beginning of a revision, for example revision:91bc02f7.' }
  return {
    kind: 'test',
    test: ({ config_revision: revision }) => wanted.some((each) => revision?.startsWith(each) === true),
  }
}

function setReading(value: string): QualifierReading {
  const wanted = wordsOf(value)
  if (wanted.length === 0)
    return { kind: 'fault', fault: '"set:" takes the name of a FleetWorkerSet, for example set:prod/crawlers.' }
  return {
    kind: 'test',
    test: ({ managed_by: by }) => {
      const manager = by === null ? null : managerOf(by)
      if (manager?.kind !== 'kubernetes' || manager.of !== 'FleetWorkerSet') return false
      return wanted.includes(manager.object) || wanted.includes(manager.name)
    },
  }
}

const wordsOf = (value: string): readonly string[] =>
  value
    .toLowerCase()
    .split(',')
    .filter((word) => word !== '')

function isInRange(value: number, sign: string, bound: number): boolean {
  switch (sign) {
    case '>':
      return value > bound
    case '<':
      return value < bound
    case '>=':
      return value >= bound
    case '<=':
      return value <= bound
    default:
      return value === bound
  }
}

const COMPARED = /^(?<sign>>=|<=|>|<|=)?(?<number>\d+(?:\.\d+)?)(?<unit>[a-z%]*)$/i

function number(
  name: string,
  units: Readonly<Record<string, number>>,
  valueOf: (row: WorkerRow, nowSeconds: number) => number | null,
): (value: string) => QualifierReading {
  return (value) => {
    const { sign = '=', number: digits = '', unit = '' } = COMPARED.exec(value)?.groups ?? {}
    const factor = units[unit.toLowerCase()]
    if (digits === '' || factor === undefined)
      return {
        kind: 'fault',
        fault: `"${name}:" takes a number, for example ${name}:>10${Object.keys(units)[1] ?? ''}, not "${value}".`,
      }
    const wanted = Number(digits) * factor
    return {
      kind: 'test',
      test: (row, now) => {
        const is = valueOf(row, now)
        if (is === null) return false
        return isInRange(is, sign, wanted)
      },
    }
  }
}

const wantedSlots = ({ config }: WorkerRow): number | null =>
  typeof config['slots'] === 'number' ? config['slots'] : null

const QUALIFIERS: ReadonlyMap<string, (value: string) => QualifierReading> = new Map([
  ['type', typeReading],
  ['state', stateReading],
  ['host', hostReading],
  ['online', yesNo('online', ({ connected }) => connected)],
  ['enabled', yesNo('enabled', ({ config }) => config['enabled'] === true)],
  ['managed', managedReading],
  ['label', labelReading],
  ['revision', revisionReading],
  ['set', setReading],
  ['behind', yesNo('behind', isBehind)],
  ['error', yesNo('error', ({ last_error: error }) => error !== null)],
  ['cpu', number('cpu', { '': 1, '%': 1 }, (row) => liveStats(row)?.cpu_pct ?? null)],
  ['rss', number('rss', { '': 1, mb: 1, gb: 1_024 }, (row) => liveStats(row)?.rss_mb ?? null)],
  ['slots', number('slots', { '': 1 }, (row) => liveStats(row)?.slots ?? wantedSlots(row))],
  [
    'seen',
    number('seen', { '': 1, s: 1, m: 60, min: 60, h: 3_600, d: 86_400 }, ({ last_seen: at }, now) =>
      Math.max(0, now - at),
    ),
  ],
])
