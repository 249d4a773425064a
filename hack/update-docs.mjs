#!/usr/bin/env node
// Writes the generated tables of the Markdown pages: endpoints, rpc, errors, settings, metrics, limits …
// Usage: node hack/update-docs.mjs [--check] [ROOT]    Needs Node >= 22.18, which reads the TypeScript of src/ itself.
//        --check writes nothing. Exit: 0 up to date or written, 1 with --check: differs; a marker without a table, or
//        a table without a marker.
//
// A table stands between `<!-- generated: NAME -->` and `<!-- /generated -->`. The tables are in hack/docs/tables.mjs.
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { tables } from './docs/tables.mjs'

const { values, positionals } = parseArgs({
  options: { check: { type: 'boolean', default: false } },
  allowPositionals: true,
})
process.chdir(positionals[0] ?? fileURLToPath(new URL('..', import.meta.url)))

const ELSEWHERE = /(?:^|\/)(?:node_modules|dist|coverage|\.[^/]+)(?:\/|$)/
const BLOCK = /(?<open><!-- generated: (?<name>[\w-]+) -->\n).*?(?<close><!-- \/generated -->)/gs

const made = await tables()
const used = new Set()
const faults = []

function rewritten(page, text) {
  return text.replaceAll(BLOCK, (block, ...rest) => {
    const { open, name, close } = rest.at(-1)
    const table = made.get(name)
    used.add(name)
    if (table === undefined) faults.push(`${page}: there is no table "${name}"; known: ${[...made.keys()].join(', ')}`)
    const next = table === undefined ? block : `${open}${table}\n${close}`
    if (values.check && next !== block)
      faults.push(`${page}: the table "${name}" differs from the code; run node hack/update-docs.mjs`)
    return next
  })
}

const pages = readdirSync('.', { recursive: true })
  .filter((name) => name.endsWith('.md') && !ELSEWHERE.test(name))
  .toSorted()
for (const page of pages) {
  const before = readFileSync(page, 'utf8')
  const after = rewritten(page, before)
  if (values.check || after === before) continue
  writeFileSync(page, after)
  console.log(`${page}: written`)
}
faults.push(
  ...[...made.keys()].filter((name) => !used.has(name)).map((name) => `the table "${name}" stands on no page`),
)
for (const fault of faults) console.error(fault)
process.exitCode = faults.length === 0 ? 0 : 1
