/**
 * A Caller straight over one client, for tests of single scripts: it notes the commands a script sends, and can make one
 * of them fail. Time is the clock's.
 */
import type { Redis } from 'ioredis'
import type { Caller, CallOptions, Reply } from '../../../src/storage/redis/caller.ts'
import { faultOf } from '../../../src/storage/redis/errors.ts'
import type { Script } from '../../../src/storage/redis/script.ts'
import type { Clock } from '../../../src/runtime/index.ts'

/** Puts `redis.call` behind one that notes the command, and fails at the `fails`-th of this run. */
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

/** One run of a script, and the commands it sent. */
interface Run {
  readonly script: string
  readonly commands: readonly string[]
}

export class TracedCaller implements Caller {
  /** All runs so far, those that failed apart. */
  readonly runs: Run[] = []
  /** Which command of a run fails, from 1; 0: none. */
  failsAt = 0
  /** Another one: the store was restarted. */
  life = 'run-1'
  readonly #client: Redis
  readonly #clock: Clock

  constructor(client: Redis, clock: Clock) {
    this.#client = client
    this.#clock = clock
  }

  readonly runId = (): string => this.life
  readonly channel = (name: string): string => `muster:${name}`

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
    return answer
  }
}

function refusalOf(error: unknown): unknown {
  const fault = faultOf(error)
  return fault.kind === 'refused' ? fault.error : error
}
