/**
 * Checks that all calls on one Redis with appendfsync always are linearizable, while it is partitioned, frozen and
 * killed. SOAK=1 makes 100,000 calls. CONSISTENCY_SEED draws other calls and faults.
 */
import { writeSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from '@jest/globals'
import { recordRun } from '../kit/record-run.ts'
import type { ClientProcesses } from './client-processes.ts'
import type { Defect } from './defects.ts'
import type { Verdict } from './judge.ts'
import { overlapping } from '../kit/overlapping.ts'
import { describeLab, IS_SOAK, SEED, TIMEOUT_MS } from './lab.ts'
import { countOf, makeFaults, startClients, startRedisAt, summaryOf, type FaultCount } from './one-redis.ts'

const [LONG_CALLS, LONG_SECONDS] = [101_000, 1_200]
const SHORT_SECONDS = 10

/** When a run ends, and which faults it has; the default are all. */
type Plan = Pick<Parameters<typeof makeFaults>[1], 'kinds'> & {
  readonly isDone: (faults: number, seconds: number, calls: number) => boolean
}

const PLAN: Plan = {
  isDone: (_, seconds, calls) => (IS_SOAK ? calls > LONG_CALLS || seconds > LONG_SECONDS : seconds > SHORT_SECONDS),
}

/** Replies are lost, so that an addition without a reply has often had its effect. */
const LOST_REPLIES: Plan = { kinds: ['cut_replies'], isDone: (faults) => faults >= 4 }
const ONE_FREEZE: Plan = { kinds: ['pause'], isDone: (faults, _, calls) => faults >= 1 && calls > 1_000 }

interface Run {
  readonly verdict: Verdict
  readonly ended: Awaited<ReturnType<ClientProcesses['end']>>
  readonly faults: readonly FaultCount[]
}

describeLab('one Redis with appendfsync always', (openLab) => {
  async function run({ kinds, isDone }: Plan, defect?: Defect): Promise<Run> {
    await using lab = openLab()
    const network = lab.network()
    const host = network.add()
    const server = lab.open(await startRedisAt(network, host, { appendfsync: 'always' }))
    const clients = lab.open(
      await startClients(network, {
        folder: join(server.folder, 'histories'),
        url: server.url,
        processes: 5,
        clientsPerProcess: 10,
        seed: SEED,
        ...(defect !== undefined && { defect }),
      }),
    )
    await clients.resume()
    const startedMs = performance.now()
    const seconds = (): number => (performance.now() - startedMs) / 1_000
    const faults = await makeFaults(
      { network, host, server, clients },
      { seed: SEED, ...(kinds !== undefined && { kinds }), isDone: (count) => isDone(count, seconds(), clients.calls) },
    )
    const ended = await clients.end()
    const tookSeconds = Math.round(seconds())
    const verdict = await lab.judge(clients.histories)
    writeSync(
      1,
      `one Redis, always: ${verdict.calls} calls of 50 clients on ${verdict.keys} keys in ${tookSeconds} s, ` +
        `${verdict.unknown} unknown, ${JSON.stringify(verdict.callsByModel)}; ${summaryOf(faults)}\n`,
    )
    return { verdict, ended, faults }
  }

  overlapping(
    'stays linearizable through partitions, freezes and kills (G1, G4, G5, G15)',
    async () => {
      const { verdict, ended, faults } = await run(PLAN)
      recordRun({
        layer: 'L5',
        command: `${IS_SOAK ? 'SOAK=1 ' : ''}npm test -- test/consistency/always`,
        count: verdict.calls,
        counted: 'calls of 50 clients on one Redis always through partitions, freezes and kills',
        seedBase: SEED,
        mustHappen: { ...countOf(faults), 'call without a result': verdict.unknown },
        found: verdict.violations.length,
      })
      expect(ended.flatMap(({ unexpected }) => unexpected)).toEqual([])
      expect(verdict.violations).toEqual([])
      expect(verdict.undecided).toEqual([])
      expect(verdict.unknown).toBeGreaterThan(0)
      expect(Object.keys(verdict.callsByModel).toSorted()).toEqual([
        'config',
        'counter',
        'kv',
        'lock',
        'task',
        'unique',
      ])
      expect(verdict.calls).toBeGreaterThan(IS_SOAK ? 100_000 : 1_000)
      if (IS_SOAK) expect(Object.values(countOf(faults))).not.toContain(0)
    },
    TIMEOUT_MS,
  )

  overlapping.each<[Exclude<Defect['kind'], 'replica_reads'>, string, Plan]>([
    ['lock_as_two_calls', 'lock', ONE_FREEZE],
    ['repeated_add', 'counter', LOST_REPLIES],
    ['cancel_keeps_lease', 'task', ONE_FREEZE],
    ['unique_key_as_two_calls', 'unique', ONE_FREEZE],
  ])(
    'finds the defect %s',
    async (kind, model, plan) => {
      const { verdict } = await run(plan, { kind })
      expect(verdict.violations.map((finding) => finding.model)).toContain(model)
    },
    TIMEOUT_MS,
  )
})
