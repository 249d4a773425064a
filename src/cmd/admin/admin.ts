/**
 * @module cmd/admin/admin
 * Runs the admin verbs (D42, D61): `muster NOUN VERB OPERANDS… --options`. Finds the verb, parses its arguments and
 * runs it against the master. Every failure becomes a message on stderr and an exit code.
 */
import { describeSettings, nearest, SettingsError, type SettingFault } from '../settings.ts'
import { alertsNoun } from './alerts.ts'
import { auditNoun } from './audit.ts'
import { automations } from './catalog.ts'
import { pools } from './pools.ts'
import { config } from './config.ts'
import { clientOf, findConnection, type Connection } from './contexts/connection.ts'
import { contextNoun } from './contexts/noun.ts'
import { dead } from './dead.ts'
import { explain } from './explain.ts'
import { explainNoun } from './explain-fields.ts'
import type { Io } from './io.ts'
import {
  CLUSTER_OPTIONS,
  COMMON_OPTIONS,
  CONNECTION_SETTINGS,
  DEFAULT_TIMEOUT_SECONDS,
  NAMELESS_FORMAT,
  OUTPUT_OPTIONS,
} from './options.ts'
import { migrateNoun } from './migrate/noun.ts'
import { operations } from './operations.ts'
import { output } from './output.ts'
import { parseWords, type Parsed } from './parse.ts'
import { openPrinter, Printer } from './printer.ts'
import { queue } from './queue.ts'
import { rollout } from './rollout/noun.ts'
import { tasks } from './tasks.ts'
import {
  EXIT,
  Failure,
  findVerb,
  isSingle,
  type ClusterInvocation,
  type ClusterVerb,
  type Noun,
  type OptionValues,
  type Options,
  type RemoteVerb,
  type Verb,
} from './verb.ts'
import { versionNoun } from './version.ts'
import { whyNoun } from './why.ts'
import { workers } from './workers.ts'

export const NOUNS: Readonly<Record<string, Noun>> = {
  why: whyNoun,
  alerts: alertsNoun,
  workers,
  config,
  tasks,
  queue,
  dead,
  output,
  pools,
  automations,
  explain: explainNoun,
  rollout,
  operations,
  audit: auditNoun,
  migrate: migrateNoun,
  context: contextNoun,
  version: versionNoun,
}

const wantsHelp = (words: readonly string[]): boolean => words.includes('--help') || words.includes('-h')

/** Runs `muster NOUN …words`. Resolves with the exit code; never rejects. */
export async function runAdmin(noun: string, words: readonly string[], io: Io): Promise<number> {
  const ofNoun = NOUNS[noun] as Noun
  const { verbs } = ofNoun
  const [name, ...rest] = isSingle(ofNoun) ? ['', ...words] : words
  const found = name === undefined ? undefined : findVerb(ofNoun, name)
  if (name === undefined || name === '--help' || name === '-h' || (found !== undefined && wantsHelp(rest))) {
    io.out(found === undefined ? nounHelp(noun) : verbHelp(noun, found))
    return EXIT.OK
  }
  if (found === undefined) {
    io.err(
      `error: muster ${noun} has no verb ${JSON.stringify(name)}${
        nearest(
          name,
          verbs.map((each) => each.name),
        ) || `; its verbs are ${verbs.map((each) => each.name).join(', ')}`
      }\nnext:  muster ${noun} --help\n`,
    )
    return EXIT.USAGE
  }
  const parsed = parseWords(rest, optionsOf(found))
  let connection: Connection | undefined
  try {
    return await runVerb(found, parsed, io, (opened) => (connection = opened))
  } catch (error) {
    const { text, exitCode } = explain(error, {
      command: `muster ${noun} ${found.name}`.trimEnd(),
      operands: parsed.operands,
      connection,
      changes: found.kind !== 'local' && found.changes === true,
    })
    io.err(text)
    return exitCode
  } finally {
    connection?.close()
  }
}

