// Collects the packages inside the bundles: their licence texts, which their licences require to be distributed with
// them, and dist/third-party.json, which lists them for scanners and for the bills of materials of a release.
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

const PACKAGE = /^(?<folder>.*node_modules\/(?:@[^/]+\/)?[^/]+)\//
const LICENCE = /^(?:licen[cs]e|copying)(?:\.|-|$)/i

const manifestOf = (folder) => JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'))

/** Folders of the packages that contain these files, in alphabetical order. */
const foldersOf = (files) =>
  [...new Set([...files].flatMap((path) => PACKAGE.exec(path)?.groups.folder ?? []))].toSorted()

/**
 * Packages of files that are part of a bundle.
 * @returns name, version, licence and the path as in the lock file, such as `node_modules/a/node_modules/b`.
 */
export function packagesOf(files) {
  return foldersOf(files).map((folder) => {
    const { name, version, license } = manifestOf(folder)
    return { name, version, license, path: folder.slice(folder.indexOf('node_modules/')) }
  })
}

function sectionOf(folder) {
  const { name, version, license } = manifestOf(folder)
  const file = readdirSync(folder).find((each) => LICENCE.test(each))
  const text =
    file === undefined ? 'The package ships no licence text.' : readFileSync(join(folder, file), 'utf8').trim()
  return `${name} ${version} (${license})\n\n${text}\n`
}

/**
 * One text for all packages, in alphabetical order.
 * @param packages As `packagesOf` returns them.
 * @param root The folder that contains node_modules.
 */
export function licencesOf(packages, root) {
  const folders = new Set(packages.map(({ path }) => path))
  const intro = 'Parts of these packages are contained in the JavaScript files beside this one.\n'
  return [intro, ...[...folders].toSorted().map((path) => sectionOf(join(root, path)))].join(`\n${'-'.repeat(78)}\n\n`)
}

/** Replaces lists of `path`, a third-party.json, and keeps its others. @returns all lists. */
export function writeThirdParty(path, lists) {
  const before = existsSync(path) ? JSON.parse(readFileSync(path, 'utf8')) : {}
  const all = { ...before, ...lists }
  const sorted = Object.fromEntries(Object.entries(all).toSorted(([one], [other]) => (one < other ? -1 : 1)))
  writeFileSync(path, `${JSON.stringify(sorted, null, 2)}\n`)
  return all
}
