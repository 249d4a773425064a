// Reads, checks and writes the record of reliability runs: test/reliability/runs.jsonl, failures.jsonl and RESULTS.md.
// Used by reliability-report.mjs and verify-reliability.mjs, which run in the folder of the project.
import { execFileSync } from 'node:child_process'
import { appendFileSync, existsSync, readFileSync } from 'node:fs'
import { cpus, totalmem } from 'node:os'

const FOLDER = 'test/reliability'
export const RUNS = `${FOLDER}/runs.jsonl`
export const FAILURES = `${FOLDER}/failures.jsonl`
const RESULTS = `${FOLDER}/RESULTS.md`

/** The layers, in the order of the tables. */
const LAYERS = {
  L1: 'Model of the stores',
  L2: 'Simulation',
  L3: 'Crash points',
  L4: 'Power cuts',
  L5: 'Real faults, consistency',
  L6: 'Operator faults',
  L7: 'Hostile input, secrets',
  disk: 'Disk faults',
  controls: 'Controls',
  mutants: 'Mutants',
  versions: 'Versions',
  soak: 'Soak',
}

const isObject = (value) => typeof value === 'object' && value !== null && !Array.isArray(value)
const isText = (value) => typeof value === 'string' && value.trim() !== '' && !/[\n|]/.test(value)
const isCount = (value) => Number.isSafeInteger(value) && value >= 0
const isFigure = (value) => isText(value) || Number.isFinite(value)
const each = (isValid) => (value) =>
  isObject(value) && Object.keys(value).every(isText) && Object.values(value).every(isValid)

const TEXT = { isValid: isText, must: 'must be a text without line breaks and |' }
const COUNT = { isValid: isCount, must: 'must be a whole number, 0 or more' }
const DATE = {
  isValid: (value) => typeof value === 'string' && /^\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d)?Z$/.test(value),
  must: 'must be a UTC time such as "2026-11-25T13:40Z"',
}
const LAYER = {
  isValid: (value) => typeof value === 'string' && Object.hasOwn(LAYERS, value),
  must: `must be one of ${Object.keys(LAYERS).join(', ')}`,
}

const RUN_FIELDS = {
  date: DATE,
  commit: {
    isValid: (value) => typeof value === 'string' && /^[0-9a-f]{7,40}(\+changes)?$/.test(value),
    must: 'must be a commit of 7 to 40 hexadecimal digits, with "+changes" behind it if files had changed since',
  },
  machine: TEXT,
  layer: LAYER,
  command: TEXT,
  count: COUNT,
  counted: TEXT,
  seedBase: { isValid: (value) => value === null || isFigure(value), must: 'must be a number, a text or null' },
  mustHappen: { isValid: each(isCount), must: 'must be an object of names and counts, {} if nothing must happen' },
  found: COUNT,
  skipped: {
    isValid: (value) => Array.isArray(value) && value.every(isText),
    must: 'must be a list of texts, [] if nothing was skipped',
  },
  figures: {
    isOptional: true,
    isValid: each(isFigure),
    must: 'must be an object of names and numbers or texts; leave it out if nothing was measured',
  },
}

const FAILURE_FIELDS = { date: DATE, layer: LAYER, at: TEXT, cause: TEXT, fix: TEXT, test: TEXT }

/** Returns one sentence for each wrong field of a line. */
function fieldFaults(value, fields) {
  if (!isObject(value)) return ['the line must be one JSON object']
  const unknown = Object.keys(value).filter((name) => !Object.hasOwn(fields, name))
  return [
    ...unknown.map((name) => `field ${name} is unknown; known: ${Object.keys(fields).join(', ')}`),
    ...Object.entries(fields).flatMap(([name, { isOptional, isValid, must }]) => {
      if (value[name] === undefined) return isOptional ? [] : [`field ${name} is missing; it ${must}`]
      return isValid(value[name]) ? [] : [`field ${name} is ${JSON.stringify(value[name])}; it ${must}`]
    }),
  ]
}

/** `undefined` if the text is not JSON. */
function parsed(text) {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

function readLines(path, fields) {
  const text = existsSync(path) ? readFileSync(path, 'utf8') : ''
  const lines = text
    .split('\n')
    .map((line, index) => ({ line, at: `${path}:${index + 1}` }))
    .filter(({ line }) => line !== '')
    .map(({ line, at }) => ({ at, value: parsed(line) }))
    .map(({ at, value }) => ({ value, faults: fieldFaults(value, fields).map((fault) => `${at}: ${fault}`) }))
  return {
    values: lines.filter(({ faults }) => faults.length === 0).map(({ value }) => value),
    faults: lines.flatMap(({ faults }) => faults),
  }
}

/** Reads both files. @returns `faults`: one sentence for each wrong field, with file and line. */
export function readRecord() {
  const runs = readLines(RUNS, RUN_FIELDS)
  const failures = readLines(FAILURES, FAILURE_FIELDS)
  return { runs: runs.values, failures: failures.values, faults: [...runs.faults, ...failures.faults] }
}

/** Adds a line to RUNS or FAILURES. @returns the faults of the line; if there are any, the file stays as it was. */
export function addLine(path, text) {
  const isRun = path === RUNS
  const value = parsed(text)
  if (!isObject(value)) return ['the line must be one JSON object']
  const whole = { date: now(), ...(isRun && defaultsOfRun()), ...value }
  const faults = fieldFaults(whole, isRun ? RUN_FIELDS : FAILURE_FIELDS)
  if (faults.length === 0) appendFileSync(path, `${JSON.stringify(whole)}\n`)
  return faults
}

const now = () => `${new Date().toISOString().slice(0, 16)}Z`
const git = (...args) => execFileSync('git', args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }).trim()

