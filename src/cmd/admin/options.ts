/** @module cmd/admin/options  The options and operands that several verbs share. */
import { MAX_N } from '../../protocol/index.ts'
import { automationType, flag, httpUrl, integer, kubeName, oneOf, text, workerId } from '../readers.ts'
import { setting, SettingsError, type Read } from '../settings.ts'
import { FORMATS, type Format } from './printer.ts'
import type { Option } from './verb.ts'

export const CONNECTION_SETTINGS = {
  masterUrl: setting(httpUrl, {
    name: 'SVC_MASTER_URL',
    help: 'URL of the master, or of the TLS proxy in front of it.',
    required: true,
  }),
  token: setting(text, {
    name: 'SVC_API_TOKEN',
    help: 'The admin token, or a token scoped to some automations.',
    secret: true,
    required: true,
  }),
} as const

export const DEFAULT_TIMEOUT_SECONDS = 60

function formatOption(formats: readonly (typeof FORMATS)[number][]) {
  const read: Read<Format> = (word) => {
    if (word.startsWith('jsonpath=')) return word as Format
    if (word === 'jsonpath') throw new Error("needs an expression; for example -o 'jsonpath=$[*].worker_id'")
    if (FORMATS.some((each) => each === word) && !formats.some((each) => each === word))
      throw new Error(`"${word}" is not possible, since no command accepts a name of what this one prints`)
    const found = formats.find((each) => each === word)
    if (found !== undefined) return found
    throw new Error(`${JSON.stringify(word)} is not known; known: ${formats.join(', ')}, jsonpath=EXPRESSION`)
  }
  const value = [...formats, 'jsonpath=…'].join('|')
  return { name: 'output', short: 'o', value, help: 'Output format.', read } as const
}

/** Options of what is printed. */
export const OUTPUT_OPTIONS = {
  format: formatOption(FORMATS),
  noHeaders: { name: 'no-headers', help: 'Print tables without the line of heads.', read: flag },
} as const satisfies Record<string, Option>

/** The same for a verb that prints no names. */
export const NAMELESS_FORMAT = formatOption(FORMATS.filter((format) => format !== 'name'))

export const COMMON_OPTIONS = {
  context: {
    name: 'context',
    value: 'CONTEXT',
    help: 'Use this context of `muster context ls` (default MUSTER_CONTEXT, or the current one).',
    read: text,
  },
  masterUrl: { name: 'master-url', value: 'URL', help: 'URL of the master (default SVC_MASTER_URL).', read: text },
  ...OUTPUT_OPTIONS,
  timeout: {
    name: 'timeout',
    value: 'SECONDS',
    help: `Timeout of a request or a --wait (default ${DEFAULT_TIMEOUT_SECONDS}).`,
    read: integer(1, 86_400),
  },
  yes: { name: 'yes', help: 'Skip the confirmation prompt.', read: flag },
} as const satisfies Record<string, Option>

/** Options of the verbs that use the kubeconfig. */
export const CLUSTER_OPTIONS = {
  namespace: {
    name: 'namespace',
    short: 'n',
    value: 'NAMESPACE',
    help: 'Namespace of the set (default: that of the kubeconfig context).',
    read: kubeName,
  },
  ...OUTPUT_OPTIONS,
} as const satisfies Record<string, Option>

export const count = (help: string) => ({ name: 'n', short: 'n', value: 'N', help, read: integer(1, MAX_N) }) as const
export const waitOption = (help: string) => ({ name: 'wait', help, read: flag }) as const
export const DRY_RUN = { name: 'dry-run', help: 'Validate only; change nothing.', read: flag } as const
export const TASK_IDS = {
  name: 'task-id',
  value: 'ID',
  help: 'Only this dead task; may be repeated.',
  read: text,
  many: true,
} as const

export const yesOrNo: Read<boolean> = (word) => oneOf('yes', 'no')(word) === 'yes'

/** An operand by its reader. @throws SettingsError naming it. */
function operand<T>(name: string, word: string | undefined, read: Read<T>): T {
  try {
    return read(word ?? '')
  } catch (error) {
    throw new SettingsError([{ name, problem: (error as Error).message }])
  }
}

export const typeOperand = (word: string | undefined): string => operand('TYPE', word, automationType)

export interface WorkerName {
  readonly type: string
  readonly id: string
  readonly shown: string
}

/** `TYPE/ID` (D61). */
export function workerOperand(word: string | undefined): WorkerName {
  return operand('TYPE/ID', word, (given) => {
    const slash = given.indexOf('/')
    if (slash === -1) throw new Error(`${JSON.stringify(given)} is not TYPE/ID; for example mailer/m-7`)
    return { type: automationType(given.slice(0, slash)), id: workerId(given.slice(slash + 1)), shown: given }
  })
}
