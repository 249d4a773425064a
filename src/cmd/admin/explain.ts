/**
 * @module cmd/admin/explain
 * Explains a failure in three lines on stderr, what happened, `cause:` and `next:`, and by an exit code (D42). Never
 * shows a token or a stack trace.
 */
import { MasterError, type MasterErrorCode } from '../../client/index.ts'
import type { KubeError } from '../../operator/kube/index.ts'
import { SettingsError } from '../settings.ts'
import type { Connection } from './contexts/connection.ts'
import { plain } from './printer.ts'
import { EXIT, Failure } from './verb.ts'

/** What was running when the failure happened. */
export interface Circumstances {
  /** `muster workers get`. */
  readonly command: string
  readonly operands: readonly string[]
  /** undefined: it failed before the master was known. */
  readonly connection: Pick<Connection, 'masterUrl' | 'from' | 'context'> | undefined
  readonly changes: boolean
}

const EXIT_CODES: Partial<Record<MasterErrorCode, number>> = {
  UNAUTHENTICATED: EXIT.NOT_ALLOWED,
  FORBIDDEN: EXIT.NOT_ALLOWED,
  NOT_FOUND: EXIT.NOT_FOUND,
  CLAIMED: EXIT.CONFLICT,
  STALE_GENERATION: EXIT.CONFLICT,
  TIMED_OUT: EXIT.TIMEOUT,
}

export interface Explained {
  readonly text: string
  readonly exitCode: number
}

export function explain(error: unknown, of: Circumstances): Explained {
  if (error instanceof SettingsError) return usage(error, of)
  if (error instanceof Failure) return lines(error.exitCode, error.message, error.why, error.next)
  if (isKubeError(error)) return clusterFailure(error, of)
  if (!(error instanceof MasterError))
    return lines(EXIT.FAILED, `${of.command} failed`, [error instanceof Error ? error.message : String(error)])
  const named = [error.status, error.requestId === undefined ? undefined : `request ${error.requestId}`].filter(
    (each) => each !== undefined,
  )
  const what = [of.command, ...of.operands.filter((word) => !word.includes('='))].join(' ') // A value may be anything.
  const causes =
    error.faults.length === 0
      ? [error.message]
      : error.faults.map(({ path, message }) => `${path === '' ? 'the value' : path} ${message}`)
  return lines(
    EXIT_CODES[error.code] ?? EXIT.FAILED,
    `${what} failed${named.length === 0 ? '' : ` (${named.join(', ')})`}`,
    causes,
    nextOf(error, of),
  )
}

/** An error of the API server, recognised by its name: its class is loaded by the verbs that need it alone. */
const isKubeError = (error: unknown): error is KubeError => error instanceof Error && error.name === 'KubeError'

const CLUSTER_EXIT_CODES: Readonly<Record<number, number>> = {
  401: EXIT.NOT_ALLOWED,
  403: EXIT.NOT_ALLOWED,
  404: EXIT.NOT_FOUND,
  409: EXIT.CONFLICT,
}

const CLUSTER_NEXT: Readonly<Record<number, string>> = {
  0: 'check that the API server of the kubeconfig is reachable: kubectl cluster-info',
  401: 'log in again, or check the user of the kubeconfig: kubectl auth whoami',
  403: 'ask for the right that the cause names, or use another kubeconfig',
  404: 'list the sets: kubectl get fleetworkersets --all-namespaces',
  422: 'look at the set, which may have changed meanwhile, and try again',
}

function clusterFailure({ status, message }: KubeError, { command, operands, changes }: Circumstances): Explained {
  const isUnknown = changes && status === 0
  return lines(
    CLUSTER_EXIT_CODES[status] ?? EXIT.FAILED,
    `${[command, ...operands].join(' ')} failed${status === 0 ? '' : ` (${status})`}`,
    [message],
    isUnknown
      ? 'the request may have been executed; check the current state before you repeat it'
      : CLUSTER_NEXT[status],
  )
}

function nextOf({ code, outcome }: MasterError, { connection, changes }: Circumstances): string | undefined {
  const address = connection?.masterUrl.href.replace(/\/$/, '') ?? 'the configured URL'
  if (code === 'UNREACHABLE') return `check that a master is running at ${address}, or change ${urlSource(connection)}`
  if (code === 'FOREIGN') return `check that ${address} is the URL of a master, or change ${urlSource(connection)}`
  if (code === 'UNAUTHENTICATED' || code === 'FORBIDDEN')
    return (
      `check the token in ${connection?.from.token ?? 'SVC_API_TOKEN'}: ` +
      'an admin token has all permissions, a scoped token those of its automations, a worker token none'
    )
  return changes && outcome === 'unknown'
    ? 'the request may have been executed; check the current state before you repeat it'
    : undefined
}

/** What to change if the URL is wrong. */
function urlSource(connection: Circumstances['connection']): string {
  if (connection == null || connection.context === null) return '--master-url or SVC_MASTER_URL'
  return connection.from.masterUrl
}

function usage({ faults }: SettingsError, { command }: Circumstances): Explained {
  const width = Math.max(...faults.map(({ name }) => name.length))
  const listed = faults.map(({ name, problem }) => `  ${name.padEnd(width)}  ${problem}`).join('\n')
  return {
    exitCode: EXIT.USAGE,
    text:
      `error: ${command} cannot run: ` +
      `${faults.length} ${faults.length === 1 ? 'fault' : 'faults'} in the command line\n` +
      `${listed}\nnext:  ${command} --help\n`,
  }
}

function lines(exitCode: number, message: string, causes: readonly string[], next?: string): Explained {
  const cause = causes.map((each, at) => `${at === 0 ? 'cause:' : '      '} ${plain(each)}\n`).join('')
  return { exitCode, text: `error: ${plain(message)}\n${cause}${next === undefined ? '' : `next:  ${next}\n`}` }
}
