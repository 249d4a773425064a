/**
 * @module cmd/admin/contexts/context-file
 * Reads and writes the file of contexts, `~/.config/muster/config.yaml`. A context names a master and where its token
 * comes from; the file contains no token.
 *
 *   current: prod
 *   contexts:
 *     prod: { master-url: https://muster.example.com, token-command: [vault, read, -field=token, secret/muster] }
 *     lab: { kubernetes: { namespace: muster } }
 */
import { mkdir, readFile, realpath, rename, stat, writeFile } from 'node:fs/promises'
import { homedir } from 'node:os'
import { dirname, isAbsolute, join } from 'node:path'
import { kubeName, masterUrl, objectNames, text } from '../../readers.ts'
import { nearest, type Environment } from '../../settings.ts'
import { isObject } from '../input.ts'
import type { Io } from '../io.ts'
import { EXIT, Failure } from '../verb.ts'

export interface KubernetesContext {
  /** Context of the kubeconfig; absent: its current one. */
  readonly context?: string
  readonly namespace?: string
  /** The Service of the master; absent: the one with the labels of the chart. */
  readonly service?: string
  /** `NAME` or `NAME/KEY`; absent: the Secret that the chart creates. */
  readonly secret?: string
}

export interface Context {
  readonly 'master-url'?: string
  readonly 'token-file'?: string
  readonly 'token-command'?: readonly string[]
  readonly 'ca-file'?: string
  readonly kubernetes?: KubernetesContext
}

export interface ContextFile {
  readonly path: string
  readonly current: string | null
  /** The contexts as they are in the file, not validated; see {@link contextOf}. */
  readonly contexts: Readonly<Record<string, unknown>>
}

const NAME = /^[A-Za-z0-9][\w.-]{0,62}$/

/** Reads the name of a context: 1 to 63 letters, digits, dots, dashes and underscores. */
export function contextName(word: string): string {
  if (NAME.test(word)) return word
  throw new Error(
    `${JSON.stringify(word)} is not a name: ` +
      'use 1 to 63 letters, digits, dots, dashes and underscores; for example prod',
  )
}

/** @see https://specifications.freedesktop.org/basedir-spec/latest/ A relative XDG_CONFIG_HOME is ignored. */
function contextPath({ XDG_CONFIG_HOME: xdg = '', HOME: home = '' }: Environment): string {
  const folder = isAbsolute(xdg) ? xdg : join(home === '' ? homedir() : home, '.config')
  return join(folder, 'muster', 'config.yaml')
}

/**
 * Reads the file; without contexts if it does not exist. Warns on stderr if other users may read or write it.
 * @throws {Failure} if it cannot be read or is not a file of contexts.
 */
export async function readContexts({ environment, err }: Pick<Io, 'environment' | 'err'>): Promise<ContextFile> {
  const path = contextPath(environment)
  const content = await readFile(path, 'utf8').catch((error: unknown) => {
    if (isMissing(error)) return null
    throw unusable(path, [`cannot be read: ${codeOf(error)}`], `make it readable: chmod 600 ${path}`)
  })
  if (content === null) return { path, current: null, contexts: {} }
  const { mode } = await stat(path)
  if ((mode & 0o077) !== 0) {
    const shown = (mode & 0o777).toString(8).padStart(4, '0')
    err(`warning: ${path} has mode ${shown}, so other users may read or change it: chmod 600 ${path}\n`)
  }
  return { path, ...(await parsed(path, content)) }
}

async function parsed(path: string, content: string): Promise<Omit<ContextFile, 'path'>> {
  const { parse } = await import('../yaml.ts')
  let value: unknown
  try {
    value = parse(content) ?? {}
  } catch (error) {
    const [problem = ''] = (error as Error).message.split('\n')
    throw unusable(path, [`is not YAML: ${problem}`], `correct ${path}`)
  }
  const { current = null, contexts = {} } = isObject(value) ? value : {}
  const faults = [
    ...(isObject(value) ? unknownKeys('', value, ['current', 'contexts']) : ['is not an object with contexts']),
    ...(current === null || typeof current === 'string' ? [] : ['current: is not the name of a context']),
    ...(isObject(contexts) ? [] : ['contexts: is not an object of names']),
  ]
  if (faults.length > 0) throw unusable(path, faults, `correct ${path}`)
  return { current: current as string | null, contexts: contexts as Record<string, unknown> }
}

/**
 * Returns a context of the file, validated.
 * @throws {Failure} that names file, field, problem and the command that corrects it.
 */
export function contextOf({ path, contexts }: ContextFile, name: string): Context {
  const names = Object.keys(contexts)
  if (!Object.hasOwn(contexts, name)) {
    const known = names.length === 0 ? 'it has none' : `it has ${names.join(', ')}`
    throw unusable(
      path,
      [`contexts.${name}: does not exist; ${known}${nearest(name, names)}`],
      names.length === 0 ? `muster context set ${name} --master-url URL --token-file FILE` : 'muster context ls',
    )
  }
  const given = contexts[name]
  const faults = faultsOf(given)
  if (faults.length > 0)
    throw unusable(
      path,
      faults.map((fault) => `contexts.${name}${fault}`),
      `muster context set ${name} --help, or correct ${path}`,
    )
  return given as Context
}

