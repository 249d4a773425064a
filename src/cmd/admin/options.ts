/** @module cmd/admin/options  The options and operands that several verbs share. */
import { MAX_N } from '../../protocol/index.ts'
import { automationType, flag, httpUrl, integer, oneOf, text, workerId } from '../readers.ts'
import { setting, SettingsError, type Read } from '../settings.ts'
import { FORMATS } from './printer.ts'
import type { Option } from './verb.ts'

export const CONNECTION_SETTINGS = {
  masterUrl: setting(httpUrl, {
    name: 'SVC_MASTER_URL',
    help: 'Address of the master, or of the TLS proxy before it.',
    required: true,
  }),
  token: setting(text, {
    name: 'SVC_API_TOKEN',
    help: 'The admin token, or one scoped to some automations.',
    secret: true,
    required: true,
  }),
} as const

export const DEFAULT_TIMEOUT_SECONDS = 60

export const COMMON_OPTIONS = {
  masterUrl: { name: 'master-url', value: 'URL', help: 'Address of the master (default SVC_MASTER_URL).', read: text },
  format: {
    name: 'output',
    short: 'o',
    value: FORMATS.join('|'),
    help: 'Form of the data on stdout.',
    read: oneOf(...FORMATS),
  },
  timeout: {
    name: 'timeout',
    value: 'SECONDS',
    help: `How long a call or a --wait may take (default ${DEFAULT_TIMEOUT_SECONDS}).`,
    read: integer(1, 86_400),
  },
  yes: { name: 'yes', help: 'Ask nothing.', read: flag },
} as const satisfies Record<string, Option>

export const count = (help: string) => ({ name: 'n', short: 'n', value: 'N', help, read: integer(1, MAX_N) }) as const
export const waitOption = (help: string) => ({ name: 'wait', help, read: flag }) as const
export const DRY_RUN = { name: 'dry-run', help: 'Only check; change nothing.', read: flag } as const
export const TASK_IDS = {
  name: 'task-id',
  value: 'ID',
  help: 'This dead task and no other; may be repeated.',
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
