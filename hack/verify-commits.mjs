#!/usr/bin/env node
// Checks the commits of this branch: the subject and the Category trailer.
// Usage: node hack/verify-commits.mjs [--base REVISION] [ROOT]    Exit: 0 clean, 1 violations, one per line.
//
// The commits of the branch are those that origin/main, or REVISION, does not contain. Without such a revision there is
// nothing to compare with, and nothing is checked. Merge commits are skipped, because Git writes their subjects.
import { spawnSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'

const { values, positionals } = parseArgs({ options: { base: { type: 'string' } }, allowPositionals: true })
process.chdir(positionals[0] ?? fileURLToPath(new URL('..', import.meta.url)))

const MAX_SUBJECT = 60
const CATEGORIES = ['addition', 'change', 'fix', 'removal', 'none']
const AREA = /^[\w./-]+: \S/

function git(...args) {
  const { status, stdout } = spawnSync('git', args, { encoding: 'utf8', maxBuffer: 64_000_000 })
  return status === 0 ? stdout.trim() : undefined
}

function faultsOf(commit) {
  const [hash, subject, trailers] = commit.split('\0')
  const category = trailers.trim()
  return [
    subject.length > MAX_SUBJECT && `the subject has ${subject.length} characters, at most ${MAX_SUBJECT} are allowed`,
    !AREA.test(subject) && 'the subject must have the form "area: what it does"',
    !CATEGORIES.includes(category) &&
      `the body must end with "Category: " and one of ${CATEGORIES.join(', ')}; found "${category}"`,
  ]
    .filter((fault) => fault !== false)
    .map((fault) => `${hash} ${subject}: ${fault}`)
}

const base = values.base ?? 'origin/main'
if (git('rev-parse', '--verify', '--quiet', `${base}^{commit}`) === undefined) {
  if (values.base !== undefined) {
    console.error(`--base ${base}: there is no such revision`)
    process.exitCode = 1
  }
} else {
  const log = git(
    'log',
    '--no-merges',
    '-z',
    '--format=%h%x00%s%x00%(trailers:key=Category,valueonly,separator=%x2C)%x01',
    `${base}..HEAD`,
  )
  const commits = (log ?? '')
    .split('\x01')
    .map((commit) => commit.replace(/^\0/, ''))
    .filter((commit) => commit !== '')
  const faults = commits.flatMap(faultsOf)
  for (const fault of faults) console.error(fault)
  process.exitCode = faults.length === 0 ? 0 : 1
}
