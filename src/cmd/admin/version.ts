/** @module cmd/admin/version  `muster version` prints the versions of this client and of the master. */
import type { MeBody } from '../../protocol/index.ts'
import { flag } from '../readers.ts'
import { VERSION } from '../version.ts'
import { clientOf, findConnection, isConfigured, type Connection, type ConnectionFlags } from './contexts/connection.ts'
import type { Io } from './io.ts'
import { COMMON_OPTIONS, DEFAULT_TIMEOUT_SECONDS } from './options.ts'
import type { Column } from './printer.ts'
import { EXIT, localVerb, type Noun } from './verb.ts'

interface MasterVersion extends Pick<MeBody, 'version'> {
  readonly url: string
  /** Versions of all masters of the store; empty for a master that does not list them. */
  readonly versions: readonly string[]
}

interface Row {
  readonly component: string
  readonly version: string
  readonly url?: string
}

const COLUMNS: readonly Column<Row>[] = [
  { head: 'COMPONENT', cell: (row) => row.component },
  { head: 'VERSION', cell: (row) => row.version },
  { head: 'URL', cell: (row) => row.url },
]

const version = localVerb({
  name: '',
  operands: '',
  least: 0,
  most: 0,
  summary: 'Prints the version of this client, and that of the master if one is configured.',
  prints: true,
  examples: ['', '--client', '-o json'],
  options: {
    client: { name: 'client', help: 'Only that of this client; sends no request.', read: flag },
    context: COMMON_OPTIONS.context,
    masterUrl: COMMON_OPTIONS.masterUrl,
    timeout: COMMON_OPTIONS.timeout,
  },
  run: async ({ options, io, printer, opened }) => {
    const read = options.client ? NO_MASTER : await settled(masterVersion(options, io, opened))
    const master = read.kind === 'read' ? read.master : null
    const client = { version: VERSION, node: process.versions.node }
    await printer.rows([{ component: 'client', version: VERSION }, ...masterRows(master)], COLUMNS, { client, master })
    if (read.kind === 'failed') throw read.error
    return EXIT.OK
  },
})

function masterRows(master: MasterVersion | null): readonly Row[] {
  if (master === null) return []
  const others = master.versions.filter((each) => each !== master.version)
  return [
    { component: 'master', version: master.version, url: master.url },
    ...others.map((each) => ({ component: 'other master', version: each })),
  ]
}

type MasterReading =
  | { readonly kind: 'read'; readonly master: MasterVersion | null }
  | { readonly kind: 'failed'; readonly error: unknown }

const NO_MASTER: MasterReading = { kind: 'read', master: null }

/** The version of the client is printed also if the master does not respond. */
const settled = (reading: Promise<MasterVersion | null>): Promise<MasterReading> =>
  reading.then(
    (master) => ({ kind: 'read', master }),
    (error: unknown) => ({ kind: 'failed', error }),
  )

/** @returns null if no master is configured. */
async function masterVersion(
  { timeout = DEFAULT_TIMEOUT_SECONDS, ...flags }: ConnectionFlags & { readonly timeout: number | undefined },
  io: Io,
  opened: (connection: Connection) => void,
): Promise<MasterVersion | null> {
  if (!(await isConfigured(flags, io))) return null
  const connection = await findConnection(flags, io)
  opened(connection)
  const timeoutMs = timeout * 1_000
  const client = clientOf(connection, io, { callMs: timeoutMs, headersMs: timeoutMs })
  try {
    const { version: ofMaster, masters = [] } = (await client.me()).body
    const versions = [...new Set(masters.flatMap((each) => each.version ?? []))].toSorted()
    return { version: ofMaster, url: connection.masterUrl.href, versions }
  } finally {
    await client.close()
  }
}

export const versionNoun: Noun = { summary: 'print the versions of this command and of the master', verbs: [version] }
