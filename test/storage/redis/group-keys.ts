/** Checks that the keys of groups fit together: scripts/include/groups.lua documents them. */
import { expect } from '@jest/globals'
import type { Redis } from 'ioredis'

const END = 0xff

/** Checks every automation type whose keys begin with `prefix`. */
export async function checkGroupKeys(client: Redis, prefix: string): Promise<void> {
  for (const key of await client.keys(`${prefix}:{a:*:gn`)) await checkType(client, key.slice(0, -2))
}

async function checkType(client: Redis, stem: string): Promise<void> {
  const [members, sorted, names, ready, waiting, counted, leases, arrived] = await Promise.all([
    client.zrangeBuffer(`${stem}gt`, '0', '-1'),
    client.zrange(`${stem}gq`, '0', '-1', 'WITHSCORES'),
    client.hgetall(`${stem}gn`),
    client.zrange(`${stem}gr`, '0', '-1'),
    client.zrange(`${stem}gw`, '0', '-1'),
    client.hgetall(`${stem}gl`),
    client.hkeys(`${stem}l`),
    client.exists(...['p0', 'p1', 'p2'].map((part) => stem + part)),
  ])
  const ranks = new Map(Object.entries(names).map(([id, text]) => [id, text.slice(0, 16)]))
  const groups = new Map(Object.entries(names).map(([id, text]) => [id, text.slice(16)]))
  const pending: string[] = []
  const expected: string[] = []
  for (let i = 0; i < sorted.length; i += 2) {
    const [ticket = '', rank = ''] = sorted.slice(i, i + 2)
    const id = ticket.slice(ticket.indexOf(':') + 1)
    pending.push(id)
    expected.push(`${groups.get(id)} ${rank.padStart(16, '0')} ${ticket}`)
    expect(ranks.get(id)).toBe(rank.padStart(16, '0'))
  }
  const shown = members.map((member) => {
    const end = member.indexOf(END)
    const rest = member.toString('utf8', end + 1)
    return `${member.toString('utf8', 0, end)} ${rest.slice(0, 16)} ${rest.slice(16)}`
  })
  expect(shown.toSorted()).toEqual(expected.toSorted())
  expect(Object.keys(names).toSorted()).toEqual([...pending, ...leases].toSorted())
  const inFlight = new Map<string, number>()
  for (const id of leases) {
    const group = groups.get(id) ?? ''
    inFlight.set(group, (inFlight.get(group) ?? 0) + 1)
  }
  expect(new Map(Object.entries(counted).map(([group, count]) => [group, Number(count)]))).toEqual(inFlight)
  const withTasks = new Set(pending.map((id) => groups.get(id)))
  expect([...ready, ...waiting].filter((group) => !withTasks.has(group))).toEqual([])
  expect(ready.filter((group) => waiting.includes(group))).toEqual([])
  expect(arrived).toBe(0)
}
