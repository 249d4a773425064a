/**
 * Checks a primary with two replicas and three sentinels: between failovers all calls are linearizable, and after one
 * the state is a prefix of the history. The loss is printed. SOAK=1 makes each kind of failover four times, with
 * min-replicas-to-write 0 and 1.
 */
import { writeSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from '@jest/globals'
import { systemTime } from '../../src/runtime/index.ts'
import { temporaryFolder } from '../kit/temporary-folder.ts'
import { recordRun } from '../kit/record-run.ts'
import type { Defect } from './defects.ts'
import { FAILOVERS, makeFailover, type Failover, type FailoverKind } from './failovers.ts'
import { describeLab, IS_SOAK, SEED, TIMEOUT_MS } from './lab.ts'
import { holesOf, lossesOf, reusedTokens } from './loss.ts'
import { startClients } from './one-redis.ts'
import { startSentinels } from './sentinels.ts'

const MAX_SERVICE_MS = 15_000
const LOAD_MS = 1_500
const KINDS: readonly FailoverKind[] = IS_SOAK ? Array.from({ length: 4 }, () => FAILOVERS).flat() : ['part', 'kill']
const MIN_REPLICAS = IS_SOAK ? [0, 1] : [0]

describeLab('a primary with replicas and sentinels', (lab) => {
  it.each(MIN_REPLICAS)(
    'loses only the newest changes in a failover, with min-replicas-to-write %d (G5, G26)',
    async (minReplicas) => {
      const network = lab.network()
      const store = await startSentinels(network, minReplicas, lab.open)
      const clients = lab.open(
        await startClients(network, {
          folder: join(temporaryFolder(), 'histories'),
          url: store.url,
          processes: 4,
          clientsPerProcess: 6,
          seed: SEED,
        }),
      )
      const failovers: Failover[] = []
      for (const kind of KINDS) {
        await clients.resume()
        await systemTime.sleep(LOAD_MS)
        failovers.push(await makeFailover({ network, store, clients }, kind))
      }
      await clients.resume()
      await systemTime.sleep(LOAD_MS)
      const ended = await clients.end()
      const verdict = await lab.judge(clients.histories)
      const recoveries = failovers.map(({ endNs }) => ({ endNs, shardOf: () => 'all' }))
      const holes = holesOf(verdict.cuts, recoveries)
      const losses = lossesOf(verdict.cuts, failovers)
      const reused = reusedTokens(clients.histories)
      const regressions = ended.reduce((sum, each) => sum + each.regressions, 0)
      const served = failovers.map(({ kind, servedAfterMs }) => `${kind} ${(servedAfterMs / 1_000).toFixed(1)} s`)
      writeSync(
        1,
        `Sentinel, min-replicas-to-write ${minReplicas}: ${verdict.calls} calls, service after ${served.join(', ')}; ` +
          `acknowledged changes lost ${JSON.stringify(losses)}, regressions noticed ${regressions}\n`,
      )
      recordRun({
        layer: 'L5',
        command: `${IS_SOAK ? 'SOAK=1 ' : ''}npm test -- test/consistency/sentinel`,
        count: failovers.length,
        counted: `failovers of Sentinel, min-replicas-to-write ${minReplicas}, each with a state that is a prefix`,
        seedBase: SEED,
        mustHappen: { 'regression noticed': regressions },
        found: verdict.violations.length + holes.length + reused.length,
        figures: { calls: verdict.calls, lost: JSON.stringify(losses), service: served.join(', ') },
      })
      expect(ended.flatMap(({ unexpected }) => unexpected)).toEqual([])
      expect(verdict.violations).toEqual([])
      expect(verdict.undecided).toEqual([])
      expect(holes).toEqual([])
      expect(reused).toEqual([])
      expect(failovers.filter(({ servedAfterMs }) => servedAfterMs > MAX_SERVICE_MS)).toEqual([])
      if ((verdict.lost['config'] ?? 0) > 0) expect(regressions).toBeGreaterThan(0)
    },
    TIMEOUT_MS,
  )

  it(
    'finds reads from a replica',
    async () => {
      const network = lab.network()
      const store = await startSentinels(network, 0, lab.open)
      const [primary, replica] = store.members
      if (primary === undefined || replica === undefined) throw new Error('there is no replica')
      const defect: Defect = { kind: 'replica_reads', host: replica.host.address, port: 6_379 }
      const folder = join(temporaryFolder(), 'histories')
      const clients = lab.open(
        await startClients(network, { folder, url: store.url, processes: 2, clientsPerProcess: 5, seed: SEED, defect }),
      )
      await clients.resume()
      await systemTime.sleep(1_000)
      network.cut([primary.host], [replica.host])
      await systemTime.sleep(500)
      network.heal()
      await systemTime.sleep(500)
      await clients.end()
      const { violations } = await lab.judge(clients.histories)
      expect(violations.map(({ model }) => model)).toContain('kv')
    },
    TIMEOUT_MS,
  )
})
