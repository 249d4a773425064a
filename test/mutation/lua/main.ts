/**
 * Tests the tests of the Redis backend with mutants of its Lua scripts (mutants.ts):
 *
 *   node test/mutation/lua/main.ts [--tenth] [--at tasks.ack.lua:41] [--tests REGEX] [--fresh] [--verbose]
 *
 *   --tenth    every tenth mutant, another tenth each day
 *   --at       only the mutants of this file, or of this line of a file; may be repeated
 *   --tests    only tests whose title matches this regular expression
 *   --fresh    finds out again which scripts each test reaches; without it, only for tests with a new title
 *   --verbose  also a line for each mutant that was killed, with the test
 *
 * A mutant survives when all tests that reach its script pass. Survivors must be listed with a reason in
 * survivors.json; a listed one that was killed, or that no longer exists, fails too. Prints one line of JSON.
 * Exit codes: 0 as listed, 1 not as listed.
 */
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { parseArgs } from 'node:util'
import { SCRIPT_FILES } from '../../../src/storage/redis/script-files.ts'
import { keyOf, mutantsOf, type Mutant } from './mutants.ts'
import { scriptsWith, Suite, type Coverage, type CoveredTest } from './suite.ts'

const COVERAGE = new URL('../../../coverage/lua-tests.json', import.meta.url)
const DAY_MS = 86_400_000
/** Runs of a mutant against tests that fail without it too, for example because the machine was busy. */
const MAX_TRIES = 3

interface Listed {
  readonly file: string
  readonly code: string
  readonly becomes: string
  readonly occurrence?: number
  readonly reason: string
}

process.exitCode = 1 // Until the last mutant was judged.
const { values } = parseArgs({
  options: {
    tenth: { type: 'boolean', default: false },
    at: { type: 'string', multiple: true },
    tests: { type: 'string', default: '' },
    fresh: { type: 'boolean', default: false },
    verbose: { type: 'boolean', default: false },
  },
})

const listed = JSON.parse(readFileSync(new URL('survivors.json', import.meta.url), 'utf8')) as readonly Listed[]
const reasons = new Map(listed.map((each) => [keyOf({ occurrence: 1, ...each }), each.reason]))
const all = mutantsOf(SCRIPT_FILES)
const today = Math.floor(Date.now() / DAY_MS) % 10
const chosen = all.filter(
  ({ file, line }, i) =>
    (!values.tenth || i % 10 === today) &&
    (values.at?.some((place) => place === file || place === `${file}:${line}`) ?? true),
)
/** Files of the mutants that each test killed. */
const kills = new Map<string, string[]>()
const faults: string[] = []
const say = (mutant: Mutant, word: string, more = ''): void =>
  console.error(`${word}  ${mutant.file}:${mutant.line}  ${mutant.code}\n    =>  ${mutant.becomes}${more}`)

// The servers of the tests end with the process.
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(130))
const { suite, tests } = await Suite.load()
let killed = 0
const startedMs = Date.now()
let covered: readonly CoveredTest[] = []
try {
  const matching = tests.filter(({ title }) => new RegExp(values.tests).test(title))
  const known = values.fresh ? new Map<string, Coverage>() : readCoverage()
  covered = await suite.cover(matching, known)
  writeCoverage([
    ...known.entries(),
    ...covered.map(({ title, scripts, tookMs }) => [title, { scripts, tookMs }] as const),
  ])
  console.error(`${covered.length} tests, ${Date.now() - startedMs} ms; ${chosen.length} of ${all.length} mutants`)
  for (const mutant of chosen) {
    const killer = await killerOf(mutant)
    const isListed = reasons.has(keyOf(mutant))
    if (killer !== null) killed += 1
    if (killer !== null && values.verbose) say(mutant, 'killed  ', `\n    ${killer}`)
    if (killer !== null && isListed) {
      faults.push('listed')
      say(mutant, 'KILLED, BUT LISTED', `\n    ${killer}`)
    }
    if (killer === null && !isListed) {
      faults.push('survivor')
      say(mutant, 'SURVIVED')
    }
  }
} finally {
  await suite.close()
}
const existing = new Set(all.map(keyOf))
for (const each of listed)
  if (!existing.has(keyOf({ occurrence: 1, ...each }))) {
    faults.push('unknown')
    console.error(`LISTED, BUT NO MUTANT  ${each.file}  ${each.code}`)
  }
console.log(
  JSON.stringify({
    mutants: chosen.length,
    of: all.length,
    killed,
    survived: chosen.length - killed,
    faults: faults.length,
    seconds: Math.round((Date.now() - startedMs) / 1000),
  }),
)
process.exitCode = faults.length > 0 ? 1 : 0

function readCoverage(): ReadonlyMap<string, Coverage> {
  if (!existsSync(COVERAGE)) return new Map()
  return new Map(Object.entries(JSON.parse(readFileSync(COVERAGE, 'utf8')) as Record<string, Coverage>))
}

function writeCoverage(entries: readonly (readonly [string, Coverage])[]): void {
  mkdirSync(new URL('.', COVERAGE), { recursive: true })
  writeFileSync(COVERAGE, JSON.stringify(Object.fromEntries(entries)))
}

/** The test that fails with the mutant and passes without it, null if there is none. */
async function killerOf(mutant: Mutant): Promise<string | null> {
  const reached = new Set(scriptsWith(mutant.file))
  const candidates = covered
    .filter((test) => test.scripts.some((name) => reached.has(name)))
    .toSorted((a, b) => rank(b, mutant) - rank(a, mutant) || a.tookMs - b.tookMs)
  await suite.install(mutant.file, mutant.text)
  try {
    for (const test of candidates) {
      const error = await failureOf(test, mutant)
      if (error === null) continue
      kills.set(test.title, [...(kills.get(test.title) ?? []), mutant.file])
      return `${test.title}: ${error}`
    }
    return null
  } finally {
    suite.uninstall(mutant.file)
  }
}

/** The first line of the failure that only the mutant causes. A test that fails without it too is run again. */
async function failureOf(test: CoveredTest, mutant: Mutant): Promise<string | null> {
  for (let tries = 1; tries <= MAX_TRIES; tries += 1) {
    const outcome = await suite.run(test)
    if (outcome.kind === 'passed') return null
    if (outcome.kind === 'timed_out') await suite.reset()
    suite.uninstall(mutant.file)
    if ((await suite.run(test)).kind === 'passed') return outcome.error.split('\n')[0] ?? ''
    await suite.reset()
    await suite.install(mutant.file, mutant.text)
  }
  return null
}

/** Tests that killed other mutants of the file come first. */
function rank({ title }: CoveredTest, { file }: Mutant): number {
  return kills.get(title)?.filter((each) => each === file).length ?? 0
}
