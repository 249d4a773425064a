#!/usr/bin/env node
// Rejects words and phrases that are not plain engineering English, in code, comments, texts and file names.
// Usage: node hack/verify-language.mjs [--only PATH] [ROOT]    --only: files whose path begins with PATH.
// Exit: 0 clean, 1 violations: one per line, with file, line and a suggestion.
//
// A camelCase or snake_case name is checked as the words that it is made of.
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'

const { values, positionals } = parseArgs({ options: { only: { type: 'string' } }, allowPositionals: true })
process.chdir(positionals[0] ?? fileURLToPath(new URL('..', import.meta.url)))

/** The rejected words, and what to write instead. */
const REJECTED = [
  ['told', 'notified, published to, informed'],
  ['tells', 'reports, publishes, shows, means'],
  ['answers', 'returns (verb), responses, results (noun)'],
  ['heard', 'received, noticed'],
  ['hears', 'receives, notices'],
  ['whoever', 'name the caller, client or user'],
  ['nobody', 'no worker, no client, no user'],
  ['somebody', 'a user, a client, an admin'],
  ['by no act', 'without an update'],
  ['of ours', 'name the thing without the owner'],
  ['goes on', 'continues'],
  ['for ever', 'forever, without end, until it is stopped'],
  ['trying on', 'retrying'],
  ['away', 'unavailable, not reachable, disconnected'],
  ['what is asked', 'what is requested'],
  ['has room for', 'can take, has capacity for'],
  ['holds up', 'delays, blocks'],
  ['by now', 'already, leave it out'],
  ['at once', 'immediately, simultaneously'],
]

/** Names of a standard that stay: a close code of RFC 6455. */
const ALLOWED = /GOING_AWAY|Going Away|going away/g

const READ = /\.(?:ts|tsx|mjs|lua|css|sh|md|yaml|yml|tpl|txt|json|html|py|go|toml|c)$/
const SKIPPED =
  /(?:^|\/)(?:node_modules\/|site\/(?:\.g\w+|\.astro|dist)\/|package-lock\.json$|verify-language\.(?:mjs|test\.ts)$)/
const FOLDERS = ['src', 'hack', 'charts', 'clients', 'crds', 'docs', 'examples', 'manifests', 'test']
const FILES = ['README.md', 'CONTRIBUTING.md', 'SECURITY.md', 'Makefile']

const isChecked = (path) => path.startsWith(values.only ?? '')

const filesBelow = (folder) =>
  existsSync(folder)
    ? readdirSync(folder, { recursive: true, withFileTypes: true }).filter((each) => each.isFile())
    : []

const files = () =>
  [
    ...FOLDERS.flatMap(filesBelow).map(({ parentPath, name }) => `${parentPath}/${name}`),
    ...FILES.filter((file) => existsSync(file)),
  ]
    .filter((path) => FILES.includes(path) || READ.test(path))
    .filter((path) => !SKIPPED.test(path) && isChecked(path))
    .toSorted()

/** `isTold`, `is_told` and `is-told` as separate words. */
const words = (line) =>
  line
    .replace(ALLOWED, '')
    .replace(/(?<=[a-z0-9])(?=[A-Z])/g, ' ')
    .replace(/[_-]/g, ' ')

const patterns = REJECTED.map(([word, instead]) => [
  word,
  new RegExp(`\\b${word.replaceAll(' ', '\\s+')}\\b`, 'i'),
  instead,
])

const COMMENT_LEADER = /^\s*(?:\/\/|\*|#|--)?\s*/

/** One fault per line and rejected word. A phrase may continue on the next line. */
function faultsOf(path, text) {
  const lines = text.split('\n').map(words)
  return lines.flatMap((line, index) => {
    const next = (lines[index + 1] ?? '').replace(COMMENT_LEADER, '')
    return patterns
      .filter(([, pattern]) => {
        const match = pattern.exec(`${line} ${next}`)
        return match !== null && match.index < line.length
      })
      .map(([word, , instead]) => `${path}:${index + 1}: "${word}": write ${instead}: ${line.trim().slice(0, 120)}`)
  })
}

const faults = files().flatMap((path) => [
  ...patterns
    .filter(([, pattern]) => pattern.test(words(path.split('/').at(-1))))
    .map(([word, , instead]) => `${path}: "${word}" in the name of the file: use ${instead}`),
  ...faultsOf(path, readFileSync(path, 'utf8')),
])
for (const fault of faults) console.error(fault)
if (faults.length > 0) console.error(`${faults.length} rejected words`)
process.exitCode = faults.length === 0 ? 0 : 1