const OPTIONS_OF = { remote: COMMON_OPTIONS, cluster: CLUSTER_OPTIONS, local: OUTPUT_OPTIONS } as const

/** All options of a verb, with those that every verb of its kind has. */
export function optionsOf(verb: Verb): Options {
  const { kind, options } = verb
  if (kind === 'local' && verb.prints !== true) return options
  const format = verb.names === undefined ? { format: NAMELESS_FORMAT } : {}
  return { ...options, ...OPTIONS_OF[kind], ...format }
}

type Opened = (connection: Connection) => void

async function runVerb(verb: Verb, parsed: Parsed, io: Io, opened: Opened): Promise<number> {
  const { printer, faults: ofFormat } = await printerOf(verb, parsed, io)
  const faults = [...parsed.faults, ...ofFormat, ...countFaults(verb, parsed.operands)]
  if (verb.kind === 'remote') return runRemoteVerb(verb, { ...parsed, faults }, { io, printer, opened })
  if (faults.length > 0) throw new SettingsError(faults)
  const { operands } = parsed
  const options = parsed.values as OptionValues<Options>
  if (verb.kind === 'cluster') return runClusterVerb(verb, { operands, options, io, printer })
  return verb.run({ operands, options, io, printer, opened })
}

type OutputValues = Partial<OptionValues<typeof OUTPUT_OPTIONS>>

/** The printer of a verb. An expression with a fault is known before any request is sent. */
async function printerOf(
  verb: Verb,
  { values }: Parsed,
  io: Io,
): Promise<{ readonly printer: Printer; readonly faults: readonly SettingFault[] }> {
  const usual = (verb.kind === 'remote' ? verb.format : undefined) ?? 'table'
  if (verb.kind === 'local' && verb.prints !== true) return { printer: new Printer(usual, io), faults: [] }
  const { format = usual, noHeaders = false } = values as OutputValues
  try {
    return { printer: await openPrinter(format, io, { hasHeads: !noHeaders }), faults: [] }
  } catch (error) {
    return { printer: new Printer(usual, io), faults: [{ name: '-o', problem: (error as Error).message }] }
  }
}

/** The client of the API server is large, so only these verbs load it. */
async function runClusterVerb(verb: ClusterVerb, call: Omit<ClusterInvocation, 'sets'>): Promise<number> {
  const { namespace } = call.options as OptionValues<typeof CLUSTER_OPTIONS>
  const { withSets } = await import('./rollout/set-client.ts')
  return withSets(namespace, call.io.time, (sets) => verb.run({ ...call, sets }))
}

async function runRemoteVerb(
  verb: RemoteVerb,
  { operands, values, faults }: Parsed,
  { io, printer, opened }: { readonly io: Io; readonly printer: Printer; readonly opened: Opened },
): Promise<number> {
  const common = values as OptionValues<typeof COMMON_OPTIONS>
  const connection = await findConnection(common, io, { faults })
  opened(connection)
  const timeoutMs = (common.timeout ?? DEFAULT_TIMEOUT_SECONDS) * 1_000
  const client = clientOf(connection, io, { callMs: timeoutMs, headersMs: timeoutMs })
  try {
    return await verb.run({
      operands,
      options: values as OptionValues<Options>,
      client,
      io,
      timeoutMs,
      printer,
      confirm: (question) => confirm(question, common.yes, io),
    })
  } finally {
    await client.close()
  }
}

function countFaults({ operands, least, most }: Verb, given: readonly string[]): readonly SettingFault[] {
  if (given.length < least) return [{ name: operands, problem: 'is missing' }]
  return given.slice(most).map((word) => ({
    name: word,
    problem: operands === '' ? 'is not expected' : `is an unexpected argument; expected: ${operands}`,
  }))
}

