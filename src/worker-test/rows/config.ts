/** @module worker-test/rows/config  Checks how a worker follows its config. */
import { CONFIG_POLL_MS } from '../../protocol/index.ts'
import type { Row } from '../row.ts'
import type { Trial } from '../trial.ts'

const lastState = ({ master }: Trial) => master.of('state').at(-1)

/** Waits until the worker reports this generation. */
async function applied(trial: Trial, gen: number, withinMs = 2_000): Promise<void> {
  await trial.expect(
    `a state frame with config_gen ${gen}`,
    () => lastState(trial)?.config_gen === gen,
    withinMs,
    () => `the last state is ${JSON.stringify(lastState(trial))}`,
  )
}

async function runsWith(trial: Trial, label: string, why: string): Promise<void> {
  const output = await trial.echo()
  trial.check(output['label'] === label, `runs with the config of label "${label}": ${why}`, output)
}

/** Notifies the worker, and waits until it has polled. */
async function notify(trial: Trial, gen: number): Promise<void> {
  const before = trial.polls.length
  trial.master.send({ type: 'config_changed', config_gen: gen })
  await trial.expect('a poll after config_changed', () => trial.polls.length > before, 1_000)
}

async function follows(trial: Trial): Promise<void> {
  const { master } = trial
  await trial.run()
  const registeredAtMs = master.arrivals[0]?.atMs ?? 0
  const [poll] = trial.polls
  const tookMs = (poll?.atMs ?? 0) - registeredAtMs
  trial.check(tookMs <= 2_500, 'a poll within 1 s of register', `${Math.round(tookMs)} ms`)
  await applied(trial, 1)
  await runsWith(trial, 'first', 'it is that of the first poll')
  master.storeConfig({ label: 'second' })
  await notify(trial, 2)
  await applied(trial, 2)
  await runsWith(trial, 'second', 'the master announced it')
}

async function polls(trial: Trial): Promise<void> {
  const { master } = trial
  await trial.run()
  await applied(trial, 1)
  const before = trial.polls.length
  master.storeConfig({ label: 'second' })
  await trial.expect('another poll', () => trial.polls.length > before, CONFIG_POLL_MS)
  await applied(trial, 2)
  await runsWith(trial, 'second', 'no frame announced it')
}

async function generations(trial: Trial): Promise<void> {
  const { master } = trial
  master.respondsNotModified = false
  master.configGen = 5
  await trial.run()
  await applied(trial, 5)
  for (const gen of [5, 4]) {
    master.storeConfig({ label: `of ${gen}` }, gen)
    await notify(trial, gen)
    await trial.pause(300)
    await runsWith(trial, 'first', `generation ${gen} is not higher than 5`)
  }
  master.epoch = 'e2'
  master.storeConfig({ label: 'after a loss' }, 1)
  await notify(trial, 1)
  await applied(trial, 1)
  await runsWith(trial, 'after a loss', 'another epoch means that the master lost its state')
}

async function invalid(trial: Trial): Promise<void> {
  const { master } = trial
  await trial.run()
  await applied(trial, 1)
  master.storeConfig({ label: 'second', slots: 'three' })
  await notify(trial, 2)
  await trial.expect(
    'a state frame with a last_error',
    () => typeof lastState(trial)?.last_error === 'string',
    2_000,
    () => `the last state is ${JSON.stringify(lastState(trial))}`,
  )
  const gen = lastState(trial)?.config_gen
  trial.check(gen === 1, 'config_gen 1, which is the applied one', `${gen}`)
  await runsWith(trial, 'first', 'slots of the new config is a string')
  master.storeConfig({ slots: 1 })
  await notify(trial, 3)
  await applied(trial, 3)
  await trial.expect('a state frame without last_error', () => lastState(trial)?.last_error === null, 2_000)
  await runsWith(trial, 'second', 'the newest config is valid')
}

async function slots(trial: Trial): Promise<void> {
  const { master } = trial
  await trial.run()
  master.setConfig({ slots: 3 })
  await applied(trial, 2)
  const many = [1, 2, 3].map(() => trial.submit({ do: 'sleep', seconds: 2 }))
  await trial.expect(
    '3 concurrent runs',
    () => trial.started === 3,
    1_500,
    () => `${trial.started} runs`,
  )
  for (const id of many) await trial.settled(id)
  master.setConfig({ slots: 1 })
  await applied(trial, 3)
  const [first = '', second = ''] = [1, 2].map(() => trial.submit({ do: 'sleep', seconds: 1 }))
  await trial.settled(first)
  await trial.settled(second)
  const [one = 0, other = 0] = [first, second].map((id) => master.settles.find((each) => each.task_id === id)?.atMs)
  trial.check(other - one > 500, 'one run at a time with 1 slot', `two runs ended within ${Math.round(other - one)} ms`)
  await disabled(trial)
}

async function disabled(trial: Trial): Promise<void> {
  const { master } = trial
  master.setConfig({ enabled: false })
  await applied(trial, 4)
  await trial.expect('state IDLE', () => lastState(trial)?.state === 'IDLE', 2_000)
  const outputs = master.outputs.length
  trial.submit({ do: 'echo' })
  await trial.never('no run while disabled', () => master.outputs.length > outputs, 1_500)
  master.setConfig({ enabled: true })
  await applied(trial, 5)
  await trial.expect('state RUNNING', () => lastState(trial)?.state === 'RUNNING', 2_000)
  await trial.echo()
}

export const CONFIG: readonly Row[] = [
  {
    id: 'W07',
    area: 'config',
    level: 'must',
    seconds: 2,
    holds:
      'The worker polls its config within 1 s of `register` and of each `config_changed`. It applies a new ' +
      'one to the ' +
      'next run, and reports its `config_gen` in a `state` frame.',
    check: follows,
  },
  {
    id: 'W08',
    area: 'config',
    level: 'must',
    seconds: 33,
    holds: 'The worker polls its config every 30 s, also without a `config_changed`.',
    check: polls,
  },
  {
    id: 'W09',
    area: 'config',
    level: 'must',
    seconds: 3,
    holds:
      'A config whose generation is lower than or equal to the applied one is ignored. One of another ' +
      'epoch (in `ETag` ' +
      'and `Muster-Epoch`) is applied, whatever its generation.',
    check: generations,
  },
  {
    id: 'W10',
    area: 'config',
    level: 'must',
    seconds: 2,
    holds:
      'An invalid config, such as one whose `slots` is a string, changes nothing: the old one stays applied, ' +
      '`config_gen` too, and `last_error` has the reason until a valid one is applied.',
    check: invalid,
  },
  {
    id: 'W11',
    area: 'config',
    level: 'must',
    seconds: 9,
    holds:
      'Changes of `slots` and `enabled` apply to a running worker, without a restart: `slots` bounds the concurrent ' +
      'runs. While `enabled` is false, nothing runs and the state is `IDLE`.',
    check: slots,
  },
]
