/** @module automation/testing/batch  Runs a batch automation until its tasks are done. */
import { toMs } from '../../protocol/index.ts'
import { runBatchSlot, type BatchAutomation, type Pools } from '../index.ts'
import { Harness } from './harness.ts'
import type { BatchHandle, BatchOptions, BatchRun } from './options.ts'
import { LocalTasks } from './tasks.ts'
import { checkedCall, checkedSeconds } from './usage.ts'

/** One hour: three attempts with the longest backoff take ten minutes. */
const MAX_VIRTUAL_SECONDS = 3_600

/**
 * Runs the tasks as a worker would, without a master or a network, on virtual time. Retries, backoff and visibility
 * timeouts take no real time. Ends when every task is acked or dead and the script has ended.
 * @param automation The result of {@link defineBatch}.
 * @param options Tasks, config, seeds and script; see {@link BatchOptions}.
 * @returns What the runs did and left in the store. Failed tasks are results, not errors.
 * @throws {RunError} when the automation violates a rule, would never end, or the options are invalid.
 * @throws {AutomationError} when a schema of the automation does not compile.
 */
export async function runBatch<C, O, T, P extends Pools>(
  automation: BatchAutomation<C, O, T, P>,
  options: BatchOptions<C, T, P>,
): Promise<BatchRun<O>> {
  const faults = checkedCall('BatchAutomation', automation, options, ['tasks', 'maxVirtualSeconds'])
  const {
    tasks: seeds,
    maxVirtualSeconds = MAX_VIRTUAL_SECONDS,
    script = {},
  } = Object(options) as Partial<BatchOptions<C, T, P>>
  if (!Array.isArray(seeds)) throw faults.usage('tasks: must be an array of { payload }')
  checkedSeconds(faults, 'maxVirtualSeconds', maxVirtualSeconds)
  const harness = new Harness(automation, options, faults)
  const tasks = new LocalTasks({ ...partsOf(harness), onChange: harness.nudge })
  await harness.prepare()
  await tasks.submit(seeds)
  harness.follow(script, handleOf(harness, tasks))
  harness.time.after(
    toMs(maxVirtualSeconds),
    () =>
      void harness.act(async () => {
        const left = await tasks.describeUnfinished()
        const unfinished =
          left.length === 0 ? 'the script or a slot is still running' : `not every task is done: ${left.join('; ')}`
        harness.fail(
          faults.stuck(`after ${maxVirtualSeconds} virtual seconds ${unfinished}; ${harness.describeRuns()}`),
        )
      }),
  )
  await harness.play({
    run: (control, ports) => runBatchSlot(harness.entry, control, tasks.sourceOf(control.slotId), ports),
    isDone: () => tasks.areDone,
    isSettled: () => tasks.areSettled,
  })
  const dead = await tasks.dead()
  const { attempts, acked, left } = tasks
  return { ...(await harness.result<O>()), attempts, acked, dead, left }
}

function partsOf({ entry, backend, config, workerId, time, random, link, faults }: Harness) {
  return { entry, backend, config, workerId, time, random, link, faults }
}

function handleOf(harness: Harness, tasks: LocalTasks): BatchHandle<object, object> {
  return {
    ...harness.handle(),
    submit: (seeds) => harness.act(() => tasks.submit(seeds)),
    loseLease: (id) => harness.act(() => tasks.loseLease(id)),
  }
}
