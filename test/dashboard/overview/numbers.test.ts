import { describe, expect, it } from '@jest/globals'
import type { OverviewBody } from '../../../src/protocol/index.ts'
import { fleetNumbers } from '../../../src/dashboard/overview/numbers.ts'

const NOW = 1_000_000
const workers = (total: number, connected: number, behind = 0) => ({
  total,
  connected,
  behind,
  IDLE: 0,
  RUNNING: connected,
  ERROR: 0,
  DRAINING: 0,
})
const queue = (waiting: number, dead: number, oldest: number | null) => ({
  high: waiting,
  normal: 0,
  low: 0,
  in_flight: 0,
  scheduled: 0,
  dead,
  oldest_submitted_at: oldest,
})
const body = (automations: OverviewBody['automations']): OverviewBody => ({ ts: NOW, automations })

describe('the numbers of the fleet', () => {
  it('are at most seven, each with a link to its details', () => {
    const numbers = fleetNumbers(
      body({
        a: {
          kind: 'BatchAutomation',
          workers: workers(10, 8, 2),
          slots: 8,
          queue: queue(5, 0, NOW - 30),
          stream: { length: 1_200 },
        },
        b: {
          kind: 'BatchAutomation',
          workers: workers(0, 0),
          slots: 0,
          queue: queue(12_000, 96, NOW - 400),
          stream: { length: 0 },
        },
        c: { kind: 'ContinuousAutomation', workers: workers(1, 1), slots: 1, queue: null, stream: { length: 150_000 } },
      }),
      NOW,
    )
    expect(numbers.map(({ name, text, tone, href }) => [name, text, tone, href])).toEqual([
      ['Workers', '11', 'calm', '#/workers'],
      ['Offline', '2', 'offline', '#/workers?q=state%3Aoffline'],
      ['Behind', '2', 'warn', '#/workers?q=behind%3Ayes'],
      ['Waiting', '12,005', 'calm', '#/tasks/b'],
      ['Oldest', '6 min', 'warn', '#/tasks/b'],
      ['Dead', '96', 'bad', '#/tasks/b?tab=dead'],
      ['Output', '151.2K', 'calm', '#/output/c'],
    ])
  })

  it('leave out queues if there are none, and have a neutral tone if the fleet is healthy', () => {
    const numbers = fleetNumbers(
      body({
        c: { kind: 'ContinuousAutomation', workers: workers(1, 1), slots: 1, queue: null, stream: { length: 0 } },
      }),
      NOW,
    )
    expect(numbers.map(({ name, tone }) => [name, tone])).toEqual([
      ['Workers', 'calm'],
      ['Offline', 'calm'],
      ['Behind', 'calm'],
      ['Output', 'calm'],
    ])
  })
})
