import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from '@jest/globals'
import { temporaryFolder } from '../kit/temporary-folder.ts'
import { History } from '../kit/history.ts'
import type { Cut } from './judge.ts'
import { holesOf, lossesOf, reusedTokens } from './loss.ts'

const cut = (key: string, keptStartNs: number, lostEndNs: number, recoveredNs = 100): Cut => ({
  key,
  recoveredNs,
  keptStartNs,
  lostEndNs,
  lost: lostEndNs === 0 ? 0 : 1,
})
const ONE_SHARD = [{ endNs: 100, shardOf: () => 'all' }]

describe('the checks of a loss', () => {
  it('accept that the newest changes of all keys are lost', () => {
    expect(holesOf([cut('a', 10, 21), cut('b', 20, 0), cut('c', 0, 22)], ONE_SHARD)).toEqual([])
  })

  it('find a lost change of one key that is older than a kept one of another key', () => {
    expect(holesOf([cut('a', 10, 15), cut('b', 20, 0)], ONE_SHARD)).toHaveLength(1)
  })

  it('compare no changes of different shards or different recoveries', () => {
    const shards = [{ endNs: 100, shardOf: (key: string) => key }]
    expect(holesOf([cut('a', 10, 15), cut('b', 20, 0)], shards)).toEqual([])
    const recoveries = [...ONE_SHARD, { endNs: 200, shardOf: () => 'all' }]
    expect(holesOf([cut('a', 10, 15), cut('b', 120, 0, 200)], recoveries)).toEqual([])
  })

  it('count the lost changes of each model by the kind of failover', () => {
    const cuts = [cut('kv a', 0, 5), cut('kv b', 0, 5), cut('task c', 0, 105, 110), cut('kv d', 0, 0)]
    const failovers = [
      { kind: 'kill', endNs: 100 },
      { kind: 'part', endNs: 200 },
      { kind: 'part', endNs: 300 },
    ]
    expect(lossesOf(cuts, failovers)).toEqual({ kill: { times: 1, kv: 2 }, part: { times: 2, task: 1 } })
  })

  it.each([
    [[7, 8], []],
    [[7, 7], ['lock n 7']],
  ])('find tokens that were issued twice: %j', async (tokens, expected) => {
    const lines: string[] = []
    const history = new History((line) => lines.push(line))
    for (const token of tokens)
      await history.call('c', 'lock_acquire', { key: `n/${token}-${lines.length}`, holdMs: 1 }, () =>
        Promise.resolve(token),
      )
    await history.call('c', 'task_reserve', { type: 'n', limit: 1 }, () => Promise.resolve([{ id: 't', token: 7 }]))
    const file = join(temporaryFolder(), 'history.jsonl')
    writeFileSync(file, `${lines.join('\n')}\n`)
    expect(reusedTokens([file])).toEqual(expected)
  })
})
