/**
 * Runs rollouts of sets through random histories: edits, workers that join, fail, are silent or leave, acts of a
 * person, crashes before and after every call, lost responses, two operators that lead in turn, and a master that
 * loses its store. The reconcile is the real one. Checked are the guarantees I1 to I7 of world.ts, and I5 here: when
 * the faults stop, the set comes to rest, with all workers on one revision or a reason, and then writes nothing more.
 */
import { expect, it } from '@jest/globals'
import { seededRandom, type Random } from '../../../../src/runtime/index.ts'
import { labelOf, type FleetWorkerSetSpec, type Stage } from '../../../../src/operator/fleetworkerset/index.ts'
import { OperatorModel } from './operator.ts'
import { BAD, NAME, TYPE, World } from './world.ts'

const SEEDS = Number(process.env['MODEL_SEEDS'] ?? 5_000)
const STEPS = 40
const CONFIGS = [{ enabled: true, url: 'http://a' }, { enabled: true, url: 'http://b' }, BAD]
const STAGES: readonly (readonly Stage[])[] = [
  [],
  [{ workers: 1, bakeSeconds: 10 }],
  [
    { workers: 2, bakeSeconds: 0, approval: 'Manual' },
    { workers: '50%', bakeSeconds: 30 },
  ],
  [
    { workers: 1, bakeSeconds: 0 },
    { workers: '30%', bakeSeconds: 5 },
    { workers: 4, bakeSeconds: 0 },
  ],
]

const pick = <T>(random: Random, all: readonly T[]): T => all[Math.floor(random.unit() * all.length)] as T

function specOf(random: Random): FleetWorkerSetSpec {
  return {
    type: TYPE,
    selector: { idPatterns: ['*'] },
    config: pick(random, CONFIGS.slice(0, 2)),
    rollout: {
      stages: [...pick(random, STAGES)],
      maxUnavailable: '100%',
      onFailure: pick(random, ['Rollback', 'Rollback', 'Pause']),
    },
  }
}

function act(world: World): void {
  const { random } = world
  const { rollout, updateRevision = '' } = world.status
  const revision = rollout?.revision ?? updateRevision
  const attempt = rollout?.attempt ?? 1
  const choice = pick(random, ['promote', 'promote', 'all', 'abort', 'retry', 'pause', 'old'])
  if (choice === 'promote') world.annotate('promote', `${revision}/${rollout?.stage ?? 1}`)
  else if (choice === 'all') world.annotate('promote', `${revision}/all`)
  else if (choice === 'abort') world.annotate('abort', `${revision}/${attempt}`)
  else if (choice === 'retry') world.annotate('retry', `${revision}/${attempt + 1}`)
  else if (choice === 'pause') world.edit({ paused: world.spec.paused !== true })
  else world.annotate('promote', '000000000000/1')
}

function disturb(world: World): void {
  const { random } = world
  const id = pick(random, [...world.workers.keys()])
  const choice = pick(random, [
    'edit',
    'edit',
    'join',
    'act',
    'act',
    'time',
    'time',
    'off',
    'on',
    'silent',
    'drift',
    'loss',
  ])
  if (choice === 'edit') world.edit({ config: pick(random, CONFIGS) })
  else if (choice === 'join') world.join()
  else if (choice === 'act') act(world)
  else if (choice === 'time') world.nowMs += pick(random, [1_000, 10_000, 61_000])
  else if (id === undefined) world.join()
  else if (choice === 'off') world.change(id, { connected: false, last_seen: world.nowMs / 1_000 })
  else if (choice === 'on') world.change(id, { connected: true })
  else if (choice === 'drift') world.drift(id)
  else if (choice === 'silent') {
    const worker = world.workers.get(id)
    if (worker !== undefined) worker.isBroken = !worker.isBroken
  } else if (random.unit() < 0.2) world.loseStore()
  else world.remove(id)
}

/** Another writer removes the number of pods, or sets one. */
const scale = (world: World, random: Random): void =>
  world.scale(pick(random, [undefined, undefined, world.workloadReplicas + 1]))

async function run(seed: number): Promise<World> {
  const random = seededRandom(seed)
  const world = new World(random, specOf(random), 2 + Math.floor(random.unit() * 7))
  const scaling = seededRandom(seed + SEEDS)
  if (scaling.unit() < 0.3) world.edit({ workload: { kind: 'StatefulSet', name: NAME } })
  let operators = [new OperatorModel(world), new OperatorModel(world)]
  let leader = 0
  for (let step = 0; step < STEPS; step += 1) {
    if (random.unit() < 0.6) disturb(world)
    if (world.spec.workload !== undefined && scaling.unit() < 0.1) scale(world, scaling)
    if (random.unit() < 0.8) world.settle()
    const index = random.unit() < 0.85 ? 0 : 1
    const operator = operators[index] as OperatorModel
    // Who becomes the leader has read everything; a leader may be behind.
    if (index !== leader || random.unit() < 0.8) operator.sync()
    leader = index
    operator.loss = random.unit() < 0.2 ? 0.3 : 0
    if (random.unit() < 0.3) operator.crashAfter(Math.floor(random.unit() * 6), random.unit() < 0.5)
    const survives = await operator.reconcile()
    if (!survives) operators = operators.map((each, at) => (at === index ? new OperatorModel(world) : each))
  }
  await comesToRest(world)
  return world
}

/** I5. */
async function comesToRest(world: World): Promise<void> {
  for (const worker of world.workers.values()) worker.isBroken = false
  for (const id of world.workers.keys()) world.change(id, { connected: true })
  if (world.spec.paused === true) world.edit({ paused: false })
  const operator = new OperatorModel(world)
  const pass = async (): Promise<void> => {
    world.settle()
    operator.sync()
    await operator.reconcile()
    world.nowMs += 61_000
  }
  for (let n = 0; n < 60; n += 1) await pass()
  const { writes } = world
  for (let n = 0; n < 50; n += 1) await pass()
  const { replicas, workload } = world.spec
  if (workload !== undefined && replicas !== world.workloadReplicas) world.fail(`I5: replicas is ${replicas}`)
  if (world.writes !== writes) world.fail(`I5: ${world.writes - writes} writes when nothing happens`)
  const revisions = new Set([...world.workers.values()].map(({ record }) => labelOf(record.config_revision)?.revision))
  const ready = world.status.conditions?.find(({ type }) => type === 'Ready')
  const isWaiting = ['WaitingForApproval', 'GateFailed', 'Inconclusive', 'ProgressDeadlineExceeded'].includes(
    ready?.reason ?? '',
  )
  if (revisions.size > 1 && !isWaiting) world.fail(`I5: workers have ${[...revisions].join(', ')}: ${ready?.reason}`)
}

it('keeps the guarantees of rollouts in random histories', async () => {
  const ends = new Map<string, number>()
  for (let seed = 1; seed <= SEEDS; seed += 1) {
    const world = await run(seed).catch((error: unknown) => {
      throw new Error(`seed ${seed}: ${String(error)}`, { cause: error })
    })
    const reason = world.status.conditions?.find(({ type }) => type === 'Ready')?.reason ?? 'none'
    ends.set(reason, (ends.get(reason) ?? 0) + 1)
  }
  // The histories reach the ends that matter.
  for (const reason of ['Complete', 'RolledBack', 'GateFailed', 'WaitingForApproval'])
    expect(ends.get(reason) ?? 0).toBeGreaterThan(SEEDS / 200)
}, 300_000)
