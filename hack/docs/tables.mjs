// Generates the tables of the pages from the code, as Markdown. update-docs.mjs writes each between its markers.
import { hostname } from 'node:os'
import { buildCatalog } from '../../src/automation/index.ts'
import { httpProbe, httpRequest } from '../../src/automations/index.ts'
import { NOUNS } from '../../src/cmd/admin/index.ts'
import { help as devHelp } from '../../src/cmd/dev.ts'
import { CHECKS } from '../../src/cmd/doctor/index.ts'
import { help as masterHelp } from '../../src/cmd/master.ts'
import { help as operatorHelp } from '../../src/cmd/operator.ts'
import { help as bootstrapHelp } from '../../src/cmd/bootstrap.ts'
import { help as workerHelp } from '../../src/cmd/worker.ts'
import { FleetWorkerSpec, FleetWorkerStatus, REASONS } from '../../src/operator/fleetworker/index.ts'
import { FleetWorkerSetSpec, FleetWorkerSetStatus, SET_REASONS } from '../../src/operator/fleetworkerset/index.ts'
import * as protocol from '../../src/protocol/index.ts'
import { compareText } from '../../src/runtime/index.ts'
import { ROWS } from '../../src/worker-test/index.ts'
import { limitRows } from './limits.mjs'
import { fromMaster, fromOperator } from './metrics.mjs'
import { publishedBlock, publishedNames } from './published.mjs'
import { code, shapeOf, table } from './shape.mjs'
import { sizingTable } from './sizing.mjs'
import * as descriptions from './descriptions.mjs'

const { CLOSE, ERRORS, EVENTS, MASTER_FRAMES, RPC, RPC_ERRORS, WORKER_FRAMES } = protocol

/** Shapes that readers know by name. */
const NAMED = new Map(
  [
    ['Worker', protocol.WorkerBody],
    ['WorkerSummary', protocol.WorkerSummary],
    ['Stats', protocol.Stats],
    ['StatsSummary', protocol.StatsSummary],
    ['Output', protocol.OutputEntry],
    ['CatalogEntry', protocol.CatalogEntryBody],
    ['Automation', protocol.AutomationDescriptor],
    ['Task', protocol.TaskBody],
    ['Hardware', protocol.Hardware],
    ['SlotStats', protocol.SlotStats],
    ['Submitted', protocol.SubmitResult],
    ['ReservedTask', protocol.ReservedTask],
    ['Claim', protocol.PoolClaim],
    ['Rollout', protocol.RolloutShown],
    ['RolloutReport', protocol.RolloutBody],
    ['Operation', protocol.OperationShown],
    ['OperationRequest', protocol.OperationBody],
    ['name', protocol.Name],
    ['name', protocol.WorkerId],
    ['type', protocol.AutomationType],
    ['token', protocol.Token],
    ['seconds', protocol.Seconds],
  ].map(([name, schema]) => [JSON.stringify(schema), name]),
)
const OBJECTS = [
  'Worker',
  'WorkerSummary',
  'Hardware',
  'Stats',
  'StatsSummary',
  'SlotStats',
  'Output',
  'Task',
  'Submitted',
  'Automation',
  'CatalogEntry',
  'ReservedTask',
  'Claim',
  'RolloutReport',
  'Rollout',
  'OperationRequest',
  'Operation',
]

/** A generation has the schema of a token. */
const WITHOUT_TOKEN = new Map([...NAMED].filter(([, name]) => name !== 'token'))

const shape = (schema) => shapeOf(schema, NAMED)
const shapeCode = (schema) => (schema === undefined ? '' : code(shape(schema)))

function wordOf(book, name) {
  if (!Object.hasOwn(book, name)) throw new Error(`hack/docs/descriptions.mjs does not describe ${name}`)
  return book[name]
}

// ── Endpoints ──────────────────────────────────────────────────────────────────────────────────────────────────────

const TYPE = '/api/v1/automations/{type}'
const OF_WORKERS = /^\/(?:workers|configs|revisions|enrolments|rollouts|acknowledgements|operations)(?:\/|$)/
const SECTIONS = [
  ['Workers', (path) => OF_WORKERS.test(path.slice(TYPE.length))],
  ['Output streams', (path) => path.startsWith(`${TYPE}/output`)],
  ['Tasks', (path) => path.startsWith(`${TYPE}/`)],
  ['Discovery', (path) => path.startsWith('/api/v1/') && !path.startsWith('/api/v1/pools')],
  ['Pools', (path) => path.startsWith('/api/v1/pools')],
  ['Outside of `/api/v1`', () => true],
]
const SECTION_ORDER = ['Discovery', 'Workers', 'Output streams', 'Tasks', 'Pools', 'Outside of `/api/v1`']
const ACCESS = { none: 'none', any: 'any token', admin: 'admin', scoped: 'scoped', worker: 'worker' }

