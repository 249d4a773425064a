/**
 * @module storage/redis/pruning
 * What has expired is let go by the next call that comes along, before that call decides anything. So that no call
 * blocks the store for long, a script removes at most PRUNED_PER_CALL things (scripts/include/pruning.lua); when there
 * may be more it returns nil, without having looked at its arguments, and is run again.
 */
import type { Caller, CallOptions, Reply } from './caller.ts'
import type { Script } from './script.ts'

/** Runs `script` until nothing that expired stood in its way. */
export async function runPruned(
  caller: Caller,
  script: Script,
  keys: readonly string[],
  args: readonly (string | number)[],
  options?: CallOptions,
): Promise<Exclude<Reply, null>> {
  for (;;) {
    const reply = await caller.run(script, keys, args, options)
    if (reply !== null) return reply
  }
}
