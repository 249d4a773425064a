/** @module cmd/admin/contexts/noun  `muster context` lists, chooses, changes and removes contexts (D209). */
import { resolve } from 'node:path'
import { flag, kubeName, masterUrl, text } from '../../readers.ts'
import { SettingsError } from '../../settings.ts'
import type { Column } from '../printer.ts'
import { EXIT, Failure, localVerb, type Noun, type OptionValues, type Options } from '../verb.ts'
import {
  contextName,
  contextOf,
  faultsOf,
  readContexts,
  writeContexts,
  type Context,
  type ContextFile,
  type KubernetesContext,
} from './context-file.ts'

interface Row {
  readonly name: string
  readonly current: boolean
  /** As it is in the file. */
  readonly context: unknown
  readonly faults: readonly string[]
}

const COLUMNS: readonly Column<Row>[] = [
  { head: 'NAME', cell: ({ name }) => name, isName: true },
  { head: 'CURRENT', cell: ({ current }) => (current ? '*' : null) },
  { head: 'MASTER', cell: masterText },
  { head: 'TOKEN', cell: tokenText },
]

function masterText({ context, faults: [fault] }: Row): string {
  if (fault !== undefined) return `invalid: ${fault}`
  const { 'master-url': url, kubernetes } = context as Context
  if (kubernetes === undefined) return url ?? ''
  const { context: cluster = 'the current context', namespace, service } = kubernetes
  const parts = [cluster, namespace, service].filter((part) => part !== undefined)
  return `Kubernetes: ${parts.join('/')}`
}

function tokenText({ context, faults }: Row): string | null {
  if (faults.length > 0) return null
  const { 'token-file': file, 'token-command': words, kubernetes } = context as Context
  if (kubernetes !== undefined) return `Secret ${kubernetes.secret ?? 'of the chart'}`
  return file ?? words?.join(' ') ?? 'SVC_API_TOKEN'
}

const ls = localVerb({
  name: 'ls',
  aliases: ['list'],
  prints: true,
  operands: '',
  least: 0,
  most: 0,
  names: 'CONTEXT',
  summary: 'Lists the contexts: masters, and where their tokens come from.',
  examples: ['', '-o yaml'],
  options: {},
  run: async ({ io, printer }) => {
    const { path, current, contexts } = await readContexts(io)
    const chosen = io.environment['MUSTER_CONTEXT'] || current
    const rows = Object.entries(contexts).map(([name, context]) => ({
      name,
      current: name === chosen,
      context,
      faults: faultsOf(context),
    }))
    await printer.rows(rows, COLUMNS, { current, contexts })
    if (rows.length === 0) printer.note(`${path} has no context; create one: muster context set NAME --help`)
    return EXIT.OK
  },
})

const use = localVerb({
  name: 'use',
  operands: 'CONTEXT',
  least: 1,
  most: 1,
  summary: 'Makes a context the current one, which commands use when neither flags nor variables name a master.',
  examples: ['prod'],
  options: {},
  run: async ({ operands: [name = ''], io }) => {
    const file = await readContexts(io)
    contextOf(file, name)
    await writeContexts(file, name)
    io.err(`the current context is ${name}\n`)
    return EXIT.OK
  },
})

const rm = localVerb({
  name: 'rm',
  aliases: ['delete', 'remove'],
  operands: 'CONTEXT',
  least: 1,
  most: 1,
  summary: 'Removes a context from the file. Token files stay where they are.',
  examples: ['lab'],
  options: {},
  run: async ({ operands: [name = ''], io }) => {
    const file = await readContexts(io)
    if (!Object.hasOwn(file.contexts, name)) contextOf(file, name)
    await writeContexts(file, file.current === name ? null : file.current, { name, context: undefined })
    io.err(`removed the context ${name}${file.current === name ? ', which was the current one' : ''}\n`)
    return EXIT.OK
  },
})

const ofKubernetes = (field: string, value: string, help: string) =>
  ({ name: `kube-${field}`, value, help, read: text }) as const