const sectionOf = (path) => SECTIONS.find(([, holds]) => holds(path))[0]

const asked = ({ query, body }) => [queryOf(query), bodyOf(body)].filter((each) => each !== '').join(', ')

function queryOf(query) {
  if (query === undefined) return ''
  const parameters = Object.entries(query.properties).map(
    ([name, field]) => `${name}: ${shape(field)}${field.default === undefined ? '' : ` = ${field.default}`}`,
  )
  return code(`?${parameters.join(', ')}`)
}

function bodyOf(body) {
  if (body === undefined) return ''
  return Object.keys(body).length === 0 ? 'JSON-RPC' : shapeCode(body)
}

function answered({ response, path }) {
  if (path.endsWith('/rpc')) return 'JSON-RPC'
  if (path.endsWith('/bus') || path.endsWith('/events')) return 'server-sent events'
  if (path.endsWith('.json')) return 'JSON'
  return response === undefined ? 'not JSON' : shapeCode(response)
}

function endpoints(routes) {
  const bySection = Map.groupBy(routes, ({ path }) => sectionOf(path))
  return SECTION_ORDER.map((section) => {
    const rows = bySection.get(section).toSorted((one, other) => compareText(one.path, other.path))
    const cells = rows.map((row) => [
      row.method,
      code(row.path.replace(TYPE, '…').replace('/api/v1', '')),
      ACCESS[row.access],
      row.summary.replace(/\.$/, ''),
      asked(row),
      answered(row),
    ])
    return `**${section}**\n\n${table(['method', 'path', 'token', 'what', 'query or body', 'response'], cells)}`
  }).join('\n\n')
}

function objects() {
  const schemas = new Map([...NAMED].map(([text, name]) => [name, JSON.parse(text)]))
  return table(
    ['name', 'fields'],
    OBJECTS.map((name) => [name, code(shapeOf(schemas.get(name), withoutSelf(name)))]),
  )
}

const withoutSelf = (name) => new Map([...NAMED].filter(([, each]) => each !== name))

// ── Control channel, rpc, errors ───────────────────────────────────────────────────────────────────────────────────

function frames(schemas) {
  return table(
    ['type', 'fields', 'when, and what it does'],
    Object.entries(schemas).map(([type, schema]) => {
      const { type: _, ...properties } = schema.properties
      return [
        code(type),
        code(shapeOf({ ...schema, properties }, WITHOUT_TOKEN)),
        wordOf(descriptions.FRAME_WORDS, type),
      ]
    }),
  )
}

const rpcMethods = () =>
  table(
    ['method', 'params', 'result', 'notes'],
    Object.entries(RPC).map(([method, { params, result }]) => [
      code(method),
      shapeCode(params),
      shapeCode(result),
      wordOf(descriptions.RPC_WORDS, method),
    ]),
  )

const events = () =>
  table(
    ['event', 'data', 'when'],
    Object.entries(EVENTS).map(([name, { properties }]) => {
      const { type: _, worker_id: __, ts: ___, ...changed } = properties
      return [
        code(name),
        code(shapeOf({ ...EVENTS[name], properties: changed }, WITHOUT_TOKEN)),
        wordOf(descriptions.EVENT_WORDS, name),
      ]
    }),
  )

const errors = () =>
  table(
    ['status', 'code', 'same call again', 'when'],
    Object.entries(ERRORS).map(([name, { status, retryable }]) => [
      status,
      code(name),
      retryable ? 'later' : 'no',
      wordOf(descriptions.ERROR_WORDS, name),
    ]),
  )

const closeCodes = () =>
  table(
    ['code', 'why', 'what the worker does'],
    Object.entries(CLOSE).map(([name, number]) => [number, ...wordOf(descriptions.CLOSE_WORDS, name)]),
  )

/** The rows of `muster worker-test`. */
const workerTestRows = () =>
  table(
    ['row', 'area', 'level', 'what must hold'],
    ROWS.map(({ id, area, level, holds }) => [id, area, level, holds]),
  )

const rpcErrors = () =>
  table(
    ['code', 'name', 'when'],
    Object.entries(RPC_ERRORS).map(([name, number]) => [
      number,
      code(name),
      wordOf(descriptions.RPC_ERROR_WORDS, name),
    ]),
  )

