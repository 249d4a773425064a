/**
 * @module operator/fleetworkerset/bounds
 * Validates a FleetWorkerSet before anything is sent: the fields that a FleetWorker has too, and those of the set. Each
 * fault is one sentence. Faults result in `ConfigInvalid`, and nothing is sent.
 *
 * Every rule of the CustomResourceDefinition is here again, because an object may be older than the rule it breaks.
 * Sizes are checked before anything whose time grows with them.
 * @see D13, D43, D136
 */
import {
  MAX_LABELS_PER_WORKER,
  MAX_WORKER_LABEL_CHARS,
  PERCENT_PATTERN,
  WORKER_LABEL_KEY_PATTERN,
  WORKER_LABEL_VALUE_PATTERN,
} from '../../protocol/index.ts'
import { configFaults, isWorkerId, slotsRangeFaults, twice, typeFaults, valueFaults } from '../config/index.ts'
import { gatesFaults } from './gates/index.ts'
import {
  ACK_TIMEOUT_SECONDS,
  APPROVALS,
  BAKE_SECONDS,
  DEFAULT_MAX_UNAVAILABLE,
  FAILURE_ACTIONS,
  INCONCLUSIVE_ACTIONS,
  MAX_STAGES,
  MAX_WORKER_COUNT,
  PROGRESS_DEADLINE_SECONDS,
  type Stage,
} from './rollout-schema.ts'
import {
  ID_PATTERN,
  MAX_FORGET_SECONDS,
  MAX_ID_PATTERNS,
  MAX_OVERRIDES,
  MAX_WORKER_ID_CHARS,
  REVISION_HISTORY_LIMIT,
  type FleetWorkerSet,
  type FleetWorkerSetSpec,
  type WorkerOverride,
} from './schema.ts'
import {
  MAX_REPLICAS,
  MAX_SCALE_IN_SECONDS,
  MAX_WORKLOAD_NAME_CHARS,
  WORKLOAD_KINDS,
  WORKLOAD_NAME_PATTERN,
} from './scale/schema.ts'

const ID = new RegExp(ID_PATTERN)
const WORKLOAD_NAME = new RegExp(WORKLOAD_NAME_PATTERN)
const PERCENT = new RegExp(PERCENT_PATTERN)
const LABEL_KEY = new RegExp(WORKER_LABEL_KEY_PATTERN)
const LABEL_VALUE = new RegExp(WORKER_LABEL_VALUE_PATTERN)

/** @returns all faults of the spec, without those of the values of sources; empty if there are none. */
export const setFaults = ({ spec }: FleetWorkerSet): readonly string[] => [
  ...typeFaults(spec.type),
  ...selectorFaults(spec.selector),
  ...configFaults(spec),
  ...overridesFaults(spec.overrides ?? []),
  ...rolloutFaults(spec.rollout ?? {}),
  ...rangeFaults(
    spec.revisionHistoryLimit ?? REVISION_HISTORY_LIMIT.default,
    REVISION_HISTORY_LIMIT,
    'spec.revisionHistoryLimit',
  ),
  ...rangeFaults(spec.forgetAfterSeconds ?? 0, { minimum: 0, maximum: MAX_FORGET_SECONDS }, 'spec.forgetAfterSeconds'),
  ...workloadFaults(spec),
]

function selectorFaults({ idPatterns, matchLabels = {} }: FleetWorkerSetSpec['selector']): readonly string[] {
  const labels = Object.entries(matchLabels)
  if ((idPatterns?.length ?? 0) === 0 && labels.length === 0)
    return ['spec.selector: give a pattern in idPatterns or a label in matchLabels']
  return [...idPatternsFaults(idPatterns ?? []), ...labelsFaults(labels)]
}

function idPatternsFaults(patterns: readonly string[]): readonly string[] {
  if (patterns.length > MAX_ID_PATTERNS)
    return [`spec.selector.idPatterns: has ${patterns.length} patterns, at most ${MAX_ID_PATTERNS} are allowed`]
  return patterns
    .filter((pattern) => pattern.length > MAX_WORKER_ID_CHARS || !ID.test(pattern))
    .map(
      (pattern) =>
        `spec.selector.idPatterns: ${quoted(pattern)} is no pattern of worker ids; ` +
        `use 1 to ${MAX_WORKER_ID_CHARS} letters, digits and . _ : @ - * ?, for example "crawler-*"`,
    )
}

function labelsFaults(labels: readonly (readonly [string, string])[]): readonly string[] {
  const at = 'spec.selector.matchLabels'
  if (labels.length > MAX_LABELS_PER_WORKER)
    return [`${at}: has ${labels.length} labels, at most ${MAX_LABELS_PER_WORKER} are allowed`]
  return labels.flatMap(([key, value]) => [
    ...(LABEL_KEY.test(key)
      ? []
      : [
          `${at}: ${quoted(key)} is no key of a label; use 1 to ${MAX_WORKER_LABEL_CHARS} lower-case letters, ` +
            'digits, ".", "/" and "-", with a letter or digit at both ends',
        ]),
    ...(value.length <= MAX_WORKER_LABEL_CHARS && LABEL_VALUE.test(value)
      ? []
      : [`${at}: the value of ${quoted(key)} must have at most ${MAX_WORKER_LABEL_CHARS} printable ASCII characters`]),
  ])
}

