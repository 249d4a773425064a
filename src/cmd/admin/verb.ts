/**
 * @module cmd/admin/verb
 * Defines an admin verb as data. Argument parsing, `--help` and the table of the README are generated from these rows.
 */
import type { MasterClient } from '../../client/index.ts'
import type { Read } from '../settings.ts'
import type { Connection } from './contexts/connection.ts'
import type { Io } from './io.ts'
import type { Printer } from './printer.ts'
import type { SetClient } from './rollout/set-client.ts'

export interface Option<T = unknown> {
  /** Without its dashes. */
  readonly name: string
  readonly short?: string
  /** Placeholder of the value in the help. Absent: the option is a switch without a value. */
  readonly value?: string
  readonly help: string
  readonly read: Read<T>
  /** May be given more than once. */
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
  /** Timeout of a request, and of `--wait`. */
  readonly timeoutMs: number
  /**
   * Resolves when the user confirms, or with `--yes`.
   * @throws {SettingsError} when there is no terminal to ask on.
   * @throws {Failure} when the user declines.
   */
  readonly confirm: (question: string) => Promise<void>
}

interface VerbBase<O extends Options> {
  readonly name: string
  /** A name of an earlier release, which still works. The help does not show it. */
  readonly formerName?: string
  /** Names that users of other commands try. The help shows them. */
  readonly aliases?: readonly string[]
  /** The operands, as the help shows them: `TYPE/ID`, `TYPE [TASK]`, `FIELD=VALUE…`. */
  readonly operands: string
  readonly least: number
  readonly most: number
  readonly summary: string
  /** What `-o name` prints, as the help of other verbs calls it: `TYPE/ID`. Absent: it prints no names. */
  readonly names?: string
  /** At least one; without `muster NOUN VERB`. */
  readonly examples: readonly string[]
  readonly options: O
}

interface RemoteVerbRow<O extends Options> extends VerbBase<O> {
  /** Default of `-o`; `table` when absent. */
  readonly format?: 'json'
  /** The verb changes state: when its response is lost, the error message says that it may have been executed. */
  readonly changes?: boolean
  /** Resolves with the exit code. */
  readonly run: (call: Invocation<O>) => Promise<number>
}

interface LocalInvocation<O extends Options> {
  readonly operands: readonly string[]
  readonly options: OptionValues<O>
  readonly io: Io
  readonly printer: Printer
  /** To be called with a connection that the verb opens. It is named in error messages, and closed after the verb. */
  readonly opened: (connection: Connection) => void
}

interface LocalVerbRow<O extends Options> extends VerbBase<O> {
  /** Prints with the printer, and has the options of the output too. */
  readonly prints?: true
  /** Resolves with the exit code. */
  readonly run: (call: LocalInvocation<O>) => Promise<number>
}

export interface ClusterInvocation<O extends Options = Options> extends Omit<LocalInvocation<O>, 'opened'> {
  readonly sets: SetClient
}

interface ClusterVerbRow<O extends Options> extends VerbBase<O> {
  /** As in a remote verb. */
  readonly changes?: boolean
  /** Resolves with the exit code. */
  readonly run: (call: ClusterInvocation<O>) => Promise<number>
}

/** A verb that calls a master. It has the common options too. */
export interface RemoteVerb extends RemoteVerbRow<Options> {
  readonly kind: 'remote'
}
/** A verb that needs no master. */
interface LocalVerb extends LocalVerbRow<Options> {
  readonly kind: 'local'
}
/** A verb that calls the API server of the kubeconfig. It has the options of a cluster too. */
export interface ClusterVerb extends ClusterVerbRow<Options> {
  readonly kind: 'cluster'
}
export type Verb = RemoteVerb | LocalVerb | ClusterVerb

/** Declares a verb. The types of its option values are inferred from the options' readers. */
export function verb<const O extends Options>(row: RemoteVerbRow<O>): Verb {
  return { ...row, kind: 'remote' } as unknown as Verb
}

/** Declares a verb that needs no master. */
export function localVerb<const O extends Options>(row: LocalVerbRow<O>): Verb {
  return { ...row, kind: 'local' } as unknown as Verb
}

/** Declares a verb that calls the API server. */
export function clusterVerb<const O extends Options>(row: ClusterVerbRow<O>): Verb {
  return { ...row, kind: 'cluster' } as unknown as Verb
}

export interface Noun {
  readonly summary: string
  readonly verbs: readonly Verb[]
}

/** Whether a noun has one verb without a name: `muster why TYPE`. */
export const isSingle = ({ verbs }: Noun): boolean => verbs.every(({ name }) => name === '')

/** Finds a verb by its name, an alias or the name that it had in an earlier release. */
export const findVerb = ({ verbs }: Noun, name: string): Verb | undefined =>
  verbs.find((each) => each.name === name) ??
  verbs.find(({ aliases = [], formerName }) => formerName === name || aliases.includes(name))

/** Ends a verb with an error message and an exit code (D42). `why` is printed as `cause:`, `next` as `next:`. */
export class Failure extends Error {
  override readonly name = 'Failure'
  readonly exitCode: number
  /** One line each. */
  readonly why: readonly string[]
  readonly next: string | undefined
  constructor(exitCode: number, message: string, why: string | readonly string[], next?: string) {
    super(message)
    this.exitCode = exitCode
    this.why = typeof why === 'string' ? [why] : why
    this.next = next
  }
}

export const EXIT = { OK: 0, FAILED: 1, USAGE: 2, NOT_FOUND: 3, NOT_ALLOWED: 4, CONFLICT: 5, TIMEOUT: 6 } as const