/** Returns what is wrong with a context, each as `.field: problem`. */
export function faultsOf(given: unknown): readonly string[] {
  if (!isObject(given)) return [': is not an object']
  const { kubernetes } = given
  return [
    ...unknownKeys('.', given, Object.keys(FIELDS)),
    ...Object.entries(FIELDS).flatMap(([field, check]) => faultOf(`.${field}`, given[field], check)),
    ...(isObject(kubernetes)
      ? [
          ...unknownKeys('.kubernetes.', kubernetes, Object.keys(KUBERNETES_FIELDS)),
          ...Object.entries(KUBERNETES_FIELDS).flatMap(([field, check]) =>
            faultOf(`.kubernetes.${field}`, kubernetes[field], check),
          ),
        ]
      : []),
    ...combinations(given),
  ]
}

function combinations(given: Readonly<Record<string, unknown>>): readonly string[] {
  const has = (field: string): boolean => given[field] !== undefined
  if (!has('master-url') && !has('kubernetes')) return ['.master-url: is required, or kubernetes']
  if (has('kubernetes')) {
    const others = ['master-url', 'ca-file'].filter(has)
    return others.map((field) => `.${field}: cannot be combined with kubernetes`)
  }
  return has('token-file') && has('token-command') ? ['.token-command: cannot be combined with token-file'] : []
}

type Check = (value: unknown) => unknown

const ofText =
  (read: (word: string) => unknown): Check =>
  (value) => {
    if (typeof value !== 'string') throw new Error('is not a text')
    return read(value)
  }

const words: Check = (value) => {
  const isList = Array.isArray(value) && value.length > 0 && value.every((word) => typeof word === 'string')
  if (!isList || value[0] === '') throw new Error('is not a list of a program and its arguments')
}

const secret = (word: string): void => {
  const [name = '', key, ...more] = word.split('/')
  if (more.length > 0 || key === '' || objectNames(name).length !== 1)
    throw new Error(`${JSON.stringify(word)} is not NAME or NAME/KEY; for example muster-tokens/admin-token`)
}

const FIELDS: Readonly<Record<keyof Context, Check>> = {
  'master-url': ofText(masterUrl),
  'token-file': ofText(text),
  'token-command': words,
  'ca-file': ofText(text),
  kubernetes: (value) => {
    if (!isObject(value)) throw new Error('is not an object; {} uses the current context of the kubeconfig')
  },
}

const KUBERNETES_FIELDS: Readonly<Record<keyof KubernetesContext, Check>> = {
  context: ofText(text),
  namespace: ofText(kubeName),
  service: ofText(kubeName),
  secret: ofText(secret),
}

function faultOf(field: string, value: unknown, check: Check): readonly string[] {
  if (value === undefined) return []
  try {
    check(value)
    return []
  } catch (error) {
    return [`${field}: ${(error as Error).message}`]
  }
}

const unknownKeys = (prefix: string, value: object, known: readonly string[]): readonly string[] =>
  Object.keys(value)
    .filter((key) => !known.includes(key))
    .map((key) => `${prefix}${key}: is not known${nearest(key, known) || `; known: ${known.join(', ')}`}`)

/**
 * Writes `current` and one context, undefined to remove it, with mode 0600. Comments of the file are kept.
 * @throws {Failure} if the file cannot be written.
 */
export async function writeContexts(
  { path }: ContextFile,
  current: string | null,
  changed?: { readonly name: string; readonly context: Context | undefined },
): Promise<void> {
  const { parseDocument } = await import('../yaml.ts')
  try {
    const real = await realpath(path).catch(() => path) // A symlink into a folder of dotfiles stays one.
    const document = parseDocument(await readFile(real, 'utf8').catch(() => ''))
    if (current !== null) document.set('current', current)
    else if (document.has('current')) document.delete('current')
    if (changed?.context !== undefined) document.setIn(['contexts', changed.name], document.createNode(changed.context))
    else if (changed !== undefined) document.deleteIn(['contexts', changed.name])
    await mkdir(dirname(real), { recursive: true, mode: 0o700 })
    const written = `${real}.${process.pid}`
    await writeFile(written, document.toString(), { mode: 0o600 })
    await rename(written, real)
  } catch (error) {
    throw unusable(path, [`cannot be written: ${codeOf(error)}`], `check who owns ${dirname(path)}`)
  }
}

function unusable(path: string, problems: readonly string[], next: string): Failure {
  const why = problems.map((problem) => `${path}: ${problem}`)
  return new Failure(EXIT.USAGE, 'the contexts cannot be used', why, next)
}

const codeOf = (error: unknown): string => (error as NodeJS.ErrnoException).code ?? (error as Error).message
const isMissing = (error: unknown): boolean => ['ENOENT', 'ENOTDIR'].includes(codeOf(error))