function overridesFaults(overrides: readonly WorkerOverride[]): readonly string[] {
  if (overrides.length > MAX_OVERRIDES)
    return [`spec.overrides: has ${overrides.length} overrides, at most ${MAX_OVERRIDES} are allowed`]
  return [
    ...overrides.flatMap(overrideFaults),
    ...twice(overrides.map(({ worker }) => worker)).map(
      (worker) => `spec.overrides: names ${quoted(worker)} twice; remove one of the two`,
    ),
  ]
}

function overrideFaults({ worker, slots, config = {} }: WorkerOverride): readonly string[] {
  const at = `spec.overrides: ${quoted(worker)}`
  return [
    ...(worker.length <= MAX_WORKER_ID_CHARS && isWorkerId(worker) ? [] : [`${at} is no id of a worker`]),
    ...valueFaults(config, `${at}: config`),
    ...(slots === undefined ? [] : slotsRangeFaults(slots, `${at}: slots`)),
    ...(slots !== undefined && (config['slots'] ?? null) !== null
      ? [`${at}: slots are also in its config; set them once`]
      : []),
  ]
}

function rolloutFaults(rollout: NonNullable<FleetWorkerSetSpec['rollout']>): readonly string[] {
  const {
    maxUnavailable = DEFAULT_MAX_UNAVAILABLE,
    ackTimeoutSeconds = ACK_TIMEOUT_SECONDS.default,
    progressDeadlineSeconds = PROGRESS_DEADLINE_SECONDS.default,
    gates = {},
    onFailure = FAILURE_ACTIONS[0],
    onInconclusive = INCONCLUSIVE_ACTIONS[0],
    spreadLabel,
  } = rollout
  const at = 'spec.rollout'
  return [
    ...countFaults(maxUnavailable, 0, `${at}.maxUnavailable`),
    ...rangeFaults(ackTimeoutSeconds, ACK_TIMEOUT_SECONDS, `${at}.ackTimeoutSeconds`),
    ...rangeFaults(progressDeadlineSeconds, PROGRESS_DEADLINE_SECONDS, `${at}.progressDeadlineSeconds`),
    ...(progressDeadlineSeconds > ackTimeoutSeconds
      ? []
      : [`${at}.progressDeadlineSeconds: must be greater than ackTimeoutSeconds`]),
    ...stagesFaults(rollout.stages ?? [], `${at}.stages`),
    ...(spreadLabel === undefined || LABEL_KEY.test(spreadLabel)
      ? []
      : [`${at}.spreadLabel: ${quoted(spreadLabel)} is no key of a label`]),
    ...wordFaults(onFailure, FAILURE_ACTIONS, `${at}.onFailure`),
    ...wordFaults(onInconclusive, INCONCLUSIVE_ACTIONS, `${at}.onInconclusive`),
    ...gatesFaults(gates),
  ]
}

function workloadFaults({ replicas, workload }: FleetWorkerSetSpec): readonly string[] {
  const range =
    replicas === undefined ? [] : rangeFaults(replicas, { minimum: 0, maximum: MAX_REPLICAS }, 'spec.replicas')
  if (workload === undefined)
    return replicas === undefined ? [] : [...range, 'spec.replicas: needs spec.workload, which says what is scaled']
  const { kind, name, scaleInTimeoutSeconds = 0 } = workload
  const at = 'spec.workload'
  return [
    ...range,
    ...(WORKLOAD_KINDS.includes(kind) ? [] : [`${at}.kind: must be one of ${WORKLOAD_KINDS.join(', ')}`]),
    ...(name.length <= MAX_WORKLOAD_NAME_CHARS && WORKLOAD_NAME.test(name)
      ? []
      : [`${at}.name: ${quoted(name)} is no name of an object`]),
    ...rangeFaults(scaleInTimeoutSeconds, { minimum: 0, maximum: MAX_SCALE_IN_SECONDS }, `${at}.scaleInTimeoutSeconds`),
  ]
}

function stagesFaults(stages: readonly Stage[], at: string): readonly string[] {
  if (stages.length > MAX_STAGES) return [`${at}: has ${stages.length} stages, at most ${MAX_STAGES} are allowed`]
  return stages.flatMap(({ approval = APPROVALS[0], bakeSeconds = BAKE_SECONDS.default, workers }, index) => [
    ...countFaults(workers, 1, `${at}[${index}].workers`),
    ...rangeFaults(bakeSeconds, BAKE_SECONDS, `${at}[${index}].bakeSeconds`),
    ...wordFaults(approval, APPROVALS, `${at}[${index}].approval`),
  ])
}

const wordFaults = (word: string, words: readonly string[], at: string): readonly string[] =>
  words.includes(word) ? [] : [`${at}: must be ${words.join(' or ')}`]

function countFaults(value: number | string, minimum: number, at: string): readonly string[] {
  const isValid =
    typeof value === 'string'
      ? PERCENT.test(value)
      : Number.isInteger(value) && value >= minimum && value <= MAX_WORKER_COUNT
  return isValid ? [] : [`${at}: must be an integer from ${minimum} to ${MAX_WORKER_COUNT}, or a percentage as "10%"`]
}

interface Range {
  readonly minimum: number
  readonly maximum: number
}

const rangeFaults = (value: number, { minimum, maximum }: Range, at: string): readonly string[] =>
  Number.isInteger(value) && value >= minimum && value <= maximum
    ? []
    : [`${at}: must be an integer from ${minimum} to ${maximum}`]

/** Quotes a name of the object, shortened: an object that is older than a bound may have a name of any length. */
const quoted = (name: string): string => JSON.stringify(name.length <= 64 ? name : `${name.slice(0, 63)}…`)
