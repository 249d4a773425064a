/**
 * Runs controls: `node test/controls/main.ts [NAME…]`. Without names, every control. The seed that finds a control of
 * the simulation first is written into its file. A control that its recorded seeds no longer find is searched from a
 * new base. A name of a control that a test finds is a part of its safeguard.
 *
 *   --fresh      search every control from a new base, as a nightly run does; writes nothing
 *   --seeds N    seeds of a search, 300 by default
 *   --table      write the table of README.md, and run nothing
 *
 * Prints a line for each control. Exit code 1: a control was not found.
 */
import { writeFile } from 'node:fs/promises'
import { parseArgs } from 'node:util'
import { countMatches, readControls, searchWith, writeControl, type NamedControl } from './control.ts'
import { pageWithTable, README } from './table.ts'
import { findWithTest, readTestControls, type TestControl } from './test-control.ts'

const { values, positionals } = parseArgs({
  options: {
    fresh: { type: 'boolean', default: false },
    seeds: { type: 'string', default: '300' },
    table: { type: 'boolean', default: false },
  },
  allowPositionals: true,
})
const freshBase = Math.floor(Math.random() * 0x1000_0000)

/** The first seed at which the invariant of a control is violated; null if there is none. */
async function findSeed(control: NamedControl, seeds = control.seeds): Promise<{ seed: number | null; text: string }> {
  const { violation, plan, seeds: tried } = await searchWith(control, seeds)
  if (violation === null) return { seed: null, text: `nothing in ${tried} seeds` }
  return { seed: plan?.seed ?? null, text: `${violation.problem.split('\n')[0]} (seed ${plan?.seed}, ${tried} tried)` }
}

async function check(control: NamedControl): Promise<boolean> {
  const matches = await countMatches(control)
  if (matches !== 1) return report(control, false, `matches ${control.file} ${matches} times`)
  if (!values.fresh) {
    const recorded = await findSeed(control)
    if (recorded.seed === control.seeds.base) return report(control, true, recorded.text)
    if (recorded.seed !== null) return record(control, recorded.seed, recorded.text)
  }
  const found = await findSeed(control, { base: freshBase, count: Number(values.seeds) })
  if (found.seed === null || values.fresh) return report(control, found.seed !== null, found.text)
  return record(control, found.seed, found.text)
}

/** Writes the seed that finds a control first, so that the test at commit runs few seeds. */
async function record(control: NamedControl, seed: number, text: string): Promise<boolean> {
  await writeControl({ ...control, seeds: { base: seed, count: control.seeds.count } })
  return report(control, true, `recorded again, ${text}`)
}

function report(
  { name, invariant }: Pick<NamedControl, 'name' | 'invariant'>,
  isFound: boolean,
  text: string,
): boolean {
  process.stdout.write(`${isFound ? 'found' : 'NOT FOUND'} ${name} by ${invariant}: ${text}\n`)
  return isFound
}

async function checkWithTest(control: TestControl): Promise<boolean> {
  const { isFound, text } = await findWithTest(control).then(
    (failure) =>
      failure === undefined
        ? { isFound: false, text: 'it passes' }
        : { isFound: true, text: `${failure.title}: ${failure.error.split('\n')[0]}` },
    (error: unknown) => ({ isFound: false, text: String(error) }),
  )
  return report({ name: `"${control.safeguard}"`, invariant: control.test }, isFound, text)
}

async function run(): Promise<void> {
  const isWanted = (name: string): boolean =>
    positionals.length === 0 || positionals.some((each) => name === each || (each.includes(' ') && name.includes(each)))
  const controls = (await readControls()).filter(({ name }) => isWanted(name))
  const testControls = (await readTestControls()).filter(({ safeguard }) => isWanted(safeguard))
  let found = 0
  for (const control of controls) if (await check(control)) found += 1
  for (const control of testControls) if (await checkWithTest(control)) found += 1
  const all = controls.length + testControls.length
  process.stdout.write(`${found} of ${all} controls found\n`)
  process.exitCode = found === all ? 0 : 1
}

if (values.table) await writeFile(README, await pageWithTable())
else await run()
