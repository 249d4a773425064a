/**
 * @module test/conformance/check
 * Checks the conformance table against the sources of the tests. It reports a row without a test, and a proof whose
 * test was renamed, removed or skipped. It only reads the files; jest shows that the tests pass.
 */
import type { Row } from './table/index.ts'

/** Returns the text of a file below `test/`, or undefined if there is none. */
export type ReadTest = (file: string) => string | undefined
interface CheckResult {
  readonly faults: readonly string[]
  readonly shown: number
  readonly pending: ReadonlyMap<string, number>
}

/** The first line of a test: `it(`, `it.each([`, or the end of a table of several lines: `])(`. */
const TEST_LINE = /^\s*(?:(?:it|test)(?:\.each)?\(|\](?: as const)?\)\()/
/** For example `it('first-id, second-id: what it does'`. */
const TITLE = /^\s*it\(\s*["'`](?<ids>[^:]+): /
const LAST_DECISION = 101

/** The heads of all tests: the lines from the first one to the one with the function, joined, and so their strings. */
function testHeadsOf(text: string): readonly string[] {
  const lines = text.split('\n')
  return lines.flatMap((line, start) => {
    if (!TEST_LINE.test(line)) return []
    const end = lines.findIndex((each, at) => at >= start && each.includes('=>'))
    return [
      lines
        .slice(start, end + 1)
        .map((each) => each.trim())
        .join(' ')
        .replaceAll(/(["'])\s\+\s["']/g, ''),
    ]
  })
}

/** @param suites The conformance tests by name. Their titles begin with the ids of rows. */
export function check(table: readonly Row[], suites: Readonly<Record<string, string>>, read: ReadTest): CheckResult {
  const ids = new Set(table.map(([id]) => id))
  const titled = new Set<string>()
  const faults: string[] = []
  for (const [suite, text] of Object.entries(suites)) {
    for (const head of testHeadsOf(text)) {
      const named = TITLE.exec(head)?.groups?.['ids']?.split(', ') ?? []
      if (named.length === 0) faults.push(`${suite}: a title begins with the ids of its rows: ${head}`)
      for (const id of named) {
        titled.add(id)
        if (!ids.has(id)) faults.push(`${suite}: "${id}" is no row of the table`)
      }
    }
  }
  const pending = new Map<string, number>()
  for (const row of table) faults.push(...faultsOf(row, titled, read, pending))
  faults.push(
    ...table
      .map(([id]) => id)
      .filter((id, at, all) => all.indexOf(id) !== at)
      .map((id) => `${id}: appears twice`),
  )
  for (let n = 1; n <= LAST_DECISION; n += 1)
    if (!table.some(([id]) => new RegExp(`^D${n}[a-z]?$`).test(id))) faults.push(`D${n}: has no row`)
  return { faults, shown: table.length - [...pending.values()].reduce((sum, count) => sum + count, 0), pending }
}

function faultsOf(
  [id, , ...proofs]: Row,
  titled: ReadonlySet<string>,
  read: ReadTest,
  pending: Map<string, number>,
): string[] {
  if (proofs.length === 0 && !titled.has(id)) return [`${id}: no test shows it`]
  return proofs.flatMap((proof) => {
    if ('pending' in proof) {
      pending.set(proof.pending, (pending.get(proof.pending) ?? 0) + 1)
      return titled.has(id) || proofs.length > 1 ? [`${id}: is shown, but still marked as pending`] : []
    }
    const text = read(proof.file)
    if (text === undefined) return [`${id}: there is no test/${proof.file}`]
    const found = proof.title !== '' && testHeadsOf(text).some((head) => head.includes(proof.title))
    return found ? [] : [`${id}: test/${proof.file} has no test "${proof.title}"`]
  })
}

/** `N rows, N shown`, and the number of pending rows per part. */
export function summary(table: readonly Row[], { shown, pending }: CheckResult): string {
  const parts = [...pending].map(([part, count]) => `, ${count} pending: ${part}`)
  return `conformance: ${table.length} rows, ${shown} shown${parts.join('')}`
}
