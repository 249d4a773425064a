/**
 * Marks are the lines that a recorded process writes among its disk operations: its history, and notes about the run.
 * A line of the history and the operations before it have one order, so a crash point knows what was acknowledged.
 */
import { openSync, readFileSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { History } from '../kit/history.ts'

const NOTES = ['phase', 'time', 'epoch'] as const
const NOTE = new RegExp(`^\\{"(?:${NOTES.join('|')})":`)

/** What a process says about its run: what it begins to do, the time in ms, the epoch of its store. */
export type Note = { readonly phase: string } | { readonly time: number } | { readonly epoch: string }

/** The file of marks in the watched folder. */
export class Marks {
  /** Continues the history of an earlier process in this folder. */
  readonly history: History
  readonly #file: number

  /** @param hasTimes Whether the time of each line of the history is noted in front of it. */
  constructor(root: string, hasTimes = false) {
    const path = join(root, 'marks')
    this.#file = openSync(path, 'a')
    this.history = History.of(historyOf(readFileSync(path, 'utf8').split('\n')), (line) => {
      if (hasTimes) this.note({ time: Date.now() })
      this.#write(line)
    })
  }

  readonly note = (note: Note): void => this.#write(JSON.stringify(note))

  readonly phase = (phase: string): void => this.note({ phase })

  #write(line: string): void {
    writeSync(this.#file, `${line}\n`)
  }
}

/** The lines of the history among marks. */
export function historyOf(lines: readonly string[]): readonly string[] {
  return lines.filter((line) => line !== '' && !NOTE.test(line))
}

/** The note in a mark of this kind; undefined for another mark. */
export function noteOf<Name extends (typeof NOTES)[number]>(
  name: Name,
  line: string,
): Extract<Note, Record<Name, unknown>>[Name] | undefined {
  if (!line.startsWith(`{"${name}":`)) return undefined
  return (JSON.parse(line) as Record<Name, Extract<Note, Record<Name, unknown>>[Name]>)[name]
}