function defaultsOfRun() {
  const isChanged = git('status', '--porcelain', '--', '.', `:!${FOLDER}`) !== ''
  const nodeVersion = process.versions.node
  const gibibytes = Math.round(totalmem() / 2 ** 30)
  return {
    commit: git('rev-parse', '--short', 'HEAD') + (isChanged ? '+changes' : ''),
    machine: `${cpus().length} cores, ${gibibytes} GiB, ${process.platform} ${process.arch}, Node ${nodeVersion}`,
    seedBase: null,
    mustHappen: {},
    found: 0,
    skipped: [],
  }
}

/** Lines that a commit removed or changed. Empty outside of a Git clone. */
export function editedLines() {
  const numbers = (() => {
    try {
      return git('log', '--numstat', '--format=', '--', RUNS, FAILURES)
    } catch {
      return '' // No clone: there is nothing to compare with.
    }
  })()
  const removals = numbers.split('\n').map((line) => line.split('\t'))
  return removals
    .filter(([, removed]) => Number(removed) > 0)
    .map(([, removed, path]) => `${path}: a commit removed or changed ${removed} lines; rows are added, never edited`)
}

const row = (...cells) => `| ${cells.join(' | ')} |`
const head = (...names) => [row(...names), `|${names.map(() => '---|').join('')}`]
const code = (text) => `\`${text.replaceAll('`', '')}\``
const grouped = (number) => number.toLocaleString('en-US')
const nameOf = (layer) => (/^L\d$/.test(layer) ? `${layer} ${LAYERS[layer]}` : LAYERS[layer])
const position = ({ layer }) => Object.keys(LAYERS).indexOf(layer)

const missed = ({ mustHappen }) => Object.keys(mustHappen).filter((name) => mustHappen[name] === 0)

function verdictOf(run) {
  if (run.found > 0) return `**${grouped(run.found)} found**`
  if (missed(run).length > 0) return '**a situation was not reached**'
  return run.skipped.length > 0 ? 'passed, with skips' : 'passed'
}

function situationsOf(run) {
  const counts = Object.entries(run.mustHappen).toSorted(([, a], [, b]) => a - b)
  if (counts.length === 0) return '–'
  const [name, fewest] = counts[0]
  const reached = `${counts.length - missed(run).length} of ${counts.length}`
  return missed(run).length > 0
    ? `${reached}; never: ${missed(run).join(', ')}`
    : `${reached}; fewest: ${name}, ${grouped(fewest)}`
}

const figuresOf = ({ figures = {} }) =>
  Object.entries(figures)
    .map(([name, value]) => `${name}: ${value}`)
    .join('; ') || '–'

function latestTable(runs) {
  const newest = new Map()
  for (const run of runs) newest.set(`${run.layer} ${run.counted}`, run)
  return [
    ...head('Layer', 'What was run', 'Result', 'Skipped', 'Date', 'Commit'),
    ...[...newest.values()]
      .toSorted((a, b) => position(a) - position(b))
      .map((run) =>
        row(
          nameOf(run.layer),
          `${grouped(run.count)} ${run.counted}`,
          verdictOf(run),
          run.skipped.join(', ') || '–',
          run.date.slice(0, 10),
          code(run.commit),
        ),
      ),
  ]
}

const runRow = (run) =>
  row(
    run.date.replace('T', ' '),
    code(run.commit),
    nameOf(run.layer),
    code(run.command),
    `${grouped(run.count)} ${run.counted}`,
    run.seedBase ?? '–',
    situationsOf(run),
    verdictOf(run),
    run.skipped.join(', ') || '–',
    figuresOf(run),
    run.machine,
  )

const failureRow = ({ date, layer, at, cause, fix, test }) =>
  row(date.slice(0, 10), nameOf(layer), at, cause, code(fix), code(test))

const HEAD = [
  '# Results of the reliability programme',
  '',
  'What was run to prove the guarantees of Muster, and what it found.',
  '`node hack/reliability-report.mjs` writes this page from `runs.jsonl` and `failures.jsonl`.',
  'Rows are added, never edited.',
  '',
  'A run counts for the commit in its row. "Passed" means that it found no violation.',
  'A release needs a passed run of its own commit in every layer.',
]

const ALL_RUNS = [
  '"Situations" are rare events that a run must reach at least once.',
  '"Seed" is where random choices begin: the same seed and commit repeat the run.',
]

/** The page, by its path. */
export function report({ runs, failures }) {
  const byDate = (a, b) => a.date.localeCompare(b.date) || position(a) - position(b)
  const sortedRuns = runs.toSorted(byDate)
  const text = [
    ...HEAD,
    '',
    '## Newest run of each check',
    '',
    ...latestTable(sortedRuns),
    '',
    '## All runs',
    '',
    ...ALL_RUNS,
    '',
    ...head(
      'Date (UTC)',
      'Commit',
      'Layer',
      'Command',
      'Count',
      'Seed',
      'Situations',
      'Result',
      'Skipped',
      'Measured',
      'Machine',
    ),
    ...sortedRuns.map(runRow),
    '',
    '## Failures that were found',
    '',
    'Every defect of the product that a layer found, with the test that keeps it fixed.',
    '',
    ...head('Date', 'Layer', 'Seed or point', 'Cause', 'Fix', 'Regression test'),
    ...failures.toSorted(byDate).map(failureRow),
    '',
  ]
  return new Map([[RESULTS, text.join('\n')]])
}
