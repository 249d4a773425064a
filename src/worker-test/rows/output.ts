/** @module worker-test/rows/output  Checks how a worker sends outputs, and that it keeps secrets. */
import { MAX_FRAME_BYTES, WORKER_BUFFER_BYTES, WORKER_BUFFER_FRAMES } from '../../protocol/index.ts'
import { payloadsOf } from '../records.ts'
import type { Row } from '../row.ts'
import type { Trial } from '../trial.ts'

const ORDERED = 3_000
/** Together 18 MB: more than 1,024 frames if each output has its own, and more than 16 MiB if they share frames. */
const BUFFERED = { count: 1_500, bytes: 12_000 }
const RECONNECT_MS = 35_000

const isOutput = ({ frame }: { frame: { type: string } }): boolean => frame.type.startsWith('output')
const numbersIn = (trial: Trial): readonly unknown[] => trial.master.outputs.flatMap(({ n }) => n ?? [])

async function order(trial: Trial): Promise<void> {
  await trial.run()
  await trial.settled(trial.submit({ do: 'emit', count: ORDERED }))
  await trial.expect(
    `${ORDERED} outputs`,
    () => numbersIn(trial).length >= ORDERED,
    10_000,
    () => `${numbersIn(trial).length}`,
  )
  await trial.pause(300)
  const numbers = numbersIn(trial)
  const at = numbers.findIndex((n, index) => n !== index)
  trial.check(
    at === -1 && numbers.length === ORDERED,
    'each output once, in the order emitted',
    `${String(numbers[at])} at ${at}`,
  )
}

async function buffer(trial: Trial): Promise<void> {
  const { master } = trial
  await trial.run()
  await trial.echo()
  master.handshakeStatus = 503
  for (const socket of master.sockets) socket.terminate()
  await trial.pause(200)
  await trial.settled(trial.submit({ do: 'emit', ...BUFFERED }), 'tasks.ack', 20_000)
  const before = master.arrivals.length
  master.handshakeStatus = null
  const last = BUFFERED.count - 1
  await trial.expect(`output ${last}`, () => numbersIn(trial).at(-1) === last, RECONNECT_MS)
  const frames = master.arrivals.slice(before).filter(isOutput)
  const bytes = frames.reduce((sum, each) => sum + each.bytes, 0)
  trial.check(
    frames.length <= WORKER_BUFFER_FRAMES,
    `at most ${WORKER_BUFFER_FRAMES} frames of outputs from before the reconnect`,
    `${frames.length}`,
  )
  trial.check(bytes <= WORKER_BUFFER_BYTES, 'at most 16 MiB of outputs from before the reconnect', `${bytes} bytes`)
  const numbers = frames.flatMap(({ frame }) => payloadsOf(frame).map(({ n }) => Number(n)))
  const [first = 0] = numbers
  trial.check(
    numbers.every((n, index) => n === first + index),
    'the newest outputs in order, without a gap',
    `${numbers.slice(0, 3).join(', ')} … ${numbers.slice(-3).join(', ')}`,
  )
  trial.check(
    bytes >= 8 * 1_048_576,
    'the newest outputs kept: at least 8 MiB of them',
    `${bytes} bytes in ${frames.length} frames`,
  )
}

async function frameSize(trial: Trial): Promise<void> {
  const { master } = trial
  await trial.run()
  await trial.settled(trial.submit({ do: 'emit', count: 5, bytes: 400_000 }))
  await trial.expect('5 outputs of 400,000 characters', () => numbersIn(trial).length === 5, 5_000)
  const tooLarge = trial.submit({ do: 'emit', count: 1, bytes: 1_100_000 })
  await trial.expect(
    'an outcome of a run that emits more than 1 MiB',
    () => master.settles.some(({ task_id: id }) => id === tooLarge),
    10_000,
  )
  await trial.echo()
  const largest = Math.max(...master.arrivals.map(({ bytes }) => bytes))
  trial.check(largest <= MAX_FRAME_BYTES, 'frames of at most 1 MiB', `${largest} bytes`)
  const registers = master.of('register').length
  trial.check(registers === 1, 'no reconnect', `${registers} connections`)
}

async function secretInErrors(trial: Trial): Promise<void> {
  const { master, password } = trial
  await trial.run()
  await trial.settled(trial.submit({ do: 'fail', error: `login with ${password} failed` }), 'tasks.nack')
  await trial.pause(500)
  const frame = master.frames.find((each) => JSON.stringify(each).includes(password))
  trial.check(frame === undefined, 'no frame with the value of the writeOnly field', frame)
  const nack = master.settles.find(({ error }) => error?.includes(password) === true)
  trial.check(nack === undefined, 'no nack with the value of the writeOnly field', nack)
}

async function secretInLogs(trial: Trial): Promise<void> {
  const { master, password } = trial
  const worker = await trial.run()
  await trial.settled(trial.submit({ do: 'fail', error: `login with ${password} failed` }), 'tasks.nack')
  master.setConfig({ slots: 'three' })
  await trial.pause(500)
  master.setConfig({ slots: 1 })
  await trial.echo()
  worker.terminate()
  await trial.expect('the end of the process', () => worker.exitCode !== undefined, 10_000)
  const lineWith = (text: string): string | undefined => worker.output.split('\n').find((line) => line.includes(text))
  const line = lineWith(password) ?? lineWith(trial.token)
  trial.check(line === undefined, 'no line of output with the token or the value of the writeOnly field', line)
}

export const OUTPUT: readonly Row[] = [
  {
    id: 'W24',
    area: 'output',
    level: 'must',
    seconds: 3,
    holds: 'Outputs arrive once each, in the order in which a run emits them.',
    check: order,
  },
  {
    id: 'W25',
    area: 'output',
    level: 'must',
    seconds: 8,
    holds:
      'While the control channel is closed, the newest outputs are kept, in order, in at most 1,024 frames ' +
      'and 16 MiB; ' +
      'older ones are dropped. They are sent after the next `register`.',
    check: buffer,
  },
  {
    id: 'W26',
    area: 'output',
    level: 'must',
    seconds: 3,
    holds: 'No frame is larger than 1 MiB. An output that would be larger fails its run or is dropped.',
    check: frameSize,
  },
  {
    id: 'W27',
    area: 'secrets',
    level: 'must',
    seconds: 2,
    holds: 'The value of a `writeOnly` field of the config appears in no nack, `last_error` or other frame.',
    check: secretInErrors,
  },
  {
    id: 'W28',
    area: 'secrets',
    level: 'must',
    seconds: 4,
    holds: 'The value of a `writeOnly` field of the config, and the token, appear in no line of stdout or stderr.',
    check: secretInLogs,
  },
]
