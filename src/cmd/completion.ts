/**
 * @module cmd/completion
 * Implements `muster completion`, which prints the script of a shell, and for the script what may stand at the cursor.
 * A master that does not respond within a second adds nothing, and never an error message.
 */
import type { MasterClient } from '../client/index.ts'
import {
  clientOf,
  findConnection,
  NOUNS,
  optionsOf,
  processIo,
  readContexts,
  type ConnectionFlags,
  type Io,
} from './admin/index.ts'
import { SettingsError } from './settings.ts'
import { SUBCOMMANDS } from './subcommands.ts'
import { candidatesOf, type Commands, type Known } from './completion/candidates.ts'
import { SCRIPTS } from './completion/scripts.ts'

const SHELLS = Object.keys(SCRIPTS).join(', ')
/** A person waits for it. */
const MASTER_MS = 1_000
/** More candidates are of no use in a terminal. */
const WORKERS_AT_MOST = 1_000

const COMMANDS: Commands = {
  summaries: Object.fromEntries(Object.entries(SUBCOMMANDS).map(([name, { summary }]) => [name, summary])),
  nouns: NOUNS,
  optionsOf: (verb) => Object.values(optionsOf(verb)),
  helpOf: async (name) => (await SUBCOMMANDS[name]?.load())?.help?.() ?? '',
  ownOptionsOf: async (name) => Object.values((await SUBCOMMANDS[name]?.load())?.OPTIONS ?? {}),
}

export function help(): string {
  return (
    'muster completion: print the script that completes commands in bash, zsh or fish\n\n' +
    '  source <(muster completion bash)        # in ~/.bashrc\n' +
    '  source <(muster completion zsh)         # in ~/.zshrc, after compinit\n' +
    '  muster completion fish | source         # in ~/.config/fish/config.fish\n\n' +
    'With a context, or SVC_MASTER_URL and SVC_API_TOKEN, types, workers and pools are completed, too.\n'
  )
}

export async function run([shell = '', ...words]: readonly string[]): Promise<number> {
  if (shell === '--words') {
    const found = await withMaster(words, (known) => candidatesOf(words, COMMANDS, known))
    process.stdout.write(found.map(({ word, help: text }) => `${word}\t${text}\n`).join(''))
    return 0
  }
  const script = Object.hasOwn(SCRIPTS, shell) ? SCRIPTS[shell] : undefined
  if (script === undefined || words.length > 0) {
    const name = script === undefined ? shell : (words[0] ?? '')
    const problem = name === '' ? 'is missing' : 'is not expected'
    throw new SettingsError([{ name: name || 'SHELL', problem: `${problem}; give one of ${SHELLS}` }])
  }
  process.stdout.write(script)
  return 0
}

/** Completion prints nothing but candidates. */
const quietIo = (): Io => ({ ...processIo(), err: () => undefined })

const contexts = async (): Promise<readonly string[]> =>
  Object.keys((await readContexts(quietIo()).catch(() => ({ contexts: {} }))).contexts)

const NOTHING: Known = {
  types: async () => [],
  workers: async () => [],
  pools: async () => [],
  fields: async () => [],
  contexts,
}

async function withMaster<T>(words: readonly string[], act: (known: Known) => Promise<T>): Promise<T> {
  const io = quietIo()
  const connection = await findConnection(flagsIn(words), io, { programs: false }).catch(() => null)
  if (connection === null) return act(NOTHING)
  const client = clientOf(connection, io, { callMs: MASTER_MS, headersMs: MASTER_MS })
  try {
    return await act(knownBy(client))
  } finally {
    await client.close()
  }
}

/** The flags before the cursor that choose the master. */
function flagsIn(words: readonly string[]): ConnectionFlags {
  const valueOf = (flag: string): string | undefined => {
    const at = words.indexOf(flag)
    return at === -1 || at >= words.length - 2 ? undefined : words[at + 1]
  }
  return { masterUrl: valueOf('--master-url'), context: valueOf('--context') }
}

/** What the master does not answer is not known. */
function knownBy(client: MasterClient): Known {
  const list = (read: () => Promise<readonly string[]>) => read().catch(() => [])
  return {
    types: () => list(async () => (await client.automations()).body.map(({ type }) => type)),
    workers: (type) =>
      list(async () => {
        const { body } = await client.workers.page(type, { limit: WORKERS_AT_MOST })
        return body.map(({ worker_id: id }) => id)
      }),
    pools: () =>
      list(async () => Object.values((await client.catalog()).body).flatMap(({ pools = {} }) => Object.keys(pools))),
    fields: (type) => list(async () => Object.keys((await client.catalogEntry(type)).body.config['properties'] ?? {})),
    contexts,
  }
}
