/**
 * @module cmd/admin/catalog
 * `muster automations` lists installed automations and their schemas, and writes the manifest of one.
 */
import { manifestOf } from '../../automation/index.ts'
import type { AutomationDescriptor } from '../../protocol/index.ts'
import { loadInstalled } from '../process.ts'
import { list, oneOf } from '../readers.ts'
import { SettingsError } from '../settings.ts'
import { typeOperand } from './options.ts'
import { Printer, type Column } from './printer.ts'
import { EXIT, localVerb, verb, type Noun, type Options } from './verb.ts'

const AUTOMATION_COLUMNS: readonly Column<AutomationDescriptor>[] = [
  { head: 'TYPE', cell: (row) => row.type, isName: true },
  { head: 'KIND', cell: (row) => row.kind },
  { head: 'CLASS', cell: (row) => row.class },
]
interface Field {
  readonly type?: unknown
  readonly default?: unknown
  readonly description?: string
}
const FIELD_COLUMNS: readonly Column<[string, Field]>[] = [
  { head: 'FIELD', cell: ([name]) => name },
  { head: 'TYPE', cell: ([, field]) => field.type },
  { head: 'DEFAULT', cell: ([, field]) => field.default },
  { head: 'MEANING', cell: ([, field]) => field.description },
]

const automationsLs = verb({
  name: 'ls',
  aliases: ['list'],
  operands: '[TYPE]',
  least: 0,
  most: 1,
  names: 'TYPE',
  summary: 'Lists installed automations, or shows the config, payload and output schemas of one.',
  examples: ['', 'http-probe', 'http-probe -o json'],
  options: {},
  run: async ({ operands: [type], client, printer }) => {
    if (type === undefined) {
      await printer.rows((await client.automations()).body, AUTOMATION_COLUMNS)
      return EXIT.OK
    }
    const { body } = await client.catalogEntry(typeOperand(type))
    await printer.value(
      body,
      () => printer.table(Object.entries((body.config['properties'] ?? {}) as Record<string, Field>), FIELD_COLUMNS),
      [body.type],
    )
    return EXIT.OK
  },
})

const EXPORT_OPTIONS = {
  automations: {
    name: 'automations',
    value: 'LIST',
    help: 'Comma-separated modules that contain automations (default SVC_AUTOMATIONS).',
    read: list,
  },
  format: {
    name: 'output',
    short: 'o',
    value: 'yaml|json',
    help: 'Output format (default yaml).',
    read: oneOf('yaml', 'json'),
  },
} as const satisfies Options

const automationsExport = localVerb({
  name: 'export',
  operands: 'TYPE',
  least: 1,
  most: 1,
  summary: 'Prints the manifest of an automation, which declares it to a master that does not have its code.',
  examples: ['mailer --automations ./mailer.js >mailer.automation.yaml', 'http-request -o json'],
  options: EXPORT_OPTIONS,
  run: async ({ operands: [word], options, io }) => {
    const type = typeOperand(word)
    const installed = await loadInstalled(
      options.automations ?? list(io.environment['SVC_AUTOMATIONS'] ?? ''),
      process.cwd(),
    )
    const automation = installed.find((each) => each.type === type)
    if (automation === undefined) {
      const types = installed.map((each) => each.type).join(', ')
      throw new SettingsError([{ name: 'TYPE', problem: `"${type}" is not installed; installed: ${types}` }])
    }
    const manifest = manifestOf(automation)
    await new Printer(options.format ?? 'yaml', io).value(manifest, () => '')
    return EXIT.OK
  },
})

export const automations: Noun = {
  summary: 'list installed automations and their schemas',
  verbs: [automationsLs, automationsExport],
}
