/**
 * @module cmd/admin/verb
 * What a verb is. One table of these gives the command line its parsing, its help and its page: a verb without a row
 * cannot exist.
 */
import type { MasterClient } from '../../client/index.ts'
import type { Read } from '../settings.ts'
import type { Io } from './io.ts'
import type { Printer } from './printer.ts'

export interface Option<T = unknown> {
  /** Without its dashes. */
  readonly name: string
  readonly short?: string
  /** What stands for the value in the help; left out: a switch. */
  readonly value?: string
  readonly help: string
  readonly read: Read<T>
  /** May stand more than once. */
  readonly many?: boolean
}

export type Options = Readonly<Record<string, Option>>
export type OptionValues<O extends Options> = {
  readonly [K in keyof O]: O[K] extends { readonly many: true }
    ? readonly ReturnType<O[K]['read']>[]
    : O[K] extends { readonly value: string }
      ? ReturnType<O[K]['read']> | undefined
      : boolean
}

export interface Invocation<O extends Options = Options> {
  readonly operands: readonly string[]
  readonly options: OptionValues<O>
  readonly client: MasterClient
  readonly io: Io
  readonly printer: Printer
  /** How long a call, or a wait, may take. */
  readonly timeoutMs: number
  /** Goes on when a person agrees, or `--yes` was given. @throws SettingsError where nobody can be asked; {@link Failure} when they say no. */
  readonly confirm: (question: string) => Promise<void>
}

export interface Verb<O extends Options = Options> {
  readonly name: string
  /** The operands, as the help shows them: `TYPE/ID`, `TYPE [TASK]`, `FIELD=VALUE…`. */
  readonly operands: string
  readonly least: number
  readonly most: number
  readonly summary: string
  /** At least one; without `muster NOUN VERB`. */
  readonly examples: readonly string[]
  readonly options: O
  /** What `-o` is when it is left out. */
  readonly format?: 'json'
  /** It changes something: when its answer is lost, that is said. */
  readonly changes?: boolean
  /** Resolves with the exit code. */
  readonly run: (call: Invocation<O>) => Promise<number>
}

/** A row of the table; its options are typed by their readers, which ran before it does. */
export function verb<const O extends Options>(row: Verb<O>): Verb {
  return row as unknown as Verb
}

export interface Noun {
  readonly summary: string
  readonly verbs: readonly Verb[]
}

/** Ends a verb with a sentence for people and an exit code for programs (D42). */
export class Failure extends Error {
  override readonly name = 'Failure'
  readonly exitCode: number
  readonly why: string
  readonly next: string | undefined
  constructor(exitCode: number, message: string, why: string, next?: string) {
    super(message)
    this.exitCode = exitCode
    this.why = why
    this.next = next
  }
}

export const EXIT = { OK: 0, FAILED: 1, USAGE: 2, NOT_FOUND: 3, NOT_ALLOWED: 4, CONFLICT: 5, TIMEOUT: 6 } as const