const SET_OPTIONS = {
  masterUrl: {
    name: 'master-url',
    value: 'URL',
    help: 'URL of the master.',
    read: (word: string) => (masterUrl(word), word),
  },
  tokenFile: { name: 'token-file', value: 'FILE', help: 'File that contains the token.', read: text },
  tokenCommand: {
    name: 'token-command',
    value: 'WORDS',
    help: 'Program that prints the token, with its arguments; a JSON array if one contains a space. No shell runs it.',
    read: wordsOf,
  },
  caFile: { name: 'ca-file', value: 'FILE', help: 'PEM file of the CAs that verify the master.', read: text },
  kubernetes: { name: 'kubernetes', help: 'Reach the master with kubectl port-forward.', read: flag },
  kubeContext: ofKubernetes('context', 'NAME', 'Context of the kubeconfig (default: the current one).'),
  kubeNamespace: {
    ...ofKubernetes('namespace', 'NAMESPACE', 'Namespace of the master (default: that of the context).'),
    read: (word: string) => (word === '' ? word : kubeName(word)),
  },
  kubeService: ofKubernetes('service', 'NAME', 'Service of the master (default: found by the labels of the chart).'),
  kubeSecret: ofKubernetes('secret', 'NAME', 'Secret of the token, NAME or NAME/KEY (default: that of the chart).'),
  use: { name: 'use', help: 'Make it the current context.', read: flag },
} as const satisfies Options

function wordsOf(word: string): readonly string[] {
  if (word.startsWith('[')) return jsonWords(word)
  return word.split(/\s+/).filter((each) => each !== '')
}

function jsonWords(word: string): readonly string[] {
  try {
    return JSON.parse(word) as readonly string[]
  } catch {
    throw new Error(
      'begins with [ but is not a JSON array; for example ["vault", "read", "-field=token", "secret/a b"]',
    )
  }
}

const set = localVerb({
  name: 'set',
  operands: 'CONTEXT',
  least: 1,
  most: 1,
  summary:
    'Creates a context, or changes fields of one. An empty value removes a field. The first context becomes the ' +
    'current one.',
  examples: [
    'prod --master-url https://muster.example.com --token-file ~/.config/muster/prod.token',
    "prod --token-command 'vault read -field=token secret/muster'",
    'lab --kubernetes --kube-context kind-lab --kube-namespace muster --use',
  ],
  options: SET_OPTIONS,
  run: async ({ operands: [word = ''], options, io }) => {
    const name = nameOperand(word)
    const file = await readContexts(io)
    const context = changedContext(file, name, options)
    const faults = faultsOf(context)
    if (faults.length > 0) {
      const why = faults.map((fault) => `contexts.${name}${fault}`)
      throw new Failure(EXIT.USAGE, `the context ${name} was not changed`, why, 'muster context set --help')
    }
    const current = options.use || file.current === null ? name : file.current
    await writeContexts(file, current, { name, context })
    io.err(`wrote the context ${name}${current === name ? ', which is the current one,' : ''} to ${file.path}\n`)
    return EXIT.OK
  },
})

function nameOperand(word: string): string {
  try {
    return contextName(word)
  } catch (error) {
    throw new SettingsError([{ name: 'CONTEXT', problem: (error as Error).message }])
  }
}

/** A new kind of address or token replaces the old one. */
function changedContext({ contexts }: ContextFile, name: string, options: OptionValues<typeof SET_OPTIONS>): Context {
  const before = (Object.hasOwn(contexts, name) ? contexts[name] : {}) as Context
  const path = (given: string | undefined): string | undefined => (given ? resolve(given) : given)
  const cluster: KubernetesContext = {
    ...given('context', options.kubeContext),
    ...given('namespace', options.kubeNamespace),
    ...given('service', options.kubeService),
    ...given('secret', options.kubeSecret),
  }
  const isKubernetes = options.kubernetes || Object.keys(cluster).length > 0
  const changes: Readonly<Record<string, unknown>> = {
    ...given('master-url', options.masterUrl),
    ...given('token-file', path(options.tokenFile)),
    ...given('token-command', options.tokenCommand),
    ...given('ca-file', path(options.caFile)),
    ...(isKubernetes && { kubernetes: withoutEmpty({ ...before.kubernetes, ...cluster }) }),
  }
  const replaced = new Set([
    ...(options.masterUrl === undefined ? [] : ['kubernetes']),
    ...(isKubernetes && options.masterUrl === undefined
      ? ['master-url', 'token-file', 'token-command', 'ca-file']
      : []),
    ...(options.tokenFile === undefined ? [] : ['token-command']),
    ...(options.tokenCommand === undefined ? [] : ['token-file']),
  ])
  const kept = Object.entries(before).filter(([field]) => !replaced.has(field))
  return withoutEmpty({ ...Object.fromEntries(kept), ...changes })
}

const given = (field: string, value: unknown): object => (value === undefined ? {} : { [field]: value })

const withoutEmpty = (fields: Readonly<Record<string, unknown>>): object =>
  Object.fromEntries(
    Object.entries(fields).filter(([, value]) => value !== '' && !(Array.isArray(value) && value.length === 0)),
  )

export const contextNoun: Noun = {
  summary: 'list, choose, change or remove contexts: masters and where their tokens come from',
  verbs: [ls, use, set, rm],
}
