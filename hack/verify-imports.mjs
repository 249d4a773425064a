#!/usr/bin/env node
// Fails when an import under src/ breaks the direction, bypasses an index, or takes a package from outside its home.
// Fails also when folders of an area import each other in a circle, a head comment names another file as @module, or
// the published client reaches a package or a module of Node.
// Usage: node hack/verify-imports.mjs [ROOT]    Exit: 0 clean, 1 violations, one per line.
//
// An area is a folder of the layout. It may import its own files, and the index.ts of the areas in its row; some areas
// have further entries, in ENTRIES. A folder inside an area that has an index.ts is imported through it as well.
// A package with a row in HOME may be imported by that one area; any other package may be imported anywhere.
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path/posix'
import { fileURLToPath } from 'node:url'

process.chdir(process.argv[2] ?? fileURLToPath(new URL('..', import.meta.url))) // Works from any directory.

const PARTS = ['protocol', 'runtime']
const BACKENDS = ['storage/memory', 'storage/sqlite', 'storage/redis']
const MAY_IMPORT = {
  protocol: [],
  'protocol/event-stream': [],
  runtime: ['runtime/backoff'],
  'runtime/backoff': [],
  'runtime/web': [],
  automation: PARTS,
  diagnosis: ['protocol'],
  'automation/testing': [...PARTS, 'automation', 'storage', 'storage/memory'],
  automations: ['automation'], // First-party automations see what a third party sees.
  storage: PARTS,
  ...Object.fromEntries(BACKENDS.map((area) => [area, [...PARTS, 'storage']])),
  client: [...PARTS, 'protocol/event-stream', 'runtime/backoff', 'runtime/web', 'automation'],
  master: [...PARTS, 'protocol/event-stream', 'automation', 'storage', 'diagnosis'],
  worker: [...PARTS, 'protocol/event-stream', 'automation'],
  'worker-test': PARTS,
  'operator/kube': ['runtime'],
  operator: [...PARTS, 'protocol/event-stream', 'client', 'operator/kube'],
  dashboard: ['protocol', 'protocol/event-stream', 'runtime/backoff', 'diagnosis'],
  cmd: [
    ...PARTS,
    ...BACKENDS,
    'protocol/event-stream',
    'automation',
    'automations',
    'storage',
    'client',
    'master',
    'worker',
    'worker-test',
    'diagnosis',
    'operator',
    'operator/kube',
  ],
}
/** Entries of an area beside its index.ts. */
const ENTRIES = {
  protocol: ['protocol/plain.ts'],
  automation: ['automation/public.ts'],
  diagnosis: ['diagnosis/texts.ts', 'diagnosis/worker-facts.ts'],
}
/** Areas of which another one may import only types. */
const ONLY_TYPES = { dashboard: ['protocol'], client: ['automation'], diagnosis: ['protocol'] }
/** Runs in browsers: it may not reach a package or a module of Node. */
const FOR_BROWSERS = 'client/public.ts'
const HOME = {
  ioredis: 'storage/redis',
  'better-sqlite3': 'storage/sqlite',
  '@kubernetes/client-node': 'operator/kube',
  express: 'master',
  winston: 'runtime',
  '@opentelemetry/sdk-node': 'runtime',
  react: 'dashboard',
  'react-dom': 'dashboard',
}
const AREAS = Object.keys(MAY_IMPORT).toSorted((a, b) => b.length - a.length) // The longest prefix decides.
const IMPORT =
  /(?:\b(?<type>(?:import|export) type)\b[^;'"]*?\bfrom|\bfrom|\bimport)\s*\(?\s*['"](?<target>[^'"\n]+)['"]/g
/** Folders of an area, and the other folders of the area that they import. */
const FOLDER_IMPORTS = new Map()
const MODULE_TAG = /^ \* @module (?<path>\S+)$/m
const COMMENT_LINE = /^\s*(?:\/\/|\/?\*).*$/gm

const areaOf = (path) => AREAS.find((area) => path.startsWith(`${area}/`))
/**
 * @returns the innermost folder with an index.ts that contains the file, within its area; the area if there is none.
 */
function folderOf(path) {
  const area = areaOf(path)
  const isFolder = (folder) => folder === area || existsSync(join('src', folder, 'index.ts'))
  let folder = dirname(path)
  while (!isFolder(folder)) folder = dirname(folder)
  return folder
}

const packageOf = (target) => target.split('/', target.startsWith('@') ? 2 : 1).join('/')

/**
 * @returns the path of an import relative to src/; undefined for a package. `muster/AREA` is the index of that area.
 */
function pathOf(file, target) {
  if (target.startsWith('.')) return join(dirname(file), target)
  return target.startsWith('muster/') ? `${target.slice('muster/'.length)}/index.ts` : undefined
}

function fault(file, { type, target }) {
  const area = areaOf(file)
  const path = pathOf(file, target)
  if (path === undefined) {
    const home = HOME[packageOf(target)] ?? area
    return home === area ? undefined : `only ${home} may import this package`
  }
  const other = areaOf(path)
  if (other === area) return faultInside(file, path)
  if (!MAY_IMPORT[area].includes(other)) return `${area} may not import ${other ?? path}`
  if (path !== `${other}/index.ts` && !ENTRIES[other]?.includes(path)) return `bypasses ${other}/index.ts`
  return !type && ONLY_TYPES[area]?.includes(other) ? `the ${area} may import only types` : undefined
}

/** An import within an area: of another folder, only its index.ts. Records it for {@link circles}. */
function faultInside(file, path) {
  const from = folderOf(file)
  const to = folderOf(path)
  if (from === to || to === areaOf(path)) return undefined
  if (path !== `${to}/index.ts`) return from.startsWith(`${to}/`) ? undefined : `bypasses ${to}/index.ts`
  if (from !== areaOf(file)) FOLDER_IMPORTS.set(from, (FOLDER_IMPORTS.get(from) ?? new Set()).add(to))
  return undefined
}

const importsOf = (file) =>
  [...readFileSync(join('src', file), 'utf8').replaceAll(COMMENT_LINE, '').matchAll(IMPORT)].map(({ groups }) => groups)

/** @returns one line for each package and each module of Node that the published client reaches, with its path. */
function browserFaults() {
  if (!existsSync(join('src', FOR_BROWSERS))) return []
  const from = new Map([[FOR_BROWSERS, undefined]])
  const wayTo = (file) => (file === undefined ? [] : [...wayTo(from.get(file)), file])
  const found = []
  for (const file of from.keys())
    for (const { type, target } of importsOf(file)) {
      if (type) continue
      const path = pathOf(file, target)
      if (path === undefined) found.push(`src/${FOR_BROWSERS}: reaches '${target}': ${wayTo(file).join(' -> ')}`)
      else if (!from.has(path)) from.set(path, file)
    }
  return found
}

/** @returns one line for each folder that imports itself through other folders of its area. */
function circles() {
  const pathBack = (start, folder, seen) => {
    for (const next of FOLDER_IMPORTS.get(folder) ?? []) {
      if (next === start) return [folder]
      if (seen.has(next)) continue
      const rest = pathBack(start, next, seen.add(next))
      if (rest !== undefined) return [folder, ...rest]
    }
    return undefined
  }
  return [...FOLDER_IMPORTS.keys()].toSorted().flatMap((start) => {
    const path = pathBack(start, start, new Set([start]))
    return path === undefined ? [] : [`src/${start}: imports itself: ${[...path, start].join(' -> ')}`]
  })
}

function faultsOf(file) {
  if (areaOf(file) === undefined) return [`src/${file}: no area of the layout holds this file`]
  const imports = importsOf(file).flatMap((each) => {
    const why = fault(file, each)
    return why === undefined ? [] : [`src/${file}: '${each.target}': ${why}`]
  })
  return [...imports, ...moduleFaults(file)]
}

/** A renamed file keeps no head comment with its former name. */
function moduleFaults(file) {
  const named = MODULE_TAG.exec(readFileSync(join('src', file), 'utf8'))?.groups.path
  const path = file.replace(/\.tsx?$/, '')
  return named === undefined || named === path ? [] : [`src/${file}: its head says '@module ${named}', not '${path}'`]
}

const files = readdirSync('src', { recursive: true }).filter((name) => /\.tsx?$/.test(name))
const faults = [...files.toSorted().flatMap(faultsOf), ...circles(), ...browserFaults()]
for (const line of faults) console.error(line)
process.exitCode = faults.length === 0 ? 0 : 1
