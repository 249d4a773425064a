/** Renders the table of safeguards in README.md: what each does, where it is, and what fails without it. */
import { readFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { readControls, ROOT } from './control.ts'
import { readElsewhere, readTestControls } from './test-control.ts'

interface Row {
  readonly safeguard: string
  readonly file: string
  readonly shownBy: string
}

export const README = join(ROOT, 'test/controls/README.md')
const START = '<!-- The table is written by: make controls ARGS=--table -->\n'
const HEAD = '| Safeguard | In | Shown by |\n|---|---|---|\n'

async function readRows(): Promise<readonly Row[]> {
  const simulated = (await readControls()).map(({ name, safeguard, file, invariant }) => ({
    safeguard,
    file,
    shownBy: `${invariant} of the simulation: \`${name}\``,
  }))
  const tested = [...(await readTestControls()), ...(await readElsewhere())].map(
    ({ safeguard, file, test, title }) => ({
      safeguard,
      file,
      shownBy: `\`${test.replace(/^test\//, '')}\`: ${title.replaceAll('|', '\\|')}`,
    }),
  )
  return [...simulated, ...tested]
}

/** The page with the current table. */
export async function pageWithTable(): Promise<string> {
  const [before = ''] = (await readFile(README, 'utf8')).split(START)
  const rows = await readRows()
  const folders = [...new Set(rows.map(({ file }) => dirname(file)))].toSorted()
  const parts = folders.map((folder) => {
    const own = rows.filter(({ file }) => dirname(file) === folder)
    return partOf(folder, own)
  })
  return `${before}${START}\n${parts.join('\n')}`
}

function partOf(folder: string, rows: readonly Row[]): string {
  const lines = rows
    .map(({ safeguard, file, shownBy }) => `| ${safeguard} | \`${file.slice(folder.length + 1)}\` | ${shownBy} |\n`)
    .toSorted()
  return `### ${folder}\n${HEAD}${lines.join('')}`
}
