#!/usr/bin/env node
// Checks the Lua scripts of the Redis backend: luacheck on each command with its includes, headers, dead files.
// Usage: node hack/verify-lua.mjs [--print COMMAND] [ROOT]
//        --print tasks.ack    Print the text that is sent to Redis, with the origin of each line. Line numbers in
//                             errors of Redis (`user_script:12`) refer to this text.
// Exit: 0 clean, 1 violations, one per line. Without luacheck the rest is checked; with CI=true that is a violation.
import { spawnSync } from 'node:child_process'
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { parseArgs } from 'node:util'
import { resolveScript } from '../src/storage/redis/script-text.ts'

const { values, positionals } = parseArgs({ options: { print: { type: 'string' } }, allowPositionals: true })
process.chdir(positionals[0] ?? fileURLToPath(new URL('..', import.meta.url)))

const FOLDER = 'src/storage/redis/scripts'
const CONSTANTS = 'src/storage/redis/script-constants.ts'
const MAX_COLUMNS = 120
/** The globals that the Lua of Redis adds to Lua 5.1, and those that it lacks. */
const REDIS_GLOBALS = ['redis', 'KEYS', 'ARGV', 'cjson', 'cmsgpack', 'bit', 'struct']
const MISSING_GLOBALS = ['debug', 'dofile', 'getfenv', 'io', 'load', 'loadfile', 'module', 'newproxy', 'package']
const MORE_MISSING_GLOBALS = ['print', 'require', 'setfenv']
/** Unused variables. */
const UNUSED = /^\(W2/
const REPORT = /^(?<path>.+\.lua):(?<line>\d+):\d+: (?<message>.*)$/
const HEADER_ENTRY = /^-- (?<kind>KEYS|ARGV)\[(?<first>\d+)(?:\.\.(?<last>\d*))?\] +(?<text>.*)$/

const files = Object.fromEntries(
  readdirSync(FOLDER, { recursive: true })
    .filter((path) => path.endsWith('.lua'))
    .toSorted()
    .map((path) => [path, readFileSync(join(FOLDER, path), 'utf8')]),
)
const { SCRIPT_CONSTANTS: constants } = await import(pathToFileURL(resolve(CONSTANTS)).href)
const commands = Object.keys(files).filter((path) => !path.startsWith('include/'))
const includes = Object.keys(files).filter((path) => path.startsWith('include/'))

/** Resolved texts by path, and faults of directives. */
function resolved() {
  const texts = new Map()
  const faults = []
  for (const path of commands) {
    try {
      const plain = resolveScript(path, files, constants)
      texts.set(path, plain)
      const grouped = resolveScript(path, files, constants, true)
      if (grouped.source !== plain.source) texts.set(path.replace(/lua$/, 'grouped.lua'), grouped)
    } catch (error) {
      faults.push(error.message)
    }
  }
  return { texts, faults }
}

// ── Headers ─────────────────────────────────────────────────────────────────────────────────────────────────────────

/** The comment at the top of a command, behind the shebang. */
function headerOf(path) {
  const lines = files[path].split('\n').slice(1)
  const end = lines.findIndex((line) => !line.startsWith('--') || line.startsWith('--- @'))
  return lines.slice(0, end)
}

const entriesOf = (header) =>
  header.flatMap((line) => {
    const { kind, first, last, text } = HEADER_ENTRY.exec(line)?.groups ?? {}
    if (kind === undefined) return []
    const to = last === undefined ? Number(first) : Number(last === '' ? Infinity : last)
    return [{ kind, first: Number(first), to, text }]
  })

/** Each KEYS[n] and ARGV[n] that the text uses, with the line that uses it first. */
function usesOf({ source, origins }) {
  const uses = new Map()
  for (const [i, line] of source.split('\n').entries())
    for (const [use] of line.matchAll(/\b(?:KEYS|ARGV)\[\d+\]/g)) if (!uses.has(use)) uses.set(use, origins[i])
  return uses
}

function headerFaults(path, text) {
  const header = headerOf(path)
  const entries = entriesOf(header)
  const faults = []
  if (!/^-- [A-Z].*/.test(header[0] ?? '')) faults.push(`${path}:2: the header must begin with what the script does`)
  if (!header.some((line) => line.startsWith('-- Returns '))) faults.push(`${path}:2: the header names no result`)
  for (const [use, origin] of usesOf(text)) {
    const [, kind, index] = /^(\w+)\[(\d+)\]$/.exec(use)
    if (!entries.some((each) => each.kind === kind && each.first <= Number(index) && Number(index) <= each.to))
      faults.push(`${path}:2: the header does not name ${use}, which ${origin} uses`)
  }
  const isOpen = (kind) => entries.some((each) => each.kind === kind && (kind === 'KEYS' || each.to === Infinity))
  for (const kind of ['KEYS', 'ARGV'])
    if (new RegExp(`\\b${kind}\\b(?!\\[\\d+\\])`).test(text.source) && !isOpen(kind))
      faults.push(`${path}:2: the header does not name the ${kind} that the script computes, as in ARGV[2..]`)
  return [...faults, ...keyNameFaults(path, entries)]
}

/** The header gives the keys the names that `@keys` in the same file gives them. */
function keyNameFaults(path, entries) {
  const names = /^--- @keys (.*)$/m.exec(files[path])?.[1].split(' ') ?? []
  return entries.flatMap(({ kind, first, to, text }) => {
    const expected = names.slice(first - 1, to).join(' ')
    return kind === 'ARGV' || names.length === 0 || text.startsWith(`${expected} `)
      ? []
      : [`${path}:2: the header must call KEYS[${first}] and the following ${expected}`]
  })
}

// ── Files ───────────────────────────────────────────────────────────────────────────────────────────────────────────

function fileFaults() {
  const code = readdirSync('src/storage/redis')
    .filter((name) => name.endsWith('.ts'))
    .map((name) => readFileSync(join('src/storage/redis', name), 'utf8'))
    .join('\n')
  const lua = Object.values(files).join('\n')
  const isIncluded = (path) => {
    const name = path.slice('include/'.length, -'.lua'.length)
    return new RegExp(`--- (?:@group )?@include "(?:${name}|${name.replace(/^grouped-/, '')})"`).test(lua)
  }
  return [
    ...commands
      .filter((path) => !new RegExp(`\\b(?:script|taskScript)\\('${path.slice(0, -'.lua'.length)}'\\)`).test(code))
      .map((path) => `${path}:1: src/storage/redis uses no such script`),
    ...includes.filter((path) => !isIncluded(path)).map((path) => `${path}:1: is not included by any script`),
    ...Object.keys(constants)
      .filter((name) => !new RegExp(`^--- @define ${name}$`, 'm').test(lua))
      .map((name) => `../script-constants.ts:${lineOfConstant(name)}: no script defines ${name}`),
    ...Object.entries(files).flatMap(([path, text]) =>
      text
        .split('\n')
        .flatMap((line, i) => (line.length > MAX_COLUMNS ? [`${path}:${i + 1}: longer than ${MAX_COLUMNS}`] : [])),
    ),
  ]
}

function lineOfConstant(name) {
  const lines = readFileSync(CONSTANTS, 'utf8').split('\n')
  return lines.findIndex((line) => new RegExp(`^\\s*${name}\\b`).test(line) && !line.includes('import')) + 1
}

// ── luacheck ────────────────────────────────────────────────────────────────────────────────────────────────────────

/** @returns the reports of luacheck, each with its origin; undefined if luacheck is not installed. */
function luacheckReports(texts) {
  const folder = mkdtempSync(join(tmpdir(), 'verify-lua-'))
  try {
    for (const [path, { source }] of texts) writeFileSync(join(folder, path), source)
    const globals = ['--read-globals', ...REDIS_GLOBALS, '--not-globals', ...MISSING_GLOBALS, ...MORE_MISSING_GLOBALS]
    const options = [
      '--no-config',
      '--no-default-config',
      '--std',
      'lua51',
      '--codes',
      '--no-color',
      '--formatter',
      'plain',
    ]
    const { error, status, stdout, stderr } = spawnSync(
      'luacheck',
      ['.', ...options, '--no-max-line-length', ...globals],
      { cwd: folder, encoding: 'utf8' },
    )
    if (error?.code === 'ENOENT') return undefined
    if (error !== undefined || status > 2) throw new Error(`luacheck failed: ${error?.message ?? stdout + stderr}`)
    return stdout.split('\n').flatMap((line) => {
      const { path, line: number, message } = REPORT.exec(line)?.groups ?? {}
      if (path === undefined) return []
      const command = path.replace(/^\.\//, '')
      return [{ command, origin: texts.get(command).origins[Number(number) - 1], message }]
    })
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

/**
 * A command need not use all that an include defines, but one of them must.
 */
function luacheckFaults(texts) {
  const reports = luacheckReports(texts)
  if (reports === undefined) return undefined
  const commandsBy = new Map()
  for (const { command, origin, message } of reports) {
    const fault = `${origin}: ${message}`
    commandsBy.set(fault, (commandsBy.get(fault) ?? new Set()).add(command))
  }
  const isUsedElsewhere = (fault, reporting) => {
    const [file] = fault.split(':')
    if (!file.startsWith('include/') || !UNUSED.test(fault.slice(fault.indexOf(' ') + 1))) return false
    return (
      [...texts.values()].filter(({ origins }) => origins.some((each) => each.startsWith(`${file}:`))).length >
      reporting.size
    )
  }
  return [...commandsBy].filter(([fault, reporting]) => !isUsedElsewhere(fault, reporting)).map(([fault]) => fault)
}

function print(name) {
  const { source, origins } = resolveScript(`${name}.lua`, files, constants)
  const width = Math.max(...origins.map(({ length }) => length))
  for (const [i, line] of source.trimEnd().split('\n').entries())
    console.log(`${String(i + 1).padStart(4)}  ${origins[i].padEnd(width)}  ${line}`)
}

function verify() {
  const { texts, faults } = resolved()
  for (const path of commands) if (texts.has(path)) faults.push(...headerFaults(path, texts.get(path)))
  faults.push(...fileFaults())
  const found = luacheckFaults(texts)
  faults.push(...(found ?? []))
  for (const fault of faults) console.error(`${FOLDER}/${fault}`)
  if (found === undefined) {
    console.error('luacheck is not installed (Debian package lua-check): the scripts were not checked with it')
    console.log('0 passed, 0 failed, 1 skipped')
  }
  process.exitCode = faults.length > 0 || (found === undefined && process.env.CI === 'true') ? 1 : 0
}

if (values.print === undefined) verify()
else print(values.print)
