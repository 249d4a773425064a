/**
 * Rules of `spec.rollout.stages` and `spec.rollout.gates`, in the form of schema.apiserver.test.ts: the name; an
 * accepted rollout; a rejected one; the message of the rejection.
 */
type Json = Record<string, unknown>

const stage = (more: Json): Json => ({ stages: [{ workers: 1, ...more }] })
const stages = (count: number): Json => ({ stages: Array.from({ length: count }, () => ({ workers: 1 })) })
const gates = (more: Json): Json => ({ gates: more })
const failureRate = (more: Json): Json => gates({ failureRate: more })
const runSeconds = (more: Json): Json => gates({ runSeconds: { quantile: 'p95', maxRatio: '1.3', ...more } })
const counter = (more: Json): Json => gates({ counters: [{ name: 'a', maxRatio: '1.5', ...more }] })
const counters = (names: readonly string[]): Json => gates({ counters: names.map((name) => ({ name, maxRatio: '1' })) })
const letters = (count: number): readonly string[] => 'abcdefghi'.slice(0, count).split('')

export const ROLLOUT_RULES: readonly (readonly [string, Json, Json, RegExp])[] = [
  ['stages: 10', stages(10), stages(11), /rollout\.stages: Too many/],
  ['stages: none', stages(0), { stages: [{}] }, /stages\[0\]\.workers/],
  ['stages: percent', stage({ workers: '100%' }), stage({ workers: '0%' }), /stages\[0\]\.workers/],
  ['stages: number', stage({ workers: 1_000_000 }), stage({ workers: 0 }), /stages\[0\]\.workers/],
  ['stages: bakeSeconds', stage({ bakeSeconds: 86_400 }), stage({ bakeSeconds: 86_401 }), /bakeSeconds/],
  ['stages: approval', stage({ approval: 'Manual' }), stage({ approval: 'manual' }), /approval/],
  ['spreadLabel', { spreadLabel: 'example.com/zone' }, { spreadLabel: 'Zone' }, /spreadLabel/],
  ['onFailure', { onFailure: 'Pause' }, { onFailure: 'pause' }, /onFailure/],
  ['onInconclusive', { onInconclusive: 'Continue' }, { onInconclusive: 'Fail' }, /onInconclusive/],
  ['minRuns: least', gates({ minRuns: 0 }), gates({ minRuns: -1 }), /gates\.minRuns/],
  ['minRuns: greatest', gates({ minRuns: 1_000_000 }), gates({ minRuns: 1_000_001 }), /gates\.minRuns/],
  ['errors', gates({ errors: { max: '100%' } }), gates({ errors: { max: '0%' } }), /gates\.errors\.max/],
  ['failureRate: max', failureRate({ max: '1' }), failureRate({ max: '1.0001' }), /a failure rate is a share from 0/],
  ['failureRate: share', failureRate({ maxIncrease: '0' }), failureRate({ maxIncrease: '2' }), /a failure rate is/],
  ['failureRate: decimals', failureRate({ max: '0.0001' }), failureRate({ max: '0.00001' }), /failureRate\.max/],
  ['failureRate: notation', failureRate({ max: '0.1' }), failureRate({ max: '1e-1' }), /failureRate\.max/],
  ['runSeconds: quantile', runSeconds({ quantile: 'p50' }), runSeconds({ quantile: 'p75' }), /quantile/],
  ['runSeconds: ratio', runSeconds({ maxRatio: '1' }), runSeconds({ maxRatio: '0.3' }), /a ratio is at least 1/],
  ['runSeconds: both fields', runSeconds({}), gates({ runSeconds: { quantile: 'p95' } }), /runSeconds\.maxRatio/],
  ['counters: 8', counters(letters(8)), counters(letters(9)), /gates\.counters: Too many/],
  ['counters: a name once', counters(['a', 'b']), counters(['a', 'a']), /Duplicate value/],
  ['counters: length', counter({ name: 'x'.repeat(56) }), counter({ name: 'x'.repeat(57) }), /counters\[0\]\.name/],
  ['counters: characters', counter({ name: 'a b~' }), counter({ name: 'ä' }), /counters\[0\]\.name/],
  ['counters: ratio', counter({ maxRatio: '999999.9999' }), counter({ maxRatio: '0.9' }), /a ratio is at least 1/],
]
