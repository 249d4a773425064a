/**
 * @module cmd/admin/output
 * `muster output`: follows, peeks at and pops outputs. The default format is one line of JSON per output.
 * @see D50
 */
import type { OutputEntry } from '../../protocol/index.ts'
import { flag } from '../readers.ts'
import { SettingsError } from '../settings.ts'
import { count, typeOperand } from './options.ts'
import { when, type Column } from './printer.ts'
import { EXIT, verb, type Noun } from './verb.ts'

const COLUMNS: readonly Column<OutputEntry>[] = [
  { head: 'ENTRY', cell: (row) => row.id },
  { head: 'TIME', cell: (row) => when(row.ts) },
  { head: 'SLOT', cell: (row) => row.slot_id },
  { head: 'PAYLOAD', cell: (row) => row.payload },
]

const tail = verb({
  name: 'tail',
  operands: 'TYPE',
  least: 1,
  most: 1,
  summary: 'Prints the newest entries, then follows new ones until Ctrl-C. Removes nothing.',
  format: 'json',
  examples: ['http-request', 'http-request -n 1 --no-follow', 'http-request -n 0 | head -1'],
  options: {
    n: {
      ...count('Number of entries to start with (default 10).'),
      read: (word: string) => (word === '0' ? 0 : count('').read(word)),
    },
    follow: { name: 'follow', short: 'f', help: 'Follow new entries (the default).', read: flag },
    noFollow: { name: 'no-follow', help: 'Exit after the newest entries.', read: flag },
  },
  run: async ({ operands, options, client, io, printer }) => {
    const type = typeOperand(operands[0])
    const n = options.n ?? 10
    if (options.follow && options.noFollow)
      throw new SettingsError([{ name: '--no-follow', problem: 'cannot be combined with --follow' }])
    if (options.noFollow) {
      if (n > 0) await printer.stream((await client.output.tail(type, { n })).body.entries, COLUMNS)
      return EXIT.OK
    }
    let lost = false
    const onLost = (error: Error): void => {
      if (!lost) printer.note(`lost the connection to the master, retrying: ${error.message}`)
      lost = true
    }
    const unread = io.unread()
    try {
      for await (const { entries, gap } of client.output.follow(type, { n, signal: unread.signal, onLost })) {
        lost = false
        if (gap) printer.note('some entries were removed before they could be read')
        await printer.stream(entries, COLUMNS)
      }
    } finally {
      unread.end()
    }
    return EXIT.OK
  },
})

const peek = verb({
  name: 'peek',
  operands: 'TYPE',
  least: 1,
  most: 1,
  summary: 'Prints the oldest entries without removing them.',
  format: 'json',
  examples: ['http-request', 'http-request -n 1 -o table'],
  options: { n: count('Maximum number of entries (default 10).') },
  run: async ({ operands, options, client, printer }) => {
    await printer.stream((await client.output.peek(typeOperand(operands[0]), { n: options.n })).body, COLUMNS)
    return EXIT.OK
  },
})

const pop = verb({
  name: 'pop',
  operands: 'TYPE',
  least: 1,
  most: 1,
  summary: 'Prints the oldest entries and removes them permanently.',
  format: 'json',
  changes: true,
  examples: ['http-request --yes >>outputs.ndjson', 'http-request -n 1000 --yes >>outputs.ndjson'],
  options: { n: count('Maximum number of entries (default 10).') },
  run: async ({ operands, options, client, printer, confirm }) => {
    const type = typeOperand(operands[0])
    await confirm(`Remove the oldest ${options.n ?? 10} entries of ${type} from its stream?`)
    await printer.stream((await client.output.pop(type, { n: options.n })).body, COLUMNS)
    return EXIT.OK
  },
})

export const output: Noun = { summary: 'follow, peek at or pop the output of an automation', verbs: [tail, peek, pop] }
