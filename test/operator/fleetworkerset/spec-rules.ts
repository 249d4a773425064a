/** Rules of the spec of a FleetWorkerSet. schema.apiserver.test.ts tries each on an API server. */
import { ROLLOUT_RULES } from './rollout-rules.ts'

type Json = Record<string, unknown>

export const secretSource = (field: string): Json => ({ field, secretKeyRef: { name: 's', key: 'k' } })
const labels = (count: number): Json => ({
  matchLabels: Object.fromEntries(Array.from({ length: count }, (_, index) => [`k${index}`, 'v'])),
})
const patterns = (count: number): Json => ({ idPatterns: Array.from({ length: count }, (_, index) => `a-${index}-*`) })
const override = (more: Json): Json => ({ overrides: [{ worker: 'w-0', ...more }] })
const overrides = (count: number): Json => ({
  overrides: Array.from({ length: count }, (_, index) => ({ worker: `w-${index}` })),
})
const rollout = (more: Json): Json => ({ rollout: more })
export const workload = (more: Json = {}): Json => ({ workload: { kind: 'StatefulSet', name: 'w', ...more } })

/**
 * Name of the rule; an accepted spec; a rejected one; the message of the rejection. `type` and `selector` are added if
 * they are missing.
 */
export const RULES: readonly (readonly [string, Json, Json, RegExp])[] = [
  ['type: pattern', { type: 'http-probe' }, { type: 'Http' }, /spec\.type/],
  ['type: required', { type: 'a' }, { type: null }, /spec\.type/],
  ['selector: required', { selector: { idPatterns: ['*'] } }, { selector: null }, /spec\.selector/],
  [
    'selector: a pattern or a label',
    { selector: labels(1) },
    { selector: {} },
    /give a pattern in idPatterns or a label/,
  ],
  [
    'selector: no label',
    { selector: { idPatterns: ['a'], matchLabels: {} } },
    { selector: labels(0) },
    /give a pattern/,
  ],
  ['idPatterns: one', { selector: patterns(1) }, { selector: { idPatterns: [] } }, /spec\.selector\.idPatterns/],
  ['idPatterns: 16', { selector: patterns(16) }, { selector: patterns(17) }, /spec\.selector\.idPatterns: Too many/],
  [
    'idPatterns: characters',
    { selector: { idPatterns: ['A-z_0.9:?@*', '*'] } },
    { selector: { idPatterns: ['a/b'] } },
    /spec\.selector\.idPatterns\[0\]/,
  ],
  ['idPatterns: not empty', { selector: { idPatterns: ['?'] } }, { selector: { idPatterns: [''] } }, /idPatterns\[0\]/],
  [
    'idPatterns: length',
    { selector: { idPatterns: ['a'.repeat(253)] } },
    { selector: { idPatterns: ['a'.repeat(254)] } },
    /idPatterns\[0\]: Too long/,
  ],
  [
    'idPatterns: a set',
    { selector: { idPatterns: ['a', 'b'] } },
    { selector: { idPatterns: ['a', 'a'] } },
    /Duplicate value/,
  ],
  ['matchLabels: 16', { selector: labels(16) }, { selector: labels(17) }, /spec\.selector\.matchLabels: Too many/],
  [
    'matchLabels: keys',
    { selector: { matchLabels: { 'example.com/a-0': 'x' } } },
    { selector: { matchLabels: { Zone: 'x' } } },
    /a key has 1 to 63 lower-case letters/,
  ],
  [
    'matchLabels: length of keys',
    { selector: { matchLabels: { ['a'.repeat(63)]: 'x' } } },
    { selector: { matchLabels: { ['a'.repeat(64)]: 'x' } } },
    /a key has 1 to 63 lower-case letters/,
  ],
  [
    'matchLabels: values',
    { selector: { matchLabels: { a: ' ~', b: '' } } },
    { selector: { matchLabels: { a: 'ä' } } },
    /spec\.selector\.matchLabels\.a/,
  ],
  [
    'matchLabels: length of values',
    { selector: { matchLabels: { a: 'x'.repeat(63) } } },
    { selector: { matchLabels: { a: 'x'.repeat(64) } } },
    /spec\.selector\.matchLabels\.a: Too long/,
  ],
  ['config: an object', { config: {} }, { config: 'x' }, /spec\.config/],
  ['config.slots', { config: { slots: 1024 } }, { config: { slots: 1025 } }, /spec\.config\.slots/],
  [
    'configFrom: one of two references',
    { configFrom: [secretSource('a')] },
    { configFrom: [{ field: 'a' }] },
    /name one of secretKeyRef and configMapKeyRef/,
  ],
  [
    'configFrom: forbidden names',
    { configFrom: [secretSource('constructor_')] },
    { configFrom: [secretSource('constructor')] },
    /not allowed in a config/,
  ],
  ['slots: range', { slots: 0 }, { slots: 1025 }, /spec\.slots/],
  [
    'replicas: only with workload',
    { replicas: 3, ...workload() },
    { replicas: 3 },
    /replicas needs workload, the StatefulSet or Deployment/,
  ],
  ['replicas: range', { replicas: 50_000, ...workload() }, { replicas: 50_001, ...workload() }, /spec\.replicas/],
  ['replicas: not negative', { replicas: 0, ...workload() }, { replicas: -1, ...workload() }, /spec\.replicas/],
  ['workload: kind', workload({ kind: 'Deployment' }), workload({ kind: 'DaemonSet' }), /spec\.workload\.kind/],
  ['workload: name', workload({ name: 'a.b-0' }), workload({ name: 'A' }), /spec\.workload\.name/],
  ['workload: a name', workload(), { workload: { kind: 'StatefulSet' } }, /spec\.workload\.name/],
  [
    'workload: timeout',
    workload({ scaleInTimeoutSeconds: 604_800 }),
    workload({ scaleInTimeoutSeconds: 604_801 }),
    /scaleInTimeoutSeconds/,
  ],
  [
    'slots: not in config too',
    { slots: 2, config: { enabled: true } },
    { slots: 2, config: { slots: 2 } },
    /set slots once, in spec\.slots or in spec\.config/,
  ],
  [
    'slots: not in configFrom too',
    { slots: 2, configFrom: [secretSource('a')] },
    { slots: 2, configFrom: [secretSource('slots')] },
    /set slots once, in spec\.slots or in spec\.configFrom/,
  ],
  ['overrides: 32', overrides(32), overrides(33), /spec\.overrides: Too many/],
  ['overrides: ids', override({ worker: 'a:b@c_d.e' }), override({ worker: 'a-*' }), /spec\.overrides\[0\]\.worker/],
  ['overrides: worker required', override({}), override({ worker: null }), /spec\.overrides\[0\]\.worker/],
  [
    'overrides: a worker once',
    overrides(2),
    { overrides: [{ worker: 'w-0' }, { worker: 'w-0', slots: 1 }] },
    /Duplicate value/,
  ],
  ['overrides: slots', override({ slots: 1024 }), override({ slots: 1025 }), /spec\.overrides\[0\]\.slots/],
  [
    'overrides: slots once',
    { slots: 1, ...override({ slots: 2, config: { depth: 1 } }) },
    override({ slots: 2, config: { slots: 2 } }),
    /set slots once, in slots or in config/,
  ],
  [
    'overrides: config',
    override({ config: { enabled: false } }),
    override({ config: { enabled: 'no' } }),
    /spec\.overrides\[0\]\.config\.enabled/,
  ],
  ['managementPolicy', { managementPolicy: 'Warn' }, { managementPolicy: 'warn' }, /spec\.managementPolicy/],
  ['deletionPolicy', { deletionPolicy: 'Deregister' }, { deletionPolicy: 'Delete' }, /spec\.deletionPolicy/],
  [
    'ignoreDifferences: pointers',
    { ignoreDifferences: ['/a/b~1c/0'] },
    { ignoreDifferences: ['a'] },
    /spec\.ignoreDifferences\[0\]/,
  ],
  ['suspend', { suspend: true }, { suspend: 'yes' }, /spec\.suspend/],
  ['maxUnavailable: percent', rollout({ maxUnavailable: '1%' }), rollout({ maxUnavailable: '0%' }), /maxUnavailable/],
  ['maxUnavailable: 100%', rollout({ maxUnavailable: '100%' }), rollout({ maxUnavailable: '101%' }), /maxUnavailable/],
  ['maxUnavailable: text', rollout({ maxUnavailable: '99%' }), rollout({ maxUnavailable: '5' }), /maxUnavailable/],
  ['maxUnavailable: integer', rollout({ maxUnavailable: 0 }), rollout({ maxUnavailable: -1 }), /maxUnavailable/],
  [
    'maxUnavailable: greatest',
    rollout({ maxUnavailable: 1_000_000 }),
    rollout({ maxUnavailable: 1_000_001 }),
    /maxUnavailable/,
  ],
  ['maxUnavailable: whole', rollout({ maxUnavailable: 3 }), rollout({ maxUnavailable: 1.5 }), /maxUnavailable/],
  [
    'ackTimeoutSeconds: least',
    rollout({ ackTimeoutSeconds: 35 }),
    rollout({ ackTimeoutSeconds: 34 }),
    /ackTimeoutSeconds/,
  ],
  [
    'ackTimeoutSeconds: greatest',
    rollout({ ackTimeoutSeconds: 3_600, progressDeadlineSeconds: 3_601 }),
    rollout({ ackTimeoutSeconds: 3_601, progressDeadlineSeconds: 3_602 }),
    /ackTimeoutSeconds/,
  ],
  [
    'progressDeadlineSeconds: above ackTimeoutSeconds',
    rollout({ progressDeadlineSeconds: 61 }),
    rollout({ progressDeadlineSeconds: 60 }),
    /progressDeadlineSeconds must be greater than ackTimeoutSeconds/,
  ],
  [
    'progressDeadlineSeconds: greatest',
    rollout({ progressDeadlineSeconds: 86_400 }),
    rollout({ progressDeadlineSeconds: 86_401 }),
    /progressDeadlineSeconds/,
  ],
  ...ROLLOUT_RULES.map(
    ([name, accepted, rejected, message]) => [name, rollout(accepted), rollout(rejected), message] as const,
  ),
  ['revisionHistoryLimit', { revisionHistoryLimit: 32 }, { revisionHistoryLimit: 33 }, /spec\.revisionHistoryLimit/],
  [
    'forgetAfterSeconds',
    { forgetAfterSeconds: 31_536_000 },
    { forgetAfterSeconds: 31_536_001 },
    /spec\.forgetAfterSeconds/,
  ],
]
