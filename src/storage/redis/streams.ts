/**
 * @module storage/redis/streams
 * Implements the `streams` of the contract. The output stream of one automation type has three keys, under the tag
 * `{o:T}`:
 *
 *   l   LIST of entries, oldest first
 *   b   LIST of flushes, one row a push: `ms:sequence of its last entry:bytes`; the first row may be taken in part
 *   h   HASH: `size` bytes of all rows, as `end:LLEN l:bytes`; valid while both still hold, since an older release does
 *       not keep it; `end` sequence of the newest entry, `ms` of the newest flush, `gone` ms of the newest entry that
 *       was removed, and `p<producer>` → `last sequence number of the producer:ms`
 *
 * Entries carry no id of their own: the entry before the head has the sequence end − LLEN l (`past` in the scripts),
 * each next one is one higher, and its time is that of its flush. So push and pop touch ends of lists alone, and no
 * entry is rewritten. Rows grow in both time and sequence, which is what the search of tail rests on.
 *
 * Pushes of one type run one after the other: one whose reply never came is sent again under its number, and must not
 * be overtaken by the next, whose higher number would make it a repeat.
 */
import { MAX_RESPONSE_BYTES } from '../../protocol/index.ts'
import type { StreamEntry, Streams } from '../index.ts'
import type { Caller, Reply } from './caller.ts'
import type { PublishMode } from './bus.ts'
import { key, shardedTopic } from './keys.ts'
import { KeyedMutex } from './keyed-mutex.ts'
import { script } from './script.ts'

const PUSH = script('streams.push')
const PEEK = script('streams.peek')
const POP = script('streams.pop')
const TAIL = script('streams.tail')
const LENGTH = script('streams.length')
const BYTES = script('streams.bytes')
const TRIM = script('streams.trim')

const MS_DIGITS = 13
const SEQUENCE_DIGITS = 16
const ID_CHARS = MS_DIGITS + 1 + SEQUENCE_DIGITS

type Found = readonly [past: number, rows: readonly string[], entries: readonly string[]]
type Tail = readonly [...Found, start: number, gone: string | null]

export function createStreams(caller: Caller, modeNow: () => PublishMode): Streams {
  const turns = new KeyedMutex()
  return {
    push: (type, producer, seq, entries) =>
      turns.run(type, async () => {
        const [topic, mode] = [`${type}.emit`, modeNow()]
        const channel = caller.channel(mode === 'sharded' ? shardedTopic(topic) : `event:${topic}`)
        const args = [`p${producer}`, seq, channel, mode, ...entries]
        const [length = 0, trimmed = 0] = (await caller.run(PUSH, keysOf(type), args, {
          repeatable: true,
        })) as readonly number[]
        return { length, trimmed }
      }),
    tail: async (type, after, n, bytes = MAX_RESPONSE_BYTES) => {
      const behind = after === null ? [] : greatestUpTo(after)
      const [past, rows, found, start, gone] = (await caller.run(TAIL, keysOf(type), [n, bytes, ...behind], {
        repeatable: true,
      })) as Tail
      const isAtHead = past === start
      return {
        entries: entriesOf([past, rows, found]),
        gap: after !== null && isAtHead && (gone === null || after !== idOf(gone, start)),
      }
    },
    peek: async (type, n, bytes = MAX_RESPONSE_BYTES) =>
      entriesOf((await caller.run(PEEK, keysOf(type), [n, bytes], { repeatable: true })) as readonly Reply[] as Found),
    pop: async (type, n, bytes = MAX_RESPONSE_BYTES) =>
      entriesOf((await caller.run(POP, keysOf(type), [n, bytes])) as readonly Reply[] as Found),
    bytes: (types) =>
      Promise.all(types.map(async (type) => Number(await caller.run(BYTES, keysOf(type), [], { repeatable: true })))),
    trim: async (type, maxBytes) => {
      const [trimmed = 0, more] = (await caller.run(TRIM, keysOf(type), [maxBytes])) as readonly number[]
      return { trimmed, more: more === 1 }
    },
    length: (types) =>
      Promise.all(
        types.map(async (type) => Number(await caller.run(LENGTH, keysOf(type).slice(0, 1), [], { repeatable: true }))),
      ),
  }
}

const keysOf = (type: string): string[] => ['l', 'b', 'h'].map((part) => key('o', type, part))

/** `<flush ms, 13 digits>-<sequence, 16 digits>`: grows, sorts as text. */
const idOf = (ms: string, sequence: number): string =>
  `${ms.padStart(MS_DIGITS, '0')}-${String(sequence).padStart(SEQUENCE_DIGITS, '0')}`

function entriesOf([past, rows, entries]: Found): StreamEntry[] {
  const flushes = rows.map((row) => row.split(':'))
  let at = 0
  return entries.map((entry, i) => {
    const sequence = past + 1 + i
    while (Number(flushes[at]?.[1]) < sequence) at += 1
    return { id: idOf(flushes[at]?.[0] ?? '', sequence), entry }
  })
}

/**
 * Time and sequence of the greatest possible id that is not above `text`, compared as text: what a client sends as the
 * point to go on from may be anything. The sequence may be −1.
 */
export function greatestUpTo(text: string): readonly [ms: number, sequence: number] {
  const [prefix = ''] = /^(?:\d{13}-\d{0,16}|\d{0,13})/.exec(text) ?? []
  const isWhole = prefix.length === ID_CHARS
  const next = text[prefix.length] ?? ''
  // Above all ids that begin with the prefix; else below them.
  const isAbove = !isWhole && next > (prefix.length === MS_DIGITS ? '-' : '9')
  const digits = prefix.replace('-', '').padEnd(MS_DIGITS + SEQUENCE_DIGITS, isAbove ? '9' : '0')
  const [ms, sequence] = [Number(digits.slice(0, MS_DIGITS)), Number(digits.slice(MS_DIGITS))]
  return [ms, isWhole || isAbove ? sequence : sequence - 1]
}