// ── Settings ───────────────────────────────────────────────────────────────────────────────────────────────────────

const SETTING = new RegExp(
  '^ {2}(?<variable>SVC_\\w+), (?:(?<flag>--[\\w-]+)(?:, or (?<either>\\w+_FILE))?|or (?<file>\\w+_FILE))\\n' +
    ' {6}(?<help>.*) \\((?<fallback>[^()]*)\\)$',
  'gm',
)

/** @param fallback The text in parentheses, for example `default 4000`, `required` or `not set`. */
function defaultCell(fallback) {
  if (fallback === 'not set' || fallback === 'required') return fallback
  const value = fallback.replace(/^default /, '')
  return value === hostname() ? 'the host name' : code(value)
}

/** What `--help` prints, as a table. */
function settings(help) {
  const rows = [...help.matchAll(SETTING)].map(({ groups }) => {
    const { variable, flag, either, file, help: sentence, fallback } = groups
    const forms = [flag === undefined ? 'none' : code(flag), ...[either ?? file].filter(Boolean).map(code)]
    return [code(variable), forms.join('; '), defaultCell(fallback), sentence]
  })
  if (rows.length === 0) throw new Error('--help lists no settings in the form that hack/docs/tables.mjs reads')
  return table(['variable', 'flag', 'default', 'meaning'], rows)
}

/** The admin verbs with their own options. */
function adminVerbs() {
  const rows = Object.entries(NOUNS).flatMap(([noun, { verbs }]) =>
    verbs.map((verb) => {
      const options = Object.values(verb.options).map(({ name, short, value }) => {
        const alias = short === undefined || short === name ? '' : `-${short}, `
        const dashes = name.length === 1 ? '-' : '--'
        return code(`${alias}${dashes}${name}${value === undefined ? '' : ` ${value}`}`)
      })
      const words = [noun, verb.name, verb.operands].filter((word) => word !== '')
      return [code(words.join(' ')), verb.summary.replace(/\.$/, ''), options.join(', ')]
    }),
  )
  return table(['muster …', 'what', 'options'], rows)
}

const checkRow = ({ name, what, needs }) => [code(name), what, needs.map(code).join(', ')]
const doctorChecks = () => table(['check', 'what it checks', 'needs'], CHECKS.map(checkRow))

// ── The FleetWorker and the FleetWorkerSet ─────────────────────────────────────────────────────────────────────────

/** `expanded`: objects whose own fields have rows too, such as `rollout.maxUnavailable`. */
const resourceFields = (schema, expanded = []) =>
  table(['field', 'value', 'default', 'meaning'], resourceRows(schema, expanded))

/** The gates of a rollout, with the fields of a counter. */
function gatesOfRollout({ properties }) {
  const { gates } = properties.rollout.properties
  const ofCounter = resourceRows(gates.properties.counters.items, [], 'counters[].')
  const rows = resourceRows(gates, ['errors', 'failureRate', 'runSeconds'])
  return table(['field', 'value', 'default', 'meaning'], [...rows, ...ofCounter])
}

const resourceRows = ({ properties, required = [] }, expanded, path = '') =>
  Object.entries(properties).flatMap(([name, field]) => [
    [
      code(`${path}${required.includes(name) ? name : `${name}?`}`),
      code(resourceValue(field)),
      field.default === undefined || typeof field.default === 'object' ? '' : code(JSON.stringify(field.default)),
      field.description,
    ],
    ...(expanded.includes(name) ? resourceRows(field, [], `${path}${name}.`) : []),
  ])

function resourceValue(field) {
  if (field.enum !== undefined) return field.enum.join(' | ')
  if (field.type === 'array') {
    const { items, maxItems } = field
    const item = items.type === 'object' ? `{${Object.keys(items.properties).join(', ')}}` : items.type
    return `[${item}], at most ${maxItems}`
  }
  if (field.type === 'object')
    return field['x-kubernetes-preserve-unknown-fields'] === true || field.properties === undefined
      ? 'object'
      : `{${Object.keys(field.properties).join(', ')}}`
  if (field['x-kubernetes-int-or-string'] === true)
    return `integer, ${field.minimum}..${field.maximum}, or a percentage`
  if (field.type === 'string' && field.maxLength !== undefined) return `string, at most ${field.maxLength}`
  return field.minimum === undefined
    ? (field.format ?? field.type)
    : `${field.type}, ${field.minimum}..${field.maximum ?? ''}`
}

