/**
 * @module cmd/store
 * Implements `muster store info`, which shows what a store says about itself: layout, needs, epoch and masters. It
 * needs no master, and creates and migrates nothing. Exit codes: 0 shown, 1 the store cannot be read, 2 usage or
 * settings.
 */
import { parseRelease } from '../master/index.ts'
import { layoutOf, type StoredMaster, type StoreInfo } from '../storage/index.ts'
import { tableText } from './admin/index.ts'
import { accessOf, BACKEND_SETTINGS, describeBackend, readStoreInfo } from './backend.ts'
import { refuse } from './process.ts'
import { oneOf } from './readers.ts'
import { describeSettings, readSettings, SettingsError, type Environment, type SettingFault } from './settings.ts'

const FORMATS = ['table', 'json'] as const
type Format = (typeof FORMATS)[number]
const readFormat = oneOf(...FORMATS)

export function help(): string {
  return (
    'muster store info: show the layout, needs and masters of a store\n\n' +
    '  muster store info --backend-url filedb://.muster/master.db\n' +
    '  muster store info --backend-url kvstore://127.0.0.1:6379 -o json\n\n' +
    '  -o, --output table|json  Output format (default table).\n\n' +
    `${describeSettings(BACKEND_SETTINGS)}\n\n` +
    'It reads the store itself, so it needs no master and no token. It creates and migrates nothing.\n' +
    'Exit codes: 0 shown, 1 the store cannot be read, 2 usage or settings.\n'
  )
}

export async function run(
  argv: readonly string[],
  environment: Environment = process.env,
  write: (text: string) => void = (text) => void process.stdout.write(text),
): Promise<number> {
  const [verb, ...rest] = argv
  if (verb === undefined) throw new SettingsError([{ name: 'store', problem: 'needs a verb; known: info' }])
  if (verb !== 'info') throw new SettingsError([{ name: verb, problem: 'is not known; known: info' }])
  const { flags, format, faults: formatFaults } = takeFormat(rest)
  const { values, faults } = readSettings(BACKEND_SETTINGS, environment, flags)
  const { backendUrl: url } = values
  refuse([...formatFaults, ...faults])
  if (url.scheme === 'memory') {
    const problem = 'memory:// exists only inside its master; ask that master: GET /api/v1/me'
    throw new SettingsError([{ name: 'SVC_BACKEND_URL', problem }])
  }
  const access = accessOf(values, {
    password: () => values.backendPassword || undefined,
    sentinelPassword: () => values.backendSentinelPassword || undefined,
  })
  const info = await readStoreInfo(url, access)
  write(format === 'json' ? jsonOf(describeBackend(url), info) : textOf(describeBackend(url), info))
  return 0
}

/** Takes `-o FORMAT`, which no setting is, out of the flags. */
function takeFormat(argv: readonly string[]): { flags: string[]; format: Format; faults: SettingFault[] } {
  const flags: string[] = []
  const faults: SettingFault[] = []
  let format: Format = 'table'
  for (let at = 0; at < argv.length; at += 1) {
    const [, flag, value] = /^(-o|--output)(?:=(.*))?$/s.exec(argv[at] ?? '') ?? []
    if (flag === undefined) flags.push(argv[at] ?? '')
    else
      try {
        format = readFormat(value ?? argv[(at += 1)] ?? '')
      } catch (error) {
        faults.push({ name: flag, problem: (error as Error).message })
      }
  }
  return { flags, format, faults }
}

interface ShownMaster {
  readonly id: string
  readonly version: string | null
  readonly layout: number | null
  readonly features: readonly string[]
  readonly beat_age_seconds: number
}

function shownMaster({ id, beatAgeSeconds, release }: StoredMaster): ShownMaster {
  const { version = null, layout = null, features = [] } = parseRelease(release) ?? {}
  return { id, version, layout, features, beat_age_seconds: beatAgeSeconds }
}

function jsonOf(store: string, { epoch, masters, needs, schema }: StoreInfo): string {
  const shown = {
    store,
    empty: schema === null,
    schema,
    layout: schema === null ? null : layoutOf(schema),
    needs,
    epoch,
    masters: masters?.map(shownMaster) ?? null,
  }
  return `${JSON.stringify(shown, null, 2)}\n`
}

function textOf(store: string, { epoch, masters, needs, schema }: StoreInfo): string {
  if (schema === null) return `${store} is empty: no master has used it\n`
  const lines = [
    `store    ${store}`,
    `layout   ${layoutOf(schema)}`,
    `schema   ${schema}`,
    `needs    ${needs.join(', ') || 'none'}`,
    `epoch    ${epoch}`,
    `masters  ${masters === null ? 'not recorded, because a file serves one master' : masters.length}`,
  ]
  const table = tableText((masters ?? []).map(shownMaster), [
    { head: 'MASTER', cell: ({ id }) => id },
    { head: 'VERSION', cell: ({ version }) => version },
    { head: 'LAYOUT', cell: ({ layout }) => layout },
    { head: 'FEATURES', cell: ({ features }) => features.join(', ') },
    { head: 'LAST BEAT', cell: ({ beat_age_seconds: seconds }) => `${seconds} s ago` },
  ])
  return `${lines.join('\n')}\n${masters === null || masters.length === 0 ? '' : `\n${table}`}`
}
