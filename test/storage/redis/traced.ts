/**
 * A Caller on one client for tests of single scripts. It records the commands of a script, can make one of them fail,
 * and can lose responses. The time is that of the given clock.
 */
import type { Redis } from 'ioredis'
import type { Caller, CallOptions, Reply } from '../../../src/storage/redis/caller.ts'
import { faultOf, unavailable } from '../../../src/storage/redis/errors.ts'
import type { Script } from '../../../src/storage/redis/script.ts'
import type { Clock } from '../../../src/runtime/index.ts'

/** Wraps `redis.call` so that it records each command and fails at command number `fails` of this run. */
function traced({ source }: Script, fails: number): string {
  const [header = '', ...body] = source.split('\n')
  return `${header}
local commands, server = {}, redis
local redis = setmetatable({call = function(command, ...)
  commands[#commands + 1] = command
  if #commands == ${fails} then error('injected') end
  return server.call(command, ...)
end}, {__index = server})
local function body()
${body.join('\n')}
end
return {commands, body()}`
}

/** One run of a script and its commands. */
interface Run {
  readonly script: string
  readonly commands: readonly string[]
}

export class TracedCaller implements Caller {
  /** All successful runs so far. */
  readonly runs: Run[] = []
  /** The command of a run that fails, counted from 1. 0: no failure. */
  failsAt = 0
  /** A script whose name begins with this takes effect, but its response is lost. */
  loses: string | null = null
  /** Set another value to simulate a restart of the store. */
  life = 'run-1'
  readonly #client: Redis
  readonly #clock: Clock

  constructor(client: Redis, clock: Clock) {
    this.#client = client
    this.#clock = clock
  }

  readonly runId = (): string => this.life
  readonly channel = (name: string): string => `muster:${name}`
  readonly publisher = 'traced'

  async run(
    script: Script,
    keys: readonly string[],
    args: readonly (string | number)[],
    _options?: CallOptions,
  ): Promise<Reply> {
    const reply = await this.#client
      .call('EVAL', traced(script, this.failsAt), keys.length, ...keys, this.#clock.wallMs(), ...args)
      .catch((error: unknown) => {
        throw refusalOf(error)
      })
    const [commands, answer = null] = reply as readonly [readonly string[], (Reply | Error)?]
    this.runs.push({ script: script.name, commands })
    if (answer instanceof Error) throw refusalOf(answer)
    if (this.loses !== null && script.name.startsWith(this.loses)) throw unavailable('the response was lost', 'unknown')
    return answer
  }
}

function refusalOf(error: unknown): unknown {
  const fault = faultOf(error)
  return fault.kind === 'refused' ? fault.error : error
}
