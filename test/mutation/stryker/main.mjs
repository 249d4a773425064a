/**
 * Runs Stryker on the files of files.json, each with its tests:
 *
 *   node test/mutation/stryker/main.mjs [--file src/worker/leases.ts] [--record]
 *
 *   --file    only this file; may be repeated
 *   --record  write the survivors to survivors.json instead of comparing
 *
 * In each file at least 85 % of the mutants must be killed, and every survivor must be in survivors.json. Prints one
 * line of JSON for each file. Exit codes: 0 reached, 1 not reached.
 */
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { Stryker } from '@stryker-mutator/core'

const MIN_KILLED_PERCENT = 85
const ROOT = fileURLToPath(new URL('../../..', import.meta.url))
const REPORT = 'coverage/stryker.json'
const SURVIVORS = new URL('survivors.json', import.meta.url)

const { values } = parseArgs({
  options: { file: { type: 'string', multiple: true }, record: { type: 'boolean', default: false } },
})
const readJson = (url) => JSON.parse(readFileSync(url, 'utf8'))
const testsOf = readJson(new URL('files.json', import.meta.url))
const files = values.file ?? Object.keys(testsOf)
const listed = readJson(SURVIVORS)
process.chdir(ROOT)
mkdirSync('coverage', { recursive: true })

const options = (file) => ({
  mutate: [file],
  testRunner: 'in-process',
  plugins: [fileURLToPath(new URL('runner.mjs', import.meta.url))],
  coverageAnalysis: 'perTest',
  concurrency: 1,
  disableTypeChecks: false,
  tsconfigFile: 'none', // Stryker reads it with an API that TypeScript 7 does not have.
  ignorePatterns: ['dist', 'coverage', '.tools', 'charts', 'manifests', 'test/bench', 'test/chart', 'test/cluster'],
  tempDirName: '.tools/stryker',
  reporters: ['json'],
  logLevel: 'warn',
  jsonReporter: { fileName: REPORT },
  allowConsoleColors: false,
  timeoutMS: 60_000, // For a busy machine: an endless loop is found by the number of its turns.
  timeoutFactor: 3,
})

/** Identifies a mutant without its line. */
const keyOf = ({ mutatorName, code, replacement }) => `${mutatorName}: ${code} => ${replacement}`

function codeOf(source, { start, end }) {
  const lines = source.split('\n').slice(start.line - 1, end.line)
  lines[lines.length - 1] = lines.at(-1).slice(0, end.column - 1)
  lines[0] = lines[0].slice(start.column - 1)
  return lines.join(' ').replaceAll(/\s+/g, ' ')
}

async function run(file) {
  process.env.MUTATION_TESTS = testsOf[file].join('\n')
  const startedMs = Date.now()
  await new Stryker(options(file)).runMutationTest()
  const { source, mutants } = readJson(new URL(`../../../${REPORT}`, import.meta.url)).files[file]
  const judged = mutants.filter(({ status }) => ['Killed', 'Timeout', 'Survived', 'NoCoverage'].includes(status))
  const survivors = judged
    .filter(({ status }) => status === 'Survived' || status === 'NoCoverage')
    .map((mutant) => ({ ...mutant, code: codeOf(source, mutant.location) }))
  const percent = Math.round((1000 * (judged.length - survivors.length)) / judged.length) / 10
  const known = new Set(listed[file])
  const fresh = survivors.filter((mutant) => !known.has(keyOf(mutant)))
  for (const mutant of values.record ? survivors : fresh)
    console.error(`${mutant.status}  ${file}:${mutant.location.start.line}  ${keyOf(mutant)}`)
  const seconds = Math.round((Date.now() - startedMs) / 1000)
  console.log(JSON.stringify({ file, mutants: judged.length, percent, survivors: survivors.length, seconds }))
  if (values.record) listed[file] = [...new Set(survivors.map(keyOf))].toSorted((a, b) => (a < b ? -1 : 1))
  return percent >= MIN_KILLED_PERCENT && (values.record || fresh.length === 0)
}

let isReached = true
for (const file of files) isReached = (await run(file)) && isReached
if (values.record) writeFileSync(SURVIVORS, `${JSON.stringify(listed, null, 2)}\n`)
rmSync('.tools/stryker', { recursive: true, force: true })
process.exitCode = isReached ? 0 : 1
