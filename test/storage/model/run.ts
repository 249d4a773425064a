/**
 * Runs random commands on a backend and on the model side by side, in rounds until enough commands have run. Each round
 * has its own seed. A failure prints the variables that reproduce it:
 *
 *   SEED=… [RUN_PATH=… REPLAY_PATH=…] npm test -- test/storage/<backend>/model
 *
 * SOAK=1 runs ten times as many commands.
 */
import { describe, it } from '@jest/globals'
import fc from 'fast-check'
import { DEFAULTS, HARDWARE, ManualClock, start } from '../contract/fixture.ts'
import type { Create } from '../contract/fixture.ts'
import type { AnyCommand } from './command.ts'
import { crewCommands, fleetCommands } from './fleet-commands.ts'
import { operationCommands } from './operation-commands.ts'
import { taskCommands } from './task-commands.ts'
import { thingCommands, timeCommands } from './thing-commands.ts'
import { TYPES, ModelFixture } from './fixture.ts'
import type { Real } from './fixture.ts'
import type { Backend } from '../../../src/storage/index.ts'

const MAX_COMMANDS = 200
const RUNS_PER_ROUND = 10
const isSoak = process.env['SOAK'] === '1'
const COMMANDS = isSoak ? 100_000 : 10_000
/** Limit for the whole test. Shrinking a failure may use at most half of it. */
const TIMEOUT_MS = isSoak ? 3_600_000 : 600_000

export interface Options {
  readonly create: Create
  readonly idle?: (backend: Backend) => Promise<void>
  /** Checks what only this kind of store has, after the last command of each run. */
  readonly afterRun?: () => Promise<void>
}
/** `path` and `replayPath` identify a failure to reproduce. */
export interface Search extends Options {
  readonly seed: number
  /** Number of commands to run. */
  readonly commands: number
  /** False for the controls, which only need to know whether there is a failure. */
  readonly shrinks: boolean
  readonly path?: string
  readonly replayPath?: string
}
interface Result {
  readonly commands: number
  readonly failure: string | null
}

/** Runs rounds with consecutive seeds until a failure or until enough commands ran. */
export async function search(wanted: Search): Promise<Result> {
  let ran = 0
  for (let { seed } = wanted; ran < wanted.commands; seed += 1) {
    const { commands, failure } = await runRound({ ...wanted, seed })
    ran += commands
    if (failure !== null || wanted.path !== undefined) return { commands: ran, failure }
  }
  return { commands: ran, failure: null }
}

/** Half of the rounds use task commands only, to reach deep states. The others use all commands, or all but tasks. */
function commandsOf(seed: number, isDurable: boolean): AnyCommand[] {
  const others = [...fleetCommands, ...operationCommands, ...thingCommands]
  switch (seed % 4) {
    case 0:
      return [...taskCommands, ...crewCommands, ...others, ...timeCommands(8, isDurable)]
    case 1:
      return [...others, ...timeCommands(6, isDurable)]
    default:
      return [...taskCommands, ...crewCommands, ...timeCommands(6, isDurable)]
  }
}

async function runRound({ create, idle, afterRun, seed, shrinks, path, replayPath }: Search): Promise<Result> {
  let ran = 0
  const { capabilities } = await create(new ManualClock())
  const commands = fc.commands(commandsOf(seed, capabilities.durable), {
    maxCommands: MAX_COMMANDS,
    size: 'max',
    ...(replayPath !== undefined && { replayPath }),
  })
  const property = fc.asyncProperty(commands, async (run) => {
    const clock = new ManualClock()
    const backend = await create(clock)
    const real: Real = { backend, clock, idle: async () => idle?.(backend) }
    await start(backend)
    try {
      const { epoch, nowMs } = await backend.meta.info()
      const model = new ModelFixture(epoch, nowMs)
      const crew = TYPES.map((type) => ({
        type,
        id: 'w1',
        conn: 'm1/0',
        instance: '',
        hardware: HARDWARE,
        defaults: DEFAULTS,
      }))
      model.store.fleet.register(crew)
      await backend.workers.register(crew)
      await fc.asyncModelRun(() => ({ model, real }), run)
      await afterRun?.()
    } finally {
      await backend.close()
      ran += [...run].length
    }
  })
  const details = await fc.check(property, {
    seed,
    numRuns: path === undefined ? RUNS_PER_ROUND : 1,
    endOnFailure: !shrinks,
    interruptAfterTimeLimit: TIMEOUT_MS / 2,
    ...(path !== undefined && { path }),
  })
  return { commands: ran, failure: details.failed ? reportOf(details) : null }
}

function reportOf(details: fc.RunDetails<[Iterable<fc.AsyncCommand<ModelFixture, Real>>]>): string {
  const report = fc.defaultReportMessage(details) ?? ''
  const replayPath = /replayPath="(?<replay>[^"]*)"/.exec(report)?.groups?.['replay'] ?? ''
  const error =
    details.errorInstance instanceof Error ? (details.errorInstance.stack ?? '') : String(details.errorInstance)
  return (
    `SEED=${details.seed} RUN_PATH=${details.counterexamplePath ?? ''} REPLAY_PATH=${replayPath} repeats this:\n` +
    `${report}\n${error}`
  )
}

export function testModel(name: string, options: Options): void {
  describe(`${name} backend: model`, () => {
    it(
      'returns the same results as the model, and reads the same after each command (G1, G2, D24)',
      async () => {
        const { SEED = '', RUN_PATH: path = '', REPLAY_PATH: replayPath = '' } = process.env
        const seed = SEED === '' ? Math.floor(Math.random() * 2 ** 31) : Number(SEED)
        const { failure } = await search({
          ...options,
          seed,
          commands: COMMANDS,
          shrinks: true,
          ...(path !== '' && { path }),
          ...(replayPath !== '' && { replayPath }),
        })
        if (failure !== null) throw new Error(failure)
      },
      TIMEOUT_MS,
    )
  })
}
