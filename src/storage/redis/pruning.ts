/**
 * @module storage/redis/pruning
 * Runs scripts that remove expired entries before they do their own work. So that no call blocks the store for long, a
 * script removes at most PRUNED_PER_CALL entries (scripts/include/pruning.lua). If more may have expired, it returns
 * nil without reading its arguments, and is run again.
 */
import type { Caller, CallOptions, Reply } from './caller.ts'
import type { Script } from './script.ts'

/** Runs `script` until it has removed all expired entries and returns its own reply. */
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
