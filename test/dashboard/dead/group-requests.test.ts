import { describe, expect, it } from '@jest/globals'
import type { Api } from '../../../src/dashboard/api/client.ts'
import {
  groupCommands,
  isOperation,
  paceText,
  readPace,
  runOnGroup,
} from '../../../src/dashboard/dead/group-requests.ts'

const SMALL = { type: 'mailer', group: '0123456789abcdef', count: 500, before: 1_750_000_000 }
const LARGE = { ...SMALL, count: 7_000 }

describe('the replay of a group', () => {
  it('is an operation from 501 tasks on; a removal is none', () => {
    expect([isOperation('replay', 500), isOperation('replay', 501), isOperation('remove', 501)]).toEqual([
      false,
      true,
      false,
    ])
  })

  it('has a pace that its way of replaying permits', () => {
    const paces = ['', ' 1 ', '1000', '1001', '10001', '0', 'x'].map((text) => [
      readPace(text, SMALL.count),
      readPace(text, LARGE.count),
    ])
    expect(paces).toEqual([
      [undefined, undefined],
      [1, 1],
      [1_000, 1_000],
      [1_001, null],
      [null, null],
      [null, null],
      [null, null],
    ])
    expect([paceText(500, undefined), paceText(500, null), paceText(500, 4)]).toEqual([
      'Empty: all are pending immediately.',
      'Enter 1 to 10,000, or nothing.',
      'Takes about 3 minutes.',
    ])
    expect([paceText(7_000, undefined), paceText(7_000, null)]).toEqual([
      'Empty: 1,000 a second, so it takes about 7 seconds.',
      'Enter 1 to 1,000, or nothing.',
    ])
  })

  it('and its removal send the requests that they need, and say what was done', async () => {
    const sent: unknown[] = []
    const removals = [
      { removed: 10_000, more: true },
      { removed: 3, more: false },
    ]
    const replays = [
      { replayed: 400, more: true, delay_seconds: 80 },
      { replayed: 99, more: false, delay_seconds: 100 },
    ]
    const api = {
      send: async (_method: string, path: readonly string[], options: object) => {
        sent.push([path.at(-1), options])
        const steps = { remove: removals, replay: replays }[String(path.at(-1))]
        return { body: steps?.shift() ?? { operation: '3f2a91bc', total: 6_990 }, epoch: null }
      },
    } as unknown as Pick<Api, 'send'>
    const { group, before } = SMALL
    expect([
      await runOnGroup(api, 'replay', SMALL, 5),
      await runOnGroup(api, 'replay', LARGE, undefined),
      await runOnGroup(api, 'replay', LARGE, 20),
      await runOnGroup(api, 'remove', LARGE, undefined),
    ]).toEqual([
      '499 tasks requeued.',
      'Operation 3f2a91bc replays 6,990 tasks. It continues when you close this page.',
      'Operation 3f2a91bc replays 6,990 tasks. It continues when you close this page.',
      '10,003 tasks removed.',
    ])
    expect(sent).toEqual([
      ['replay', { body: { before, per_second: 5, delay_seconds: 0 } }],
      ['replay', { body: { before, per_second: 5, delay_seconds: 80 } }],
      ['operations', { body: { kind: 'replay', group, before, per_second: 1_000 } }],
      ['operations', { body: { kind: 'replay', group, before, per_second: 20 } }],
      ['remove', { body: { before } }],
      ['remove', { body: { before } }],
    ])
  })

  it('is copied as the commands that do the same', () => {
    const base = new URL('http://master/api/v1/')
    const muster = (...args: Parameters<typeof groupCommands>): string | undefined =>
      groupCommands(...args).find(({ label }) => label === 'muster')?.text
    const group = '--group 0123456789abcdef --before 1750000000'
    expect([
      muster(base, 'replay', SMALL, undefined),
      muster(base, 'replay', SMALL, 5),
      muster(base, 'replay', LARGE, undefined),
      muster(base, 'remove', LARGE, undefined),
    ]).toEqual([
      `muster dead replay mailer ${group} --master-url http://master`,
      `muster dead replay mailer ${group} --per-second 5 --master-url http://master`,
      `muster operations create mailer replay ${group} --per-second 1000 --master-url http://master`,
      `muster dead remove mailer ${group} --master-url http://master`,
    ])
    expect(groupCommands(base, 'replay', LARGE, 5)[0]?.text).toContain('/automations/mailer/operations')
  })
})
