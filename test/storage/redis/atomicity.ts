/**
 * @module test/storage/redis/atomicity
 * Tests a rule of every Lua script. Redis does not roll back a failed script, so a script reads everything before its
 * first write. A failure of any command before that write leaves the store unchanged.
 */
import { expect, it } from '@jest/globals'
import { isDeepStrictEqual } from 'node:util'
import type { Redis } from 'ioredis'
import { sole } from '../contract/fixture.ts'
import type { TracedCaller } from './traced.ts'

/** The whole content of the server, by key. */
export async function contents(client: Redis): Promise<Readonly<Record<string, string>>> {
  const keys = (await client.keys('*')).toSorted()
  return Object.fromEntries(
    await Promise.all(keys.map(async (key) => [key, (await client.dumpBuffer(key))?.toString('hex') ?? ''] as const)),
  )
}

export interface AtomicScripts {
  readonly client: () => Redis
  readonly caller: () => TracedCaller
  /** Empties the store and resets the state of the tested group. */
  readonly reset: () => Promise<void>
  /** Fills the store and returns one call of every method. */
  readonly calls: () => Promise<readonly (() => Promise<unknown>)[]>
  /** Commands that do not write. */
  readonly reads: ReadonlySet<string>
}

/** Defines both tests for the scripts of a group. */
export function testAtomicity({ client, caller, reset, calls, reads }: AtomicScripts): void {
  it('read everything before their first write', async () => {
    for (const call of await calls()) {
      await call()
      const { script, commands } = sole(caller().runs.slice(-1))
      const firstWrite = commands.findIndex((command) => !reads.has(command))
      const readsAfter = firstWrite < 0 ? [] : commands.slice(firstWrite).filter((command) => reads.has(command))
      expect([script, readsAfter]).toEqual([script, []])
    }
  })

  it('change nothing when a command before their first write fails', async () => {
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