const reasons = (all, words) =>
  table(
    ['condition', 'status', 'reason', 'when, and what to do'],
    Object.entries(all).flatMap(([condition, byReason]) =>
      Object.entries(byReason).map(([reason, status]) => [
        condition,
        status,
        code(reason),
        wordOf(words, `${condition}.${reason}`),
      ]),
    ),
  )

// ── Configs ────────────────────────────────────────────────────────────────────────────────────────────────────────

function fields(schema, book, { without = [], defaults = true } = {}) {
  const rows = Object.entries(schema.properties)
    .filter(([name]) => !without.includes(name))
    .map(([name, field]) => {
      const nested = field.type === 'array' && field.items.type === 'object'
      const bounds = nested ? `[…, 0..${field.maxItems}]` : shape(field)
      const meaning = [field.description, Object.hasOwn(book, name) ? book[name] : undefined].filter(
        (text) => text !== undefined && text !== '',
      )
      if (meaning.length === 0 && !Object.hasOwn(book, name))
        throw new Error(`hack/docs/descriptions.mjs does not describe the field ${name}`)
      const optional = (schema.required ?? []).includes(name) || !defaults ? '' : '?'
      const fallback = field.default === undefined ? [] : [code(JSON.stringify(field.default))]
      return [
        code(field.default === undefined ? `${name}${optional}` : name),
        code(bounds),
        ...(defaults ? [fallback[0] ?? ''] : []),
        meaning.join(' '),
      ]
    })
  return table(['field', 'value', ...(defaults ? ['default'] : []), 'meaning'], rows)
}

const BASE = protocol.BASE_CONFIG_NAMES

/** Every table, by the name of its marker. */
export async function tables() {
  const catalog = buildCatalog([httpProbe, httpRequest])
  const [probe, request] = [catalog.get('http-probe'), catalog.get('http-request')]
  const master = await fromMaster()
  return new Map(
    Object.entries({
      endpoints: endpoints(master.routes),
      objects: objects(),
      'worker-frames': frames(WORKER_FRAMES),
      'master-frames': frames(MASTER_FRAMES),
      'close-codes': closeCodes(),
      rpc: rpcMethods(),
      'rpc-errors': rpcErrors(),
      'worker-test-rows': workerTestRows(),
      errors: errors(),
      events: events(),
      sizing: sizingTable(),
      limits: table(['what', 'limit', 'setting', 'beyond the limit'], limitRows(protocol)),
      'dev-settings': settings(devHelp()),
      'master-settings': settings(masterHelp()),
      'worker-settings': settings(workerHelp()),
      'operator-settings': settings(operatorHelp()),
      'bootstrap-settings': settings(bootstrapHelp()),
      'admin-verbs': adminVerbs(),
      'doctor-checks': doctorChecks(),
      published: publishedBlock(publishedNames()),
      metrics: master.metrics,
      'operator-metrics': await fromOperator(),
      'fleetworker-spec': resourceFields(FleetWorkerSpec),
      'fleetworker-status': resourceFields(FleetWorkerStatus),
      'fleetworkerset-spec': resourceFields(FleetWorkerSetSpec, ['selector', 'rollout', 'workload']),
      'rollout-gates': gatesOfRollout(FleetWorkerSetSpec),
      'fleetworkerset-status': resourceFields(FleetWorkerSetStatus, ['workers', 'drift']),
      'fleetworker-reasons': reasons(REASONS, descriptions.REASON_WORDS),
      'fleetworkerset-reasons': reasons(SET_REASONS, {
        ...descriptions.REASON_WORDS,
        ...descriptions.SET_REASON_WORDS,
      }),
      'base-config': fields({ properties: protocol.BASE_CONFIG_FIELDS, required: BASE }, {}),
      'http-probe-config': fields(probe.configSchema, descriptions.FIELD_WORDS, { without: BASE }),
      'http-probe-target': fields(probe.configSchema.properties.targets.items, descriptions.TARGET_WORDS),
      'http-probe-output': fields(probe.outputSchema, descriptions.PROBE_OUTPUT_WORDS, { defaults: false }),
      'http-request-config': fields(request.configSchema, descriptions.FIELD_WORDS, { without: BASE }),
      'http-request-payload': fields(request.payloadSchema, descriptions.PAYLOAD_WORDS),
      'http-request-output': fields(request.outputSchema, descriptions.REQUEST_OUTPUT_WORDS, { defaults: false }),
    }),
  )
}
