/** Shrinks plans: with a predicate that knows what is needed, and in a defective copy of the product. */
import { expect, it } from '@jest/globals'
import { readControls, simulateWith } from '../controls/control.ts'
import { drawPlan, type Fault, type Plan } from './plan.ts'
import { shrink } from './shrink.ts'

const MAX_RUNS = 200
const SEED = 0x5f3a
const SIMULATE_MS = 240_000
/** At most so many faults count as a handful. */
const HANDFUL = 3

const faultsOf = (count: number): readonly Fault[] =>
  Array.from({ length: count }, (_, at) => ({ atMs: at * 1_000, kind: 'kill', target: `worker-${at}`, restartMs: 10 }))

const planOf = (faults: readonly Fault[]): Plan => ({
  ...drawPlan(SEED),
  faults,
  masters: 3,
  workers: ['short', 'long', 'steady', 'short', 'short', 'short'],
  network: { ...drawPlan(SEED).network, maxDelayMs: 500, lost: 0.04, unanswered: 0.04, busLost: 0.3 },
})

const withLimits = (fails: (plan: Plan) => boolean, maxRuns = MAX_RUNS): Parameters<typeof shrink>[1] => ({
  fails: async (plan) => fails(plan),
  maxRuns,
  isOver: () => false,
})

it('keeps the two faults of twenty that only fail together, and as few processes as they need', async () => {
  const faults = faultsOf(20)
  const [first, second] = [faults[4], faults[13]]
  const fails = (plan: Plan): boolean =>
    plan.faults.includes(first as Fault) && plan.faults.includes(second as Fault) && plan.workers.length >= 2
  const { plan, runs } = await shrink(planOf(faults), withLimits(fails))
  expect(plan).toMatchObject({ faults: [first, second], masters: 1, workers: ['short', 'long'], calmMs: 0 })
  expect(plan.network).toMatchObject({ lost: 0, unanswered: 0, busLost: 0 })
  expect(runs).toBeLessThanOrEqual(MAX_RUNS)
})

it('declares no worker that a smaller plan lacks', async () => {
  const ran: Plan[] = []
  const fails = (plan: Plan): boolean => ran.push(plan) > 0 && plan.declared >= 2
  const { plan } = await shrink({ ...planOf([]), operators: 2, declared: 3 }, withLimits(fails))
  expect(plan).toMatchObject({ workers: ['short', 'long'], declared: 2, operators: 1 })
  expect(ran.filter(({ declared, workers }) => declared > workers.length)).toEqual([])
})

it('runs at most the given number of plans, and returns one that fails', async () => {
  let ran = 0
  const isEven = (plan: Plan): boolean => (ran += 1) > 0 && plan.faults.length % 2 === 0
  const { plan, runs } = await shrink(planOf(faultsOf(40)), withLimits(isEven, 10))
  expect([ran, runs]).toEqual([10, 10])
  expect(plan.faults.length % 2).toBe(0)
})

it(
  'shrinks a plan of a store that reuses tokens after a restart to a handful of faults',
  async () => {
    const control = (await readControls()).find(({ name }) => name === 'tokens-restart')
    if (control === undefined) throw new Error('the control is missing')
    const { base, count } = control.seeds
    const args = ['--base', String(base), '--seeds', String(count), '--until', control.invariant, '--shrink']
    const { violation, shrunk } = await simulateWith(control, args)
    expect(violation?.invariant).toBe(control.invariant)
    expect(shrunk?.plan.faults.length).toBeLessThanOrEqual(HANDFUL)
    expect(shrunk?.plan.faults.map(({ kind }) => kind)).toContain('store_restart')
  },
  SIMULATE_MS,
)
