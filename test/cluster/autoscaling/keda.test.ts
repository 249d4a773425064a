/**
 * Tests autoscaling on a real cluster: KEDA scales a FleetWorkerSet from 0 to 8 pods and back while tasks run, the
 * operator removes only pods whose workers hold no task, and a stopped master removes none. Then the same by a
 * HorizontalPodAutoscaler alone, and with `scaleIn: Plain`, whose interruptions are printed. The steps depend on one
 * another. `SOAK=1`: 2,000 tasks in 20 rounds, and a master that is stopped for 5 minutes.
 */
import { randomBytes } from 'node:crypto'
import { afterAll, beforeAll, describe, expect } from '@jest/globals'
import { eventually } from '../../kit/index.ts'
import { chain, withOption } from '../cluster.ts'
import { ExternalMetrics } from './external-metrics.ts'
import { installKeda, removeKeda } from './keda.ts'
import { ScaledRelease, TYPE, valuesOf, WORKLOAD } from './scaled-release.ts'
import { described, Rounds, tasksOf, type Round } from './rounds.ts'

const IS_LONG = process.env['SOAK'] === '1'
const ROUNDS = IS_LONG ? 20 : 2
const TASKS = 100
const MOST_PODS = 8
const FIRST_WITHIN_MS = 15_000
const STOPPED_MS = IS_LONG ? 300_000 : 60_000
const STEP_MS = 600_000
const ROUND_MS = 300_000
const SCALING = `workers.timed.autoscaling`

withOption('keda', 'autoscaling', () => {
  describe('autoscaling', () => {
    const release = new ScaledRelease(`scaled-${randomBytes(3).toString('hex')}`)
    const figures: string[] = []
    const step = chain('autoscaling', STEP_MS)
    let rounds: Rounds

    const round = async (name: string): Promise<Round> => {
      const done = await rounds.run(tasksOf(name, TASKS, figures.length + 1))
      figures.push(described(name, done))
      return done
    }
    /** Each task ran once and to its end, and no worker was interrupted. */
    const expectUninterrupted = async (done: readonly Round[]): Promise<void> => {
      const events = [...done.flatMap((each) => each.events), ...(await release.leftOver())]
      for (const isEnd of [false, true]) {
        const ids = events.filter((event) => event.is_end === isEnd).map((event) => event.task_id)
        expect([ids.length, new Set(ids).size]).toEqual([done.length * TASKS, done.length * TASKS])
      }
      expect(events.filter(({ attempt }) => attempt > 0)).toEqual([])
      const submitted = done.length * TASKS
      await eventually('the totals are sampled', async () => (await release.totals(TYPE)).acked === submitted)
      expect(await release.totals(TYPE)).toMatchObject({ submitted, acked: submitted, nacked: 0, died: 0 })
      expect(await Promise.all([release.released(), release.lostLeases(), release.dead(TYPE)])).toEqual([0, 0, 0])
      expect(rounds.interrupted).toEqual([])
    }

    beforeAll(async () => {
      await installKeda()
      await release.install(valuesOf('test/cluster/autoscaling/values.yaml'))
      rounds = new Rounds(release)
    }, STEP_MS)

    afterAll(async () => {
      console.log(figures.join('\n'))
      rounds?.close()
      await release.remove()
      await removeKeda()
    }, STEP_MS)

    step('scales an idle set to 0, which begins without a number', async () => {
      await rounds.scaledToZero()
    })

    step(
      'runs every task once, from 0 pods to the most and back, and removes no pod that holds a task',
      async () => {
        const done: Round[] = []
        for (let n = 1; n <= ROUNDS; n += 1) done.push(await round(`keda-${n}`))
        figures.push(`KEDA: ${done.length * TASKS} tasks, ${rounds.removed} pods removed`)
        await expectUninterrupted(done)
        expect(Math.max(...done.map(({ largest }) => largest))).toBe(MOST_PODS)
        expect(Math.max(...done.map(({ firstMs }) => firstMs))).toBeLessThan(FIRST_WITHIN_MS)
      },
      ROUNDS * ROUND_MS,
    )

    step(
      'keeps the pods while the master does not respond',
      async () => {
        await release.submit(tasksOf('stopped', TASKS, 0))
        await eventually('there are several pods', async () => rounds.podCount > 2, { withinMs: 60_000 })
        const scaleMaster = (count: number): Promise<string> =>
          release.place.kubectl('scale', 'deployment/muster-master', `--replicas=${count}`)
        const before = await release.replicas()
        await scaleMaster(0)
        const lowest = await rounds.lowestReplicas(STOPPED_MS)
        figures.push(`master stopped for ${STOPPED_MS / 1_000} s: ${before} pods before, never below ${lowest}`)
        expect(lowest).toBeGreaterThanOrEqual(before)
        await scaleMaster(1)
        await release.place.kubectl('rollout', 'status', 'deployment/muster-master', '--timeout=60s')
        await release.runs(TASKS, ROUND_MS)
        await rounds.scaledToZero()
      },
      STOPPED_MS + ROUND_MS * 2,
    )

    step('with scaleIn: Plain interrupts tasks, which other workers run again', async () => {
      await release.stopScaling()
      await release.upgrade([`--set=${SCALING}.scaleIn=Plain`, '--set=workers.timed.drainTimeoutSeconds=1'])
      await rounds.scaledToZero()
      const before = rounds.interrupted.length
      const done = await round('plain')
      const begun = done.events.filter((event) => !event.is_end).length
      const pods = rounds.interrupted.length - before
      figures.push(`Plain: ${pods} pods removed while they held tasks, ${begun - TASKS} runs interrupted`)
      expect(await release.dead(TYPE)).toBe(0)
    })

    step('by a HorizontalPodAutoscaler and an External metric, between 1 pod and the most', async () => {
      await release.upgrade([`--set=${SCALING}.type=hpa`, `--set=${SCALING}.minReplicas=1`])
      await removeKeda()
      const metrics = await ExternalMetrics.start(release)
      try {
        const interrupted = rounds.interrupted.length
        const tasks = tasksOf('hpa', TASKS, 7)
        await release.place.kubectl('scale', 'fleetworkerset', WORKLOAD, '--replicas=1') // It never leaves 0.
        await release.submit(tasks)
        await eventually('there are several pods', async () => rounds.podCount > 4, { withinMs: 120_000 })
        const events = await release.runs(TASKS, ROUND_MS)
        expect(events.filter((event) => event.is_end)).toHaveLength(TASKS)
        await eventually('one pod is left', async () => rounds.podCount === 1, { withinMs: ROUND_MS })
        figures.push(`HPA: ${TASKS} tasks, 1 → many → 1 pods of ${WORKLOAD}`)
        expect(rounds.interrupted.length).toBe(interrupted)
      } finally {
        await metrics.stop()
      }
    })
  })
})
