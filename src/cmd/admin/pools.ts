/** @module cmd/admin/pools  `muster pools` lists pools, their items and who holds them, and ends claims. */
import type { PoolBody, PoolClaimRow } from '../../protocol/index.ts'
import { count } from './options.ts'
import { brief, when, type Column } from './printer.ts'
import { EXIT, Failure, verb, type Noun } from './verb.ts'

interface Pool {
  readonly pool: string
  readonly automation_type: string
  readonly size: number
}

const ITEM_COLUMNS: readonly Column<PoolBody['items'][number]>[] = [
  { head: 'ITEM', cell: (row) => row.id, isName: true },
  { head: 'TAGS', cell: (row) => row.tags },
  { head: 'EXPIRES', cell: (row) => when(row.expires_at) },
  { head: 'IN USE UNTIL', cell: (row) => when(row.in_use_until) },
  { head: 'PAYLOAD', cell: (row) => brief(row.payload) },
]
const POOL_COLUMNS: readonly Column<Pool>[] = [
  { head: 'POOL', cell: (row) => row.pool, isName: true },
  { head: 'AUTOMATION', cell: (row) => row.automation_type },
  { head: 'SIZE', cell: (row) => row.size },
]

const poolsLs = verb({
  name: 'ls',
  aliases: ['list'],
  operands: '[NAME]',
  least: 0,
  most: 1,
  names: 'POOL, or ITEM of one pool',
  summary: 'Lists pools with their sizes, or the items of one pool.',
  examples: ['', 'accounts -n 100'],
  options: { n: count('Maximum number of items (default 20).') },
  run: async ({ operands: [name], options, client, printer }) => {
    if (name === undefined) {
      const declared = Object.values((await client.catalog()).body).flatMap(({ type, pools = {} }) =>
        Object.keys(pools).map((pool) => ({ pool, automation_type: type })),
      )
      await printer.rows(
        await Promise.all(
          declared.map(async (each) => ({ ...each, size: (await client.pool(each.pool, { n: 1 })).body.size })),
        ),
        POOL_COLUMNS,
      )
      return EXIT.OK
    }
    const { body } = await client.pool(name, { n: options.n })
    await printer.rows(body.items, ITEM_COLUMNS, body)
    if (printer.isTable) printer.note(`${body.items.length} of ${body.size}`)
    return EXIT.OK
  },
})

const CLAIM_COLUMNS: readonly Column<PoolClaimRow>[] = [
  { head: 'ITEM', cell: (row) => row.id, isName: true },
  { head: 'WORKER', cell: (row) => workerText(row) },
  { head: 'SLOT', cell: (row) => row.slot_id },
  { head: 'TASK', cell: (row) => row.task_id },
  { head: 'SINCE', cell: (row) => when(row.claimed_at ?? null) },
  { head: 'RENEWALS', cell: (row) => row.renewals },
  { head: 'IN USE UNTIL', cell: (row) => when(row.in_use_until) },
]

const claims = verb({
  name: 'claims',
  operands: 'NAME',
  least: 1,
  most: 1,
  names: 'ITEM',
  summary: 'Lists who holds the items of a pool, and counts who waits for one.',
  examples: ['accounts', 'accounts -n 1000 -o json'],
  options: { n: count('Maximum number of claims (default 100, at most 1000).') },
  run: async ({ operands: [name = ''], options: { n }, client, printer }) => {
    const { body } = await client.poolClaims(name, { n })
    await printer.rows(body.claims, CLAIM_COLUMNS, body)
    if (printer.isTable)
      printer.note(`${body.claims.length} of ${body.in_use} claims; ${body.size} items, ${body.waiting} runs waiting`)
    return EXIT.OK
  },
})

const release = verb({
  name: 'release',
  operands: 'NAME ITEM',
  least: 2,
  most: 2,
  names: 'ITEM',
  summary: 'Ends the claim of an item. Its holder gets lease_lost from then on, and others may claim the item.',
  changes: true,
  examples: ['accounts account-7', 'accounts account-7 --yes'],
  options: {},
  run: async ({ operands: [name = '', id = ''], client, printer, confirm }) => {
    const [claim] = (await client.poolClaims(name, { n: 1, item: id })).body.claims
    if (claim === undefined)
      throw new Failure(EXIT.FAILED, 'not claimed', `nothing holds the item "${id}" of the pool "${name}"`)
    await confirm(`End the claim of ${holderText(claim)} on the item "${id}" of the pool "${name}"?`)
    const { body } = await client.releasePoolClaim(name, { id, token: claim.token })
    await printer.rows(
      [body],
      [
        { head: 'ITEM', cell: (row) => row.id, isName: true },
        { head: 'HOLDER', cell: () => workerText(claim) },
        { head: 'RELEASED', cell: (row) => (row.released ? 'yes' : 'no, it had already ended') },
      ],
      body,
    )
    return EXIT.OK
  },
})

function workerText({ automation_type: type, worker_id: id }: PoolClaimRow): string {
  return type === undefined ? id : `${type}/${id}`
}

function holderText(claim: PoolClaimRow): string {
  const { slot_id: slot, task_id: task } = claim
  const parts = [workerText(claim), slot === undefined ? '' : `slot ${slot}`, task === undefined ? '' : `task ${task}`]
  return parts.filter((part) => part !== '').join(', ')
}

export const pools: Noun = {
  summary: 'list pools, their items and claims, or end a claim',
  verbs: [poolsLs, claims, release],
}
