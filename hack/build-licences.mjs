// Collects the licence texts of the packages inside the bundle. Their licences require that they are distributed with
// it.
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

const PACKAGE = /^(?<folder>.*node_modules\/(?:@[^/]+\/)?[^/]+)\//
const LICENCE = /^(?:licen[cs]e|copying)(?:\.|-|$)/i

function sectionOf(folder) {
  const { name, version, license } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'))
  const file = readdirSync(folder).find((each) => LICENCE.test(each))
  const text =
    file === undefined ? 'The package ships no licence text.' : readFileSync(join(folder, file), 'utf8').trim()
  return `${name} ${version} (${license})\n\n${text}\n`
}

/** One text for all packages of an esbuild metafile, in alphabetical order. */
export function licencesOf(metafile) {
  const folders = new Set(Object.keys(metafile.inputs).flatMap((path) => PACKAGE.exec(path)?.groups.folder ?? []))
  const intro = 'Parts of these packages are contained in the JavaScript files beside this one.\n'
  return [intro, ...[...folders].toSorted().map(sectionOf)].join(`\n${'-'.repeat(78)}\n\n`)
}
