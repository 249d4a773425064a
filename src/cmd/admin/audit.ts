/** @module cmd/admin/audit  `muster audit` lists and follows who changed what (D235). */
import { MAX_AUDIT_PAGE, type AuditBody, type AuditEntry, type AuditQuery } from '../../protocol/index.ts'
import { automationType, flag, integer, text } from '../readers.ts'
import { follow } from './follow.ts'
import { when, type Column } from './printer.ts'
import { EXIT, verb, type Invocation, type Noun } from './verb.ts'

const LOOK_EVERY_MS = 2_000
/** The log has no more. */
const MAX_NEW = 10_000

const COLUMNS: readonly Column<AuditEntry>[] = [
  { head: 'TIME', cell: (row) => when(row.ts) },
  { head: 'TOKEN', cell: (row) => row.actor?.name },
  { head: 'CLAIMS', cell: (row) => row.claimed_actor },
  { head: 'ACTION', cell: (row) => row.action },
  { head: 'TYPE', cell: (row) => row.type },
  { head: 'OBJECT', cell: (row) => row.object },
  { head: 'OUTCOME', cell: (row) => (row.outcome === 'done' ? 'done' : `${row.outcome} (${row.status})`) },
  { head: 'COUNT', cell: (row) => row.count },
  { head: 'CALLS', cell: (row) => row.calls },
  { head: 'FIELDS', cell: (row) => row.changed.join(', ') },
  { head: 'ROLES', cell: (row) => row.actor?.roles.join(', '), isWide: true },
  { head: 'PEER', cell: (row) => row.peer, isWide: true },
  { head: 'REQUEST', cell: (row) => row.request_id, isWide: true },
]

type Read = (page: { readonly n: number; readonly before?: number }) => Promise<AuditBody>

const ls = verb({
  name: 'ls',
  aliases: ['list'],
  operands: '',
  least: 0,
  most: 0,
  summary: 'Lists who changed what, oldest first: the newest entries of the audit log.',
  examples: ['', '--type http-request --action config', '--actor ana -n 20 -o json', '--follow'],
  options: {
    n: { name: 'n', short: 'n', value: 'N', help: 'Number of entries (default 50).', read: integer(1, 10_000) },
    type: { name: 'type', value: 'TYPE', help: 'Only changes of this automation type.', read: automationType },
    object: { name: 'object', value: 'ID', help: 'Only changes of this worker, task or other object.', read: text },
    actor: {
      name: 'actor',
      value: 'NAME',
      help: 'Only changes by the token of this name, or by calls that claim to be from this actor.',
      read: text,
    },
    action: {
      name: 'action',
      value: 'ACTION',
      help: 'Only this action, such as worker.drain, or all of a kind: worker, config, dead, operation, ….',
      read: text,
    },
    follow: { name: 'follow', short: 'f', help: 'Follow new entries until Ctrl-C.', read: flag },
  },
  run: async ({ options, client, io, printer }) => {
    const { n = 50, follow: isFollowed, type, object, actor, action } = options
    const filter: AuditQuery = {
      ...(type !== undefined && { type }),
      ...(object !== undefined && { object }),
      ...(actor !== undefined && { actor }),
      ...(action !== undefined && { action }),
    }
    const read: Read = async (page) => (await client.audit({ ...filter, ...page })).body
    const entries = await newest(read, n)
    if (!isFollowed) await printer.rows(entries, COLUMNS, { entries })
    else await printer.stream(entries, COLUMNS)
    if (entries.length === 0) printer.note('no entries')
    if (isFollowed) await followFrom({ io, printer }, read, entries.at(-1)?.n ?? 0)
    return EXIT.OK
  },
})

/** The newest `count` entries after number `after`, oldest first. */
async function newest(read: Read, count: number, after = 0): Promise<readonly AuditEntry[]> {
  const found: AuditEntry[] = []
  let page: { readonly before?: number } | null = {}
  while (page !== null && found.length < count) {
    const { entries, next }: AuditBody = await read({ n: Math.min(count - found.length, MAX_AUDIT_PAGE), ...page })
    found.push(...entries.filter(({ n }) => n > after))
    page = next === null || next <= after + 1 ? null : { before: next }
  }
  return found.toReversed()
}

function followFrom(to: Pick<Invocation, 'io' | 'printer'>, read: Read, last: number): Promise<void> {
  let after = last
  return follow(to, {
    everyMs: LOOK_EVERY_MS,
    what: 'the audit log',
    look: async () => {
      const entries = await newest(read, MAX_NEW, after)
      await to.printer.stream(entries, COLUMNS)
      after = entries.at(-1)?.n ?? after
    },
  })
}

export const auditNoun: Noun = { summary: 'list who changed what', verbs: [ls] }