async function confirm(question: string, yes: boolean, { ask }: Io): Promise<void> {
  if (yes) return
  if (ask === null)
    throw new SettingsError([
      { name: '--yes', problem: `is required because there is no terminal to confirm on: ${question}` },
    ])
  if (!(await ask(question))) throw new Failure(EXIT.FAILED, 'cancelled', 'you did not confirm; nothing was changed')
}

function nounHelp(noun: string): string {
  const { summary, verbs } = NOUNS[noun] as Noun
  const rows = verbs.map((each) => ({ usage: `muster ${noun} ${usageOf(each)}`, summary: each.summary }))
  const listed = rows.map((row) => `  ${row.usage}\n      ${row.summary}`).join('\n')
  const examples = verbs.map((each) => `  ${exampleOf(noun, each, each.examples[0] ?? '')}`).join('\n')
  return (
    `muster ${noun}: ${summary}\n\n` +
    `${listed}\n\nExamples\n${examples}\n\n` +
    kindHelp(verbs) +
    `muster ${noun} VERB --help prints the options of a verb.\n`
  )
}

function kindHelp(verbs: readonly Verb[]): string {
  if (verbs.some(({ kind }) => kind === 'remote')) return connectionHelp()
  return verbs.some(({ kind }) => kind === 'cluster') ? CLUSTER_HELP : `${LOCAL_HELP}\n`
}

function verbHelp(noun: string, verb: Verb): string {
  const options = Object.values(optionsOf(verb)).map(({ short, name, value, help }) => ({
    forms: `${dashed(short, name)}${value === undefined ? '' : ` ${value}`}`,
    help,
  }))
  const width = Math.max(...options.map(({ forms }) => forms.length))
  const examples = verb.examples.map((each) => `  ${exampleOf(noun, verb, each)}`).join('\n')
  const tail = {
    remote: () => `${formatHelp(verb)}\n\n${connectionHelp()}`,
    cluster: () => `${formatHelp(verb)}\n\n${CLUSTER_HELP}`,
    local: () => (verb.kind === 'local' && verb.prints === true ? `${formatHelp(verb)}\n\n${LOCAL_HELP}` : LOCAL_HELP),
  }[verb.kind]()
  const { aliases = [] } = verb
  const otherNames = aliases.length === 0 ? '' : `Also: ${aliases.join(', ')}\n\n`
  return (
    `${`muster ${noun} ${usageOf(verb)}`.trimEnd()}\n\n${verb.summary}\n\n${otherNames}${examples}\n\n` +
    `${options.map(({ forms, help }) => `  ${forms.padEnd(width)}  ${help}`).join('\n')}\n\n` +
    tail
  )
}

function formatHelp(verb: Verb): string {
  const isJson = verb.kind === 'remote' && verb.format === 'json'
  const names = verb.names === undefined ? '' : ` -o name prints ${verb.names}, which other commands accept.`
  return `The default output format is ${isJson ? 'json, one line per entry' : 'table'}.${names}`
}

const dashed = (short: string | undefined, name: string): string =>
  short === name ? `-${name}` : `${short === undefined ? '' : `-${short}, `}--${name}`
const usageOf = ({ name, operands }: Verb): string => `${name} ${operands}`.trim()
const exampleOf = (noun: string, { name }: Verb, words: string): string =>
  ['muster', noun, name, words].filter((word) => word !== '').join(' ')
const EXIT_HELP =
  'Exit codes: 0 success, 1 failure, 2 usage error, 3 not found, 4 not allowed, 5 conflict, 6 timeout.\n'
const connectionHelp = (): string =>
  `${describeSettings(CONNECTION_SETTINGS)}\n` +
  'Without them, the current context is used, or that of MUSTER_CONTEXT or --context: muster context --help\n\n' +
  EXIT_HELP
const LOCAL_HELP = 'It needs no master.\n'
const CLUSTER_HELP =
  'It needs no master. It uses KUBECONFIG, ~/.kube/config, or the service account of its pod, as kubectl does.\n\n' +
  EXIT_HELP
