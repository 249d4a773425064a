/**
 * @module test/storage/redis/atomicity
 * What every script owes: a script that fails midway keeps its earlier writes, so it reads all it needs before its first
 * write, and a failure of any command up to then leaves the store as it was.
 */
import { expect, it } from '@jest/globals'
import { isDeepStrictEqual } from 'node:util'
import type { Redis } from 'ioredis'
import { sole } from '../contract/world.ts'
import type { TracedCaller } from './traced.ts'

/** Everything the server holds, by key. */
export async function contents(client: Redis): Promise<Readonly<Record<string, string>>> {
  const keys = (await client.keys('*')).toSorted()
  return Object.fromEntries(
    await Promise.all(keys.map(async (key) => [key, (await client.dumpBuffer(key))?.toString('hex') ?? ''] as const)),
  )
}

export interface AtomicScripts {
  readonly client: () => Redis
  readonly caller: () => TracedCaller
  /** Empties the store and what the group under test remembers of it. */
  readonly reset: () => Promise<void>
  /** Fills the store, then answers one call of every method. */
  readonly calls: () => Promise<readonly (() => Promise<unknown>)[]>
  /** The commands that change nothing. */
  readonly reads: ReadonlySet<string>
}

/** Runs both checks over a group's scripts. */
export function testAtomicity({ client, caller, reset, calls, reads }: AtomicScripts): void {
  it('read all they need before their first write', async () => {
    for (const call of await calls()) {
      await call()
      const { script, commands } = sole(caller().runs.slice(-1))
      const firstWrite = commands.findIndex((command) => !reads.has(command))
      const readsAfter = firstWrite < 0 ? [] : commands.slice(firstWrite).filter((command) => reads.has(command))
      expect([script, readsAfter]).toEqual([script, []])
    }
  })

  it('change nothing when any command up to their first write fails', async () => {
    const { length } = await calls()
    for (let i = 0; i < length; i += 1) {
      await reset()
      const call = (await calls())[i]
      const before = await contents(client())
      const failing = caller()
      let [failure, isSame] = ['', true]
      for (failing.failsAt = 1; isSame && failure !== 'none'; failing.failsAt += 1) {
        failure = await (call?.() ?? Promise.resolve()).then(() => 'none', String)
        isSame = isDeepStrictEqual(await contents(client()), before)
      }
      expect(failing.failsAt).toBeGreaterThan(2)
      failing.failsAt = 0
    }
  })
}
