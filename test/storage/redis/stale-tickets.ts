/** Checks that the counters of stale tickets equal the tickets: scripts/include/stale.lua documents the format. */
import { expect } from '@jest/globals'
import type { Redis } from 'ioredis'

interface Ticket {
  readonly id: string
  readonly generation: string
  readonly tier: number
  /** 0 to 2 the list that contains it, 3 scheduled, 4 sorted into its group. */
  readonly place: number
}
interface Mark {
  readonly places: string
  readonly generation: string
  readonly moved: boolean
}

/** Checks every automation type whose keys begin with `prefix`, and closes the connection. */
export async function checkStaleTickets(client: Redis, prefix: string): Promise<void> {
  try {
    for (const key of await client.keys(`${prefix}:{a:*:m`)) await checkType(client, key.slice(0, -1))
  } finally {
    client.disconnect()
  }
}

async function checkType(client: Redis, stem: string): Promise<void> {
  const [lists, sorted, due, marks, bodies, leases, counted, flag] = await Promise.all([
    Promise.all([0, 1, 2].map((tier) => client.lrange(`${stem}p${tier}`, 0, -1))),
    client.zrange(`${stem}gq`, '0', '-1'),
    client.zrange(`${stem}d`, '0', '-1'),
    client.hgetall(`${stem}x`),
    client.hkeys(`${stem}t`),
    client.hkeys(`${stem}l`),
    client.hget(`${stem}m`, 'st'),
    client.hexists(`${stem}c`, ''),
  ])
  const tickets = [...lists, due, sorted].flatMap((list, place) => list.map((text) => ticketOf(text, place)))
  const known = new Map(Object.entries(marks).map(([id, text]) => [id, markOf(text)]))
  const stale = tickets.filter((ticket) => isStale(ticket, known.get(ticket.id)))
  const live = tickets.filter((ticket) => !stale.includes(ticket))
  const waiting = bodies.filter((id) => !leases.includes(id))
  expect(live.map(({ id }) => id).toSorted()).toEqual(waiting.toSorted())
  expect(stale.filter(({ place }) => place === 4)).toEqual([])
  const counts = [0, 1, 2, 3].map((place) => stale.filter((ticket) => ticket.place === place).length)
  const moved = live.filter(({ place, tier }) => place === 1 && tier !== 1).map(({ id }) => id)
  expect([...known].flatMap(([id, mark]) => (mark.moved ? [id] : [])).toSorted()).toEqual(moved.toSorted())
  expect(counted).toBe(stale.length + moved.length === 0 ? null : [...counts, moved.length].join('|'))
  expect(flag).toBe(counted === null ? 0 : 1)
  const placesOf = (id: string): number[] => stale.flatMap((ticket) => (ticket.id === id ? [ticket.place] : []))
  for (const [id, { places }] of known) expect([...places].toSorted()).toEqual(placesOf(id).map(String).toSorted())
}

function ticketOf(text: string, place: number): Ticket {
  const colon = text.indexOf(':')
  const [submitted = '', , , tier] = text.slice(0, colon).split('|')
  return { id: text.slice(colon + 1), generation: submitted.slice(0, -16) || '0', tier: Number(tier), place }
}

function markOf(text: string): Mark {
  const [places = '', generation = '', moved] = text.split(':')
  return { places, generation, moved: moved === '1' }
}

const isStale = ({ generation }: Ticket, mark: Mark | undefined): boolean =>
  mark !== undefined && mark.places !== '' && mark.generation !== generation
