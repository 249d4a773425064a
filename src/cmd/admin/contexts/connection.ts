/**
 * @module cmd/admin/contexts/connection
 * Decides which master a command calls, and with which token (D209). A flag takes precedence over the environment, and
 * the environment over the current context:
 *
 *   --master-url, --context  >  SVC_MASTER_URL, SVC_API_TOKEN, MUSTER_CONTEXT  >  `current` of the file
 *
 * The token of a context is sent only to the master of the same context.
 */
import { readFileSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { dirname, join, resolve } from 'node:path'
import { homedir } from 'node:os'
import { MasterClient, type ClientOptions } from '../../../client/index.ts'
import { plainTextWarning } from '../../plain-text.ts'
import { readSettings, SettingsError, type Environment, type SettingFault } from '../../settings.ts'
import type { Io } from '../io.ts'
import { CONNECTION_SETTINGS } from '../options.ts'
import { EXIT, Failure } from '../verb.ts'
import { contextOf, readContexts, type Context, type ContextFile } from './context-file.ts'
import { outputOf } from './programs.ts'

/** A sign-in in a browser may be part of it. */
const TOKEN_COMMAND_MS = 60_000

export interface ConnectionFlags {
  readonly masterUrl: string | undefined
  readonly context: string | undefined
}

/** A master, its token and where both come from. */
export interface Connection {
  readonly masterUrl: URL
  readonly token: () => string
  /** PEM text; undefined: the CAs of the system. */
  readonly ca: string | undefined
  /** Where each comes from: `--master-url`, `SVC_API_TOKEN`, `contexts.prod.ca-file`. */
  readonly from: { readonly masterUrl: string; readonly token: string; readonly ca: string | undefined }
  /** The context in use; null if there is none. The name is empty for the kubeconfig of `kubectl muster`. */
  readonly context: string | null
  /** Stops the forwarding of a port. */
  readonly close: () => void
}

type Chosen =
  | { readonly kind: 'none' }
  | { readonly kind: 'kubeconfig' }
  | { readonly kind: 'context'; readonly file: ContextFile; readonly name: string; readonly isExplicit: boolean }

const NO_CONTEXT: Chosen = { kind: 'none' }
const has = (environment: Environment, name: string): boolean => (environment[name] ?? '') !== ''
const hasToken = (environment: Environment): boolean =>
  has(environment, 'SVC_API_TOKEN') || has(environment, 'SVC_API_TOKEN_FILE')

/**
 * Finds the master and its token. May run the program of a context, or kubectl.
 * @param options `faults`: further faults of the command line, which are reported together with those of the settings.
 *   `programs`: whether a program of the context, or kubectl, may be run; yes if omitted.
 * @throws {SettingsError} with every fault of flags and environment.
 * @throws {Failure} if the context cannot be used.
 */
export async function findConnection(
  flags: ConnectionFlags,
  io: Io,
  { faults = [], programs = true }: { readonly faults?: readonly SettingFault[]; readonly programs?: boolean } = {},
): Promise<Connection> {
  if (flags.context !== undefined && flags.masterUrl !== undefined)
    throw new SettingsError([...faults, { name: '--context', problem: 'cannot be combined with --master-url' }])
  const chosen = await chooseContext(flags, io)
  if (chosen.kind === 'none') return fromSettings(flags, io.environment, faults)
  if (faults.length > 0) throw new SettingsError(faults)
  const context = chosen.kind === 'context' ? contextOf(chosen.file, chosen.name) : {}
  const isProgram =
    chosen.kind === 'kubeconfig' || context.kubernetes !== undefined || context['token-command'] !== undefined
  if (isProgram && !programs) throw new TypeError('the context needs a program')
  if (chosen.kind === 'kubeconfig') return fromKubernetes({}, '', io)
  if (context.kubernetes !== undefined) return fromKubernetes(context.kubernetes, chosen.name, io)
  return fromContext(context, chosen, flags, io)
}

/** Whether a flag, the environment or the file of contexts names a master. */
export async function isConfigured(flags: ConnectionFlags, io: Io): Promise<boolean> {
  const { kind } = await chooseContext(flags, io)
  return kind !== 'none' || flags.masterUrl !== undefined || has(io.environment, 'SVC_MASTER_URL')
}

async function chooseContext({ context, masterUrl }: ConnectionFlags, io: Io): Promise<Chosen> {
  const { environment } = io
  if (context !== undefined) return { kind: 'context', file: await readContexts(io), name: context, isExplicit: true }
  if (masterUrl === undefined && io.isKubectlPlugin) return { kind: 'kubeconfig' }
  const hasUrl = masterUrl !== undefined || has(environment, 'SVC_MASTER_URL')
  if (hasUrl && hasToken(environment)) return NO_CONTEXT
  const file = await readContexts(io)
  const name = environment['MUSTER_CONTEXT'] || file.current
  if (name === null) return NO_CONTEXT
  const found: Chosen = { kind: 'context', file, name, isExplicit: false }
  if (!hasUrl) return found
  const url = URL.parse(masterUrl ?? environment['SVC_MASTER_URL'] ?? '')
  return url !== null && url.href === hrefOf(contextOf(file, name)) ? found : NO_CONTEXT
}

const hrefOf = (context: Context): string | undefined => URL.parse(context['master-url'] ?? '')?.href

function fromSettings(
  { masterUrl }: ConnectionFlags,
  environment: Environment,
  faults: readonly SettingFault[],
): Connection {
  const words = masterUrl === undefined ? [] : ['--master-url', masterUrl]
  const settings = readSettings(CONNECTION_SETTINGS, environment, words)
  const all = [...faults, ...settings.faults]
  if (all.length > 0) throw new SettingsError(all)
  const { masterUrl: url, token } = settings.values
  return {
    masterUrl: url,
    token: () => token,
    ca: undefined,
    from: {
      masterUrl: masterUrl === undefined ? 'SVC_MASTER_URL' : '--master-url',
      token: tokenVariable(environment),
      ca: undefined,
    },
    context: null,
    close: () => undefined,
  }
}

function tokenVariable(environment: Environment): string {
  const file = environment['SVC_API_TOKEN_FILE']
  return file === undefined || file === '' ? 'SVC_API_TOKEN' : `SVC_API_TOKEN_FILE=${file}`
}

async function fromContext(
  context: Context,
  { file, name, isExplicit }: Extract<Chosen, { kind: 'context' }>,
  { masterUrl }: ConnectionFlags,
  io: Io,
): Promise<Connection> {
  const { environment } = io
  const field = (key: keyof Context): string => `contexts.${name}.${key}`
  const caFile = context['ca-file']
  const ca = caFile === undefined ? undefined : await readNamedFile(file, name, 'ca-file', caFile)
  const isUrlGiven = !isExplicit && (masterUrl !== undefined || has(environment, 'SVC_MASTER_URL'))
  const given = masterUrl === undefined ? 'SVC_MASTER_URL' : '--master-url'
  const hasOwnToken = context['token-file'] !== undefined || context['token-command'] !== undefined
  const usesEnvironment = hasToken(environment) && !(isExplicit && hasOwnToken)
  const token = usesEnvironment ? environmentToken(environment) : await contextToken(context, file, name, io)
  return {
    masterUrl: new URL(context['master-url'] ?? ''),
    token: token.read,
    ca,
    from: {
      masterUrl: isUrlGiven ? given : field('master-url'),
      token: token.from,
      ca: ca === undefined ? undefined : field('ca-file'),
    },
    context: name,
    close: () => undefined,
  }
}

interface TokenSource {
  readonly read: () => string
  readonly from: string
}

function environmentToken(environment: Environment): TokenSource {
  const { values, faults } = readSettings({ token: CONNECTION_SETTINGS.token }, environment, [])
  if (faults.length > 0) throw new SettingsError(faults)
  return { read: () => values.token, from: tokenVariable(environment) }
}

async function contextToken(context: Context, file: ContextFile, name: string, io: Io): Promise<TokenSource> {
  const tokenFile = context['token-file']
  if (tokenFile !== undefined) {
    const path = pathIn(file, tokenFile)
    let token = await readNamedFile(file, name, 'token-file', tokenFile)
    // Read again for each request, because the token may be replaced while the command follows something.
    const read = (): string => (token = readOr(path, token))
    return { read, from: `contexts.${name}.token-file=${path}` }
  }
  const words = context['token-command']
  const set = `muster context set ${name}`
  if (words === undefined)
    throw new Failure(
      EXIT.USAGE,
      `the context ${name} has no token`,
      `${file.path}: contexts.${name} has neither token-file nor token-command, and SVC_API_TOKEN is not set`,
      `${set} --token-file FILE, or ${set} --token-command 'PROGRAM ARGUMENTS'`,
    )
  const from = `contexts.${name}.token-command`
  const output = await outputOf({
    words,
    timeoutMs: TOKEN_COMMAND_MS,
    from: `${file.path}: ${from}`,
    next: `run it yourself: ${words.join(' ')}; or ${set} --token-command 'PROGRAM ARGUMENTS'`,
    environment: io.environment,
    err: io.err,
  })
  const token = tokenIn(output)
  if (/^[\x21-\x7e]+$/.test(token)) return { read: () => token, from }
  throw new Failure(
    EXIT.USAGE,
    `the context ${name} has no token`,
    `${file.path}: ${from}: the program printed ${token === '' ? 'nothing' : 'something other than a token'}`,
    `run it yourself: ${words.join(' ')}; it has to print the token alone, or an ExecCredential`,
  )
}

/** The output of the program: the token, or the ExecCredential that credential plugins of kubectl print. */
function tokenIn(output: string): string {
  const text = output.trim()
  if (!text.startsWith('{')) return text
  try {
    const { status } = JSON.parse(text) as { readonly status?: { readonly token?: unknown } }
    return typeof status?.token === 'string' ? status.token : text
  } catch {
    return text
  }
}

/** A path of the file: relative to its folder; `~/` is the home directory. */
const pathIn = ({ path }: ContextFile, given: string): string =>
  given.startsWith('~/') ? join(homedir(), given.slice(2)) : resolve(dirname(path), given)

async function readNamedFile(file: ContextFile, name: string, field: keyof Context, given: string): Promise<string> {
  const path = pathIn(file, given)
  const fail = (problem: string): Failure =>
    new Failure(
      EXIT.USAGE,
      `the context ${name} cannot be used`,
      `${file.path}: contexts.${name}.${field}: ${path} ${problem}`,
      `create ${path}, or muster context set ${name} --${field} FILE`,
    )
  const content = await readFile(path, 'utf8').catch((error: NodeJS.ErrnoException) => {
    throw fail(`cannot be read: ${error.code ?? error.message}`)
  })
  if (content.trim() === '') throw fail('is empty')
  return content.trim()
}

function readOr(path: string, last: string): string {
  try {
    return readFileSync(path, 'utf8').trim() || last
  } catch {
    return last
  }
}

async function fromKubernetes(given: NonNullable<Context['kubernetes']>, name: string, io: Io): Promise<Connection> {
  const { reachByKubectl } = await import('./kubectl.ts')
  const { url, token, secret, stop } = await reachByKubectl(given, name, io)
  const from = name === '' ? 'the kubeconfig' : `contexts.${name}.kubernetes`
  return {
    masterUrl: url,
    token: () => token,
    ca: undefined,
    from: { masterUrl: from, token: secret, ca: undefined },
    context: name,
    close: stop,
  }
}

/** Creates the client of a connection. Warns on stderr if the token is sent unencrypted to another host. */
export function clientOf(
  { masterUrl, token, ca }: Pick<Connection, 'masterUrl' | 'token' | 'ca'>,
  { time, random, err, user }: Io,
  options: Pick<ClientOptions, 'callMs' | 'headersMs'>,
): MasterClient {
  const warning = plainTextWarning(masterUrl)
  if (warning !== undefined) err(`warning: ${warning}\n`)
  return new MasterClient({
    masterUrl: masterUrl.href,
    token,
    clock: time,
    timers: time,
    random,
    actor: actorOf(user),
    ...(ca !== undefined && { ca }),
    ...options,
  })
}

/** @see D39 */
const actorOf = (user: string): string => `cli:${user.replaceAll(/[^\x20-\x7e]/g, '?')}`.slice(0, 128)
