/** @module worker-test/rows/tolerance  Checks that a worker ignores what a newer master adds. */
import type { Row } from '../row.ts'
import type { Trial } from '../trial.ts'

async function unknownFrames(trial: Trial): Promise<void> {
  const { master } = trial
  const worker = await trial.run()
  master.send({ type: 'a_later_release', count: 1, list: [{}] })
  master.send({ type: 'config_changed', config_gen: 1, a_later_field: true })
  await trial.pause(500)
  await trial.echo()
  trial.check(worker.exitCode === undefined, 'a running worker', `exit code ${worker.exitCode}`)
  const connections = master.handshakes.length
  trial.check(connections === 1, 'the same connection', `${connections} connections`)
}

async function unknownFields(trial: Trial): Promise<void> {
  const { master } = trial
  const extras = { a_later_field: { list: [1, null] } }
  master.resultExtras = extras
  master.configExtras = extras
  await trial.run()
  await trial.echo()
  await trial.settled(trial.submit({ do: 'fail', error: 'no such file' }), 'tasks.nack')
  await trial.settled(await trial.sleeping(2.5))
  trial.check(master.settles.length === 3, '3 outcomes, one for each task', `${master.settles.length}`)
}

export const TOLERANCE: readonly Row[] = [
  {
    id: 'W29',
    area: 'tolerance',
    level: 'must',
    seconds: 2,
    holds: 'A frame of an unknown type, or with an unknown field, closes nothing and ends nothing.',
    check: unknownFrames,
  },
  {
    id: 'W30',
    area: 'tolerance',
    level: 'must',
    seconds: 5,
    holds: 'Unknown fields in tasks, in results of calls and in the response to a poll are ignored.',
    check: unknownFields,
  },
]
