import { describe, expect, it } from '@jest/globals'
import { primaryIn } from './cluster.ts'

const SHARD = ['10.77.0.2', '10.77.0.5']
const line = (address: string, flags: string, primary: string, slots: string): string =>
  `07c3 ${address}:6379@16379 ${flags} ${primary} 0 1426238316232 5 connected${slots}`

describe('the primary of a shard in CLUSTER NODES', () => {
  it('is the member that has slots, not an old primary that returned and is not a replica yet', () => {
    const old = line('10.77.0.2', 'master', '-', '')
    const elected = line('10.77.0.5', 'master', '-', ' 0-5460')
    const other = line('10.77.0.3', 'myself,master', '-', ' 5461-10922 [93-<-292f]')
    expect(primaryIn([old, elected, other].join('\n'), SHARD)).toBe('10.77.0.5')
    expect(primaryIn([other, elected, old].join('\n'), SHARD)).toBe('10.77.0.5')
  })

  it('is the member with slots that has not failed', () => {
    const failed = line('10.77.0.2', 'master,fail', '-', ' 0-5460')
    const replica = line('10.77.0.5', 'slave', '07c3', '')
    expect(primaryIn([failed, replica].join('\n'), SHARD)).toBe('')
    expect(primaryIn(line('10.77.0.2', 'master,fail?', '-', ' 0'), SHARD)).toBe('10.77.0.2')
    expect(primaryIn(line('10.77.0.20', 'master', '-', ' 0-5460'), SHARD)).toBe('')
  })
})
