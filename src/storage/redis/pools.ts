/**
 * @module storage/redis/pools
 * Implements the `pools` of the contract. scripts/include/pool.lua documents the keys of a pool.
 *
 * A record is `expiry:length of tags:tags payload`, the length in characters of UTF-16, and only read here. What a
 * claim may match is kept apart as text that a script can search without parsing JSON: a line `"tag":value` for each
 * top-level tag whose value is text, a finite number or a boolean, as JSON.stringify writes it (which leaves no line
 * break inside). Before them stands `#length` of a large record, so that a claim knows without reading it when its
 * result is full.
 *
 * Who holds a claim is `token;renewals;time of the claim;list of worker, type, slot and task as JSON`. Earlier releases
 * wrote `token:worker`, and read only the token of either form.
 */
import { key } from './keys.ts'
import { runPruned } from './pruning.ts'
import { script } from './script.ts'
import type { Caller } from './caller.ts'
import {
  EXTEND_LOST,
  type Claim,
  type ClaimRequest,
  type ClaimRow,
  type PoolItem,
  type PoolRow,
  type Pools,
} from '../index.ts'

/** Records up to this long do not count towards the size of a response: 1,000 of them are 4 MiB. */
const SMALL_CHARS = 4_096
const REPEATABLE = { repeatable: true }

const PUT = script('pools.put')
const REMOVE = script('pools.remove')
const CLAIM = script('pools.claim')
const EXTEND = script('pools.extend')
const RELEASE = script('pools.release')
const LIST = script('pools.list')
const CLAIMS = script('pools.claims')
const SIZE = script('pools.size')

/** In the order of scripts/include/pool.lua. */
const keysOf = (pool: string): readonly string[] =>
  ['i', 'g', 's', 'f', 'c', 'o', 'e', 'm'].map((part) => key('p', pool, part))
const sizeKeysOf = (pool: string): readonly string[] => ['s', 'e'].map((part) => key('p', pool, part))

export function createPools(caller: Caller): Pools {
  return {
    put: async (pool, items) => {
      const args = items.flatMap((item) => {
        const record = recordOf(item)
        return [item.id, item.expiresAtMs ?? '', linesOf(record, item.tags), record]
      })
      return ((await runPruned(caller, PUT, keysOf(pool), args)) as readonly number[]).map((isNew) =>
        isNew === 1 ? 'created' : 'replaced',
      )
    },
    remove: async (pool, items) => {
      const results = (await runPruned(
        caller,
        REMOVE,
        keysOf(pool),
        items.flatMap(({ id, token }) => [id, token ?? '']),
      )) as readonly number[]
      return items.map(({ token }, i) => results[i] === 1 || (token === null ? false : 'lease_lost'))
    },
    claim: async (pool, requests) => {
      const args = [caller.runId(), requests.length, ...requests.flatMap(argumentsOf)]
      return ((await runPruned(caller, CLAIM, keysOf(pool), args)) as readonly (readonly (string | number)[])[]).map(
        claimsOf,
      )
    },
    extend: async (pool, items) => {
      const args = items.flatMap(({ id, token, holdMs }) => [id, token, holdMs])
      return ((await runPruned(caller, EXTEND, keysOf(pool), args, REPEATABLE)) as readonly number[]).map((until) =>
        until === 0 ? EXTEND_LOST.lease_lost : { kind: 'extended', expiresAtMs: until },
      )
    },
    release: async (pool, leases) => {
      const args = leases.flatMap(({ id, token }) => [id, token])
      return ((await runPruned(caller, RELEASE, keysOf(pool), args)) as readonly number[]).map((was) =>
        was === 1 ? 'ok' : 'lease_lost',
      )
    },
    list: async (pool, n) => {
      const [size, ...rows] = (await runPruned(caller, LIST, keysOf(pool), [n], REPEATABLE)) as readonly (
        string | number
      )[]
      return { size: Number(size), items: triples(rows, rowOf) }
    },
    claims: async (pool, n, id) => {
      const [inUse, ...rows] = (await runPruned(caller, CLAIMS, keysOf(pool), [n, id ?? ''], REPEATABLE)) as readonly (
        string | number
      )[]
      return { inUse: Number(inUse), claims: triples(rows, claimRow) }
    },
    sizes: async (pools) =>
      (await Promise.all(pools.map((pool) => caller.run(SIZE, sizeKeysOf(pool), [], REPEATABLE)))).map(Number),
  }
}

