/** Runs clients on a replicated store through failovers, and judges and records what they saw. */
import { writeSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from '@jest/globals'
import { systemTime } from '../../src/runtime/index.ts'
import { recordRun } from '../kit/record-run.ts'
import { temporaryFolder } from '../kit/temporary-folder.ts'
import type { ClientProcesses } from './client-processes.ts'
import { makeFailover, type Failover, type FailoverKind, type ReplicatedStore } from './failovers.ts'
import type { Cut, Verdict } from './judge.ts'
import { IS_SOAK, SEED, type Lab } from './lab.ts'
import { holesOf, lossesOf, reusedTokens, type Losses } from './loss.ts'
import type { Network } from './network.ts'
import { startClients } from './one-redis.ts'

const MAX_SERVICE_MS = 15_000
const LOAD_MS = 1_500

interface Deps {
  readonly lab: Lab
  readonly network: Network
  readonly store: ReplicatedStore
  readonly kinds: readonly FailoverKind[]
  /** Runs under load, before the first failover. */
  readonly before?: (clients: ClientProcesses) => Promise<void>
  /** Runs under load, after the last one. */
  readonly after?: (clients: ClientProcesses) => Promise<void>
}

interface FailoverRun {
  readonly failovers: readonly Failover[]
  readonly verdict: Verdict
  /** Sentences about lost changes that are older than kept ones of their shard. */
  readonly holes: readonly string[]
  /** Losses in shards that had no failover. */
  readonly elsewhere: readonly Cut[]
  /** Tokens that were issued twice. */
  readonly reused: readonly string[]
  readonly losses: Losses
  /** How often clients noticed that the store had lost changes. */
  readonly regressions: number
  /** Errors that no outage explains. */
  readonly unexpected: readonly string[]
}

/** Causes the failovers one after the other, each in the next shard, while 24 clients call the store in between. */
export async function runFailovers({ lab, network, store, kinds, before, after }: Deps): Promise<FailoverRun> {
  const folder = join(temporaryFolder(), 'histories')
  const clients = lab.open(
    await startClients(network, { folder, url: store.url, processes: 4, clientsPerProcess: 6, seed: SEED }),
  )
  await clients.resume()
  await before?.(clients)
  const failovers: Failover[] = []
  for (const [i, kind] of kinds.entries()) {
    await systemTime.sleep(LOAD_MS)
    failovers.push(await makeFailover({ network, store, clients }, kind, i % store.shards.length))
    await clients.resume()
  }
  await systemTime.sleep(LOAD_MS)
  await after?.(clients)
  const ended = await clients.end()
  const verdict = await lab.judge(clients.histories)
  const recoveries = failovers.map(({ endNs }) => ({ endNs, shardOf: (key: string) => `${store.shardOf(key)}` }))
  return {
    failovers,
    verdict,
    holes: holesOf(verdict.cuts, recoveries),
    elsewhere: verdict.cuts.filter(({ key, recoveredNs, lostEndNs }) => {
      const failover = failovers.find(({ endNs }) => recoveredNs <= endNs)
      return lostEndNs > 0 && failover?.shard !== store.shardOf(key)
    }),
    reused: reusedTokens(clients.histories),
    losses: lossesOf(verdict.cuts, failovers),
    regressions: ended.reduce((sum, each) => sum + each.regressions, 0),
    unexpected: ended.flatMap((each) => each.unexpected),
  }
}

interface Report {
  /** Name of the test file, for example `sentinel`. */
  readonly file: string
  /** Name of the store in the record, for example `Sentinel, min-replicas-to-write 1`. */
  readonly store: string
  readonly mustHappen: Readonly<Record<string, number>>
}

/** Prints the loss, adds the run to the record, and expects what every failover promises. */
export function expectPrefixes(run: FailoverRun, { file, store, mustHappen }: Report): void {
  const { failovers, verdict, holes, elsewhere, reused, losses, regressions, unexpected } = run
  const served = failovers.map(({ kind, servedAfterMs }) => `${kind} ${(servedAfterMs / 1_000).toFixed(1)} s`)
  writeSync(
    1,
    `${store}: ${verdict.calls} calls, service after ${served.join(', ')}; ` +
      `acknowledged changes lost ${JSON.stringify(losses)}, regressions noticed ${regressions}\n`,
  )
  recordRun({
    layer: 'L5',
    command: `${IS_SOAK ? 'SOAK=1 ' : ''}npm test -- test/consistency/${file}`,
    count: failovers.length,
    counted: `failovers of ${store}, each with a state that is a prefix`,
    seedBase: SEED,
    mustHappen,
    found: verdict.violations.length + holes.length + reused.length + elsewhere.length,
    figures: { calls: verdict.calls, lost: JSON.stringify(losses), service: served.join(', ') },
  })
  expect(unexpected).toEqual([])
  expect(verdict.violations).toEqual([])
  expect(verdict.undecided).toEqual([])
  expect(holes).toEqual([])
  expect(elsewhere).toEqual([])
  expect(reused).toEqual([])
  expect(failovers.filter(({ servedAfterMs }) => servedAfterMs > MAX_SERVICE_MS)).toEqual([])
  if ((verdict.lost['config'] ?? 0) > 0) expect(regressions).toBeGreaterThan(0)
}
