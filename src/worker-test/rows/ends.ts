/** @module worker-test/rows/ends  Checks how a worker ends, and what it does while its master is unavailable. */
import type { Row } from '../row.ts'
import type { Trial } from '../trial.ts'

const OUTAGE_MS = 8_000
const RECONNECT_MS = 20_000
/** After a drain or SIGTERM, responses to a reserve may still be on their way. */
const LAST_RESERVE_MS = 1_500
const EXIT_MS = 10_000

async function drain(trial: Trial): Promise<void> {
  const { master } = trial
  const worker = await trial.run()
  const id = await trial.sleeping(3)
  master.send({ type: 'drain' })
  master.stopReserves()
  trial.submit({ do: 'echo', value: 'not to be run' })
  await trial.pause(LAST_RESERVE_MS)
  const reserves = trial.reserves.length
  await trial.settled(id)
  await trial.expect('the end of the process', () => worker.exitCode !== undefined, EXIT_MS)
  trial.check(trial.reserves.length === reserves, 'no reserve later than 1.5 s after the drain frame', 'a reserve')
  trial.check(
    master.outputs.some((each) => each['slept'] === 3),
    'the outputs of the last run',
    master.outputs,
  )
  trial.check(worker.exitCode === 0, 'exit code 0', `${worker.exitCode}`)
}

async function terminate(trial: Trial): Promise<void> {
  const { master } = trial
  master.config = { ...master.config, slots: 2 }
  const worker = await trial.run({ environment: { SVC_DRAIN_TIMEOUT_SECONDS: '3' } })
  const long = await trial.sleeping(60)
  const short = await trial.sleeping(1)
  const atMs = master.nowMs
  worker.terminate()
  await trial.settled(short)
  await trial.settled(long, 'tasks.release', 10_000)
  const releasedMs = (master.settles.find(({ task_id: id }) => id === long)?.atMs ?? 0) - atMs
  trial.check(releasedMs >= 2_500, 'the release after the 3 s of the drain timeout', `${Math.round(releasedMs)} ms`)
  await trial.expect('the end of the process', () => worker.exitCode !== undefined, EXIT_MS)
  trial.check(worker.exitCode === 0, 'exit code 0', `${worker.exitCode}`)
  const others = master.settles.filter(({ task_id: id }) => id === long).length
  trial.check(others === 1, `one outcome of task ${long}`, `${others}`)
}

async function outage(trial: Trial): Promise<void> {
  const { master } = trial
  const worker = await trial.run()
  const id = await trial.sleeping(3)
  const { port } = master
  master.record('kit: the master stops')
  await master.close()
  await trial.pause(OUTAGE_MS)
  trial.check(worker.exitCode === undefined, 'a worker that waits for its master', `exit code ${worker.exitCode}`)
  master.record('kit: the master starts')
  await master.start(port)
  await trial.settled(id, 'tasks.ack', RECONNECT_MS)
  await trial.expect('register on a new connection', () => master.of('register').length > 1, RECONNECT_MS)
  await trial.expect(
    'the output that the run emitted meanwhile',
    () => master.outputs.some((each) => each['slept'] === 3),
    5_000,
  )
  await trial.echo()
  const count = master.settles.filter(({ task_id: each, method }) => each === id && method !== 'tasks.ack').length
  trial.check(count === 0, `only acks of task ${id}`, `${count} other outcomes`)
}

async function restart(trial: Trial): Promise<void> {
  const { master } = trial
  const worker = await trial.run()
  const id = await trial.sleeping(60)
  await worker.kill()
  await trial.run()
  await trial.echo()
  const instances = master.of('register').flatMap(({ instance_id: each }) => each ?? [])
  trial.check(
    new Set(instances).size === instances.length,
    'another instance_id in the second process',
    instances.join(', '),
  )
  const settle = master.settles.find(({ task_id: each }) => each === id)
  trial.check(settle === undefined, 'no outcome of a task of the killed process', settle)
}

export const ENDS: readonly Row[] = [
  {
    id: 'W20',
    area: 'ends',
    level: 'must',
    seconds: 6,
    holds:
      'After a `drain` frame the running tasks finish, nothing more is reserved, the last outcomes and outputs are ' +
      'sent, and the exit code is 0.',
    check: drain,
  },
  {
    id: 'W21',
    area: 'ends',
    level: 'must',
    seconds: 6,
    holds:
      'After SIGTERM running tasks have `SVC_DRAIN_TIMEOUT_SECONDS` to finish. The others are then released, not ' +
      'nacked, and the exit code is 0.',
    check: terminate,
  },
  {
    id: 'W22',
    area: 'ends',
    level: 'must',
    seconds: 20,
    holds:
      'While the master cannot be reached, runs continue. Outcomes and outputs are delivered when it is ' +
      'back, without ' +
      'a restart of the worker.',
    check: outage,
  },
  {
    id: 'W23',
    area: 'ends',
    level: 'must',
    seconds: 4,
    holds:
      'After SIGKILL a new process under the same worker id registers with another `instance_id`, if it ' +
      'sends one, and ' +
      'works.',
    check: restart,
  },
]
