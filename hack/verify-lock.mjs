#!/usr/bin/env node
// Fails when package-lock.json names addresses, package.json names ranges, or `npm ci` refuses the pair.
// Usage: node hack/verify-lock.mjs [--remember] [ROOT]    Exit: 0 clean, 1 violations.
//
// `npm install` sometimes writes a lock that `npm ci` rejects (an optional package of another platform is missing).
// This is visible only in an empty folder, so package.json, lock and .npmrc are copied into one and installed there.
// That takes a while, so the hash of the three files that passed last is kept in .tools. With --remember, after an `npm
// ci` of the same files, the hash is written without a check.
import { spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'

const { values, positionals } = parseArgs({ options: { remember: { type: 'boolean' } }, allowPositionals: true })
process.chdir(positionals[0] ?? fileURLToPath(new URL('..', import.meta.url)))

const FILES = ['package.json', 'package-lock.json', '.npmrc'].filter((file) => existsSync(file))
const MEMORY = '.tools/lock-verified'
const EXACT = /^(?:\d+\.\d+\.\d+(?:-[\w.]+)?|file:.+)$/

/** The part of a file that npm ci reads: package.json without its scripts, so that editing them starts no check. */
function relevant(file) {
  const text = readFileSync(file, 'utf8')
  if (file !== 'package.json') return text
  const { name, version, engines, dependencies, devDependencies, overrides, allowScripts } = JSON.parse(text)
  return JSON.stringify([name, version, engines, dependencies, devDependencies, overrides, allowScripts])
}
const hash = createHash('sha256').update(FILES.map(relevant).join('\0')).digest('hex')

function remember() {
  mkdirSync('.tools', { recursive: true })
  writeFileSync(MEMORY, `${hash}\n`)
}

function rangeFaults() {
  const manifest = JSON.parse(readFileSync('package.json', 'utf8'))
  const wanted = Object.entries({ ...manifest.dependencies, ...manifest.devDependencies, ...manifest.overrides })
  return wanted
    .filter(([, version]) => !EXACT.test(version))
    .map(([name, version]) => `package.json: ${name} "${version}" is not an exact version`)
}

function addressFaults() {
  const { packages } = JSON.parse(readFileSync('package-lock.json', 'utf8'))
  const named = Object.entries(packages).filter(([, { resolved }]) => /^(?:https?|git)/.test(resolved ?? ''))
  return named.map(
    ([path]) => `package-lock.json: ${path} has a "resolved" address; npm install with our .npmrc writes none`,
  )
}

function installFaults() {
  if (existsSync(MEMORY) && readFileSync(MEMORY, 'utf8').trim() === hash) return []
  const folder = mkdtempSync(join(tmpdir(), 'muster-lock-'))
  try {
    for (const file of FILES) cpSync(file, join(folder, file))
    console.log('verify-lock: the lock file changed; trying npm ci in an empty folder')
    const { status, stderr } = spawnSync('npm', ['ci', '--ignore-scripts', '--prefer-offline', '--loglevel', 'error'], {
      cwd: folder,
      encoding: 'utf8',
    })
    return status === 0 ? [] : [`npm ci refuses package.json and package-lock.json:\n${stderr}`]
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

function verify() {
  const cheap = [...rangeFaults(), ...addressFaults()]
  const faults = cheap.length === 0 ? installFaults() : cheap
  for (const line of faults) console.error(line)
  if (faults.length === 0) remember()
  process.exitCode = faults.length === 0 ? 0 : 1
}

if (values.remember) remember()
else verify()
