/**
 * @module cmd/admin/admin
 * Runs the admin verbs (D42, D61): `muster NOUN VERB OPERANDS… --options`. Finds the verb, parses its arguments and
 * runs it against the master. Every failure becomes a message on stderr and an exit code.
 */
import { MasterClient } from '../../client/index.ts'
import { plainTextWarning } from '../plain-text.ts'
import { describeSettings, nearest, readSettings, SettingsError } from '../settings.ts'
import { automations, pools } from './catalog.ts'
import { config } from './config.ts'
import { explain } from './explain.ts'
import type { Io } from './io.ts'
import { CLUSTER_OPTIONS, COMMON_OPTIONS, CONNECTION_SETTINGS, DEFAULT_TIMEOUT_SECONDS } from './options.ts'
import { output } from './output.ts'
import { parseWords, type Parsed } from './parse.ts'
import { Printer } from './printer.ts'
import { dead, queue } from './queue.ts'
import { rollout } from './rollout/noun.ts'
import { tasks } from './tasks.ts'
import {
  EXIT,
  Failure,
  type ClusterVerb,
  type Noun,
  type OptionValues,
  type Options,
  type RemoteVerb,
  type Verb,
} from './verb.ts'
import { workers } from './workers.ts'

export const NOUNS: Readonly<Record<string, Noun>> = {
  workers,
  config,
  tasks,
  queue,
  dead,
  output,
  pools,
  automations,
  rollout,
}

const wantsHelp = (words: readonly string[]): boolean => words.includes('--help') || words.includes('-h')

/** Runs `muster NOUN …words`. Resolves with the exit code; never rejects. */
export async function runAdmin(noun: string, words: readonly string[], io: Io): Promise<number> {
  const { verbs } = NOUNS[noun] as Noun
  const [name, ...rest] = words
  const found = verbs.find((each) => each.name === name)
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
  try {
    return await runVerb(found, parsed, io)
  } catch (error) {
    const masterUrl = (parsed.values['masterUrl'] as string | undefined) ?? io.environment['SVC_MASTER_URL']
    const { text, exitCode } = explain(error, {
      command: `muster ${noun} ${found.name}`,
      operands: parsed.operands,
      masterUrl,
      environment: io.environment,
      changes: found.kind !== 'local' && found.changes === true,
    })
    io.err(text)
    return exitCode
  }
}

const OPTIONS_OF = { remote: COMMON_OPTIONS, cluster: CLUSTER_OPTIONS, local: {} } as const

const optionsOf = ({ kind, options }: Verb): Options => ({ ...options, ...OPTIONS_OF[kind] })

async function runVerb(verb: Verb, parsed: Parsed, io: Io): Promise<number> {
  if (verb.kind === 'remote') return runRemoteVerb(verb, parsed, io)
  const { operands, values, faults } = parsed
  const all = [...faults, ...countFaults(verb, operands)]
  if (all.length > 0) throw new SettingsError(all)
  const options = values as OptionValues<Options>
  return verb.kind === 'local' ? verb.run({ operands, options, io }) : runClusterVerb(verb, operands, options, io)
}

/** The client of the API server is large, so only these verbs load it. */
async function runClusterVerb(
  verb: ClusterVerb,
  operands: readonly string[],
  options: OptionValues<Options>,
  io: Io,
): Promise<number> {
  const { namespace, format } = options as OptionValues<typeof CLUSTER_OPTIONS>
  const { withSets } = await import('./rollout/set-client.ts')
  const printer = new Printer(format ?? 'table', io)
  return withSets(namespace, io.time, (sets) => verb.run({ operands, options, io, sets, printer }))
}

async function runRemoteVerb(verb: RemoteVerb, { operands, values, faults }: Parsed, io: Io): Promise<number> {
  const common = values as OptionValues<typeof COMMON_OPTIONS>
  const settings = readSettings(
    CONNECTION_SETTINGS,
    io.environment,
    common.masterUrl === undefined ? [] : ['--master-url', common.masterUrl],
  )
  const all = [...faults, ...countFaults(verb, operands), ...settings.faults]
  if (all.length > 0) throw new SettingsError(all)
  const timeoutMs = (common.timeout ?? DEFAULT_TIMEOUT_SECONDS) * 1_000
  const { masterUrl, token } = settings.values
  const warning = plainTextWarning(masterUrl)
  if (warning !== undefined) io.err(`warning: ${warning}\n`)
  const client = new MasterClient({
    masterUrl: masterUrl.href,
    token: () => token,
    clock: io.time,
    timers: io.time,
    random: io.random,
    actor: actorOf(io.user),
    callMs: timeoutMs,
    headersMs: timeoutMs,
  })
  try {
    return await verb.run({
      operands,
      options: values as OptionValues<Options>,
      client,
      io,
      timeoutMs,
      printer: new Printer(common.format ?? verb.format ?? 'table', io),
      confirm: (question) => confirm(question, common.yes, io),
    })
  } finally {
    await client.close()
  }
}

/** @see D39 */
const actorOf = (user: string): string => `cli:${user.replaceAll(/[^\x20-\x7e]/g, '?')}`.slice(0, 128)

function countFaults(
  { operands, least, most }: Verb,
  given: readonly string[],
): readonly { name: string; problem: string }[] {
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
    (verbs.some(({ kind }) => kind === 'remote') ? connectionHelp() : CLUSTER_HELP) +
    `muster ${noun} VERB --help prints the options of a verb.\n`
  )
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
    local: () => 'It needs no master.\n',
  }[verb.kind]()
  return (
    `muster ${noun} ${usageOf(verb)}\n\n${verb.summary}\n\n${examples}\n\n` +
    `${options.map(({ forms, help }) => `  ${forms.padEnd(width)}  ${help}`).join('\n')}\n\n` +
    tail
  )
}

function formatHelp(verb: Verb): string {
  const isJson = verb.kind === 'remote' && verb.format === 'json'
  return `The default output format is ${isJson ? 'json, one line per entry' : 'table'}.`
}

const dashed = (short: string | undefined, name: string): string =>
  short === name ? `-${name}` : `${short === undefined ? '' : `-${short}, `}--${name}`
const usageOf = ({ name, operands }: Verb): string => `${name} ${operands}`.trim()
const exampleOf = (noun: string, { name }: Verb, words: string): string => `muster ${noun} ${name} ${words}`.trim()
const EXIT_HELP =
  'Exit codes: 0 success, 1 failure, 2 usage error, 3 not found, 4 not allowed, 5 conflict, 6 timeout.\n'
const connectionHelp = (): string => `${describeSettings(CONNECTION_SETTINGS)}\n\n${EXIT_HELP}`
const CLUSTER_HELP =
  'It needs no master. It uses KUBECONFIG, ~/.kube/config, or the service account of its pod, as kubectl does.\n\n' +
  EXIT_HELP