const recordOf = ({ expiresAtMs: expires, tags, payload }: PoolItem): string =>
  `${expires ?? ''}:${tags.length}:${tags}${payload}`

function textsOf(record: string): Omit<PoolItem, 'id'> {
  const first = record.indexOf(':')
  const start = record.indexOf(':', first + 1) + 1
  const end = start + Number(record.slice(first + 1, start - 1))
  return {
    tags: record.slice(start, end),
    payload: record.slice(end),
    expiresAtMs: first === 0 ? null : Number(record.slice(0, first)),
  }
}

/** Each line between two breaks; '' for none. */
function linesOf(record: string, tags: string): string {
  const size = record.length > SMALL_CHARS ? [`#${record.length}`] : []
  const lines = Object.entries(JSON.parse(tags) as object).flatMap(([tag, value]: [string, unknown]) =>
    isMatchable(value) ? [lineOf(tag, value)] : [],
  )
  return size.length + lines.length === 0 ? '' : `\n${[...size, ...lines].join('\n')}\n`
}

const lineOf = (tag: string, value: string | number | boolean): string =>
  `${JSON.stringify(tag)}:${JSON.stringify(value)}`
const isMatchable = (value: unknown): value is string | number | boolean =>
  typeof value === 'string' || typeof value === 'boolean' || Number.isFinite(value)

function argumentsOf({ owner, n, holdMs, match, holder = null }: ClaimRequest): readonly (string | number)[] {
  const wanted = Object.entries(match).map(([tag, value]) => `\n${lineOf(tag, value)}\n`)
  const by = holder === null ? [owner] : [owner, holder.type, holder.slotId, holder.taskId]
  return [JSON.stringify(by), n, holdMs, wanted.length, ...wanted]
}

function claimsOf(response: readonly (string | number)[]): readonly Claim[] {
  const until = Number(response.at(-1))
  return triples(response.slice(0, -1), (id, token, record) => {
    const { tags, payload } = textsOf(String(record))
    return { id: String(id), token: Number(token), tags, payload, expiresAtMs: until }
  })
}

function rowOf(id: string | number, record: string | number, until: string | number): PoolRow {
  return { id: String(id), ...textsOf(String(record)), inUseUntilMs: until === 0 ? null : Number(until) }
}

type HolderList = readonly [owner: string, type?: string, slotId?: number | null, taskId?: string | null]

function claimRow(id: string | number, until: string | number, text: string | number): ClaimRow {
  const [, token = '', rest = ''] = /^(\d+)[:;](.*)$/s.exec(String(text)) ?? []
  const claim = { id: String(id), token: Number(token), expiresAtMs: Number(until) }
  const [, renewals, claimedAtMs, list] = /^;(\d+);(\d+);(.*)$/s.exec(String(text).slice(token.length)) ?? []
  if (list === undefined) return { ...claim, owner: rest, holder: null }
  const [owner, type, slotId = null, taskId = null] = JSON.parse(list) as HolderList
  const times = { claimedAtMs: Number(claimedAtMs), renewals: Number(renewals) }
  return { ...claim, owner, holder: type === undefined ? null : { type, slotId, taskId, ...times } }
}

type Field = string | number
function triples<T>(fields: readonly Field[], of: (a: Field, b: Field, c: Field) => T): readonly T[] {
  return Array.from({ length: fields.length / 3 }, (_, i) =>
    of(fields[3 * i] ?? '', fields[3 * i + 1] ?? '', fields[3 * i + 2] ?? ''),
  )
}
