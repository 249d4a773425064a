/** @module cmd/admin/alerts  `muster alerts` lists the alerts of the fleet (D200). */
import type { Alert } from '../../protocol/index.ts'
import { flag } from '../readers.ts'
import { typeOperand } from './options.ts'
import { when, type Column } from './printer.ts'
import { EXIT, verb, type Noun } from './verb.ts'

const COLUMNS: readonly Column<Alert>[] = [
  { head: 'STATUS', cell: statusOf },
  { head: 'SEVERITY', cell: (row) => row.severity },
  { head: 'KIND', cell: (row) => row.kind },
  { head: 'SUBJECT', cell: (row) => row.subject },
  { head: 'SINCE', cell: (row) => when(row.since) },
  { head: 'FIRED', cell: (row) => when(row.fired_at), isWide: true },
  { head: 'COUNT', cell: (row) => row.count, isWide: true },
  { head: 'ALERT', cell: (row) => row.id, isWide: true },
  { head: 'RESOLVED', cell: (row) => when(row.resolved_at) },
  { head: 'TEXT', cell: (row) => row.text },
]

function statusOf({ resolved_at: at, acknowledged }: Alert): string {
  if (at !== null) return 'resolved'
  return acknowledged ? 'acknowledged' : 'firing'
}

const alerts = verb({
  name: '',
  operands: '[TYPE]',
  least: 0,
  most: 1,
  summary: 'Lists the alerts that fire: problems of the fleet that have lasted for a while.',
  examples: ['', 'http-request', '--all -o json'],
  options: { all: { name: 'all', help: 'Also the alerts that were resolved in the last 24 hours.', read: flag } },
  run: async ({ operands: [word], options, client, printer }) => {
    const type = word === undefined ? null : typeOperand(word)
    const { body } = await client.alerts()
    const shown = body.alerts.filter(
      (each) => (type === null || each.type === type) && (options.all || each.resolved_at === null),
    )
    await printer.rows(shown, COLUMNS, { alerts: shown })
    if (printer.isTable) {
      const firing = shown.filter((each) => each.resolved_at === null)
      const acknowledged = firing.filter((each) => each.acknowledged).length
      printer.note(`${firing.length} firing${acknowledged === 0 ? '' : `, ${acknowledged} of them acknowledged`}`)
    }
    return EXIT.OK
  },
})

export const alertsNoun: Noun = { summary: 'list the alerts of the fleet', verbs: [alerts] }
