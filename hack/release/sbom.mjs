// Bills of materials as CycloneDX 1.6: the packages of npm inside an artefact, Node and Debian's libraries in an image.
//
// The packages come from dist/third-party.json, which the build writes, and from the dependencies of the published
// package. Version, hash and edges come from the lock file, so a package that the lock file lacks is an error.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { Enums, Models, Serialize, Spec, Validation } from '@cyclonedx/cyclonedx-library'
import { LICENCE_NAMES } from './licences.mjs'

const SPEC = Spec.Spec1dot6
export const TYPES = {
  application: Enums.ComponentType.Application,
  library: Enums.ComponentType.Library,
  container: Enums.ComponentType.Container,
}
const json = (path) => JSON.parse(readFileSync(path, 'utf8'))

/** @returns the path of a package in the lock file, as Node finds it from the package at `from`. */
export function resolveIn(lock, name, from) {
  for (let at = from; ; at = at.slice(0, Math.max(0, at.lastIndexOf('/node_modules/')))) {
    const path = at === '' ? `node_modules/${name}` : `${at}/node_modules/${name}`
    if (lock.packages[path] !== undefined) return path
    if (at === '') return undefined
  }
}

const edgesOf = (lock, path) => {
  const { dependencies, optionalDependencies } = lock.packages[path]
  return Object.keys({ ...dependencies, ...optionalDependencies })
    .map((name) => resolveIn(lock, name, path))
    .filter((each) => each !== undefined)
}

/**
 * Paths in the lock file of all packages that `names` need, themselves included. Packages that npm installs only on
 * other platforms are in the lock file too, and are left out.
 */
export function dependencyTree(lock, names) {
  const found = new Set()
  const visit = (path) => {
    if (path === undefined || found.has(path)) return
    found.add(path)
    for (const each of edgesOf(lock, path)) visit(each)
  }
  for (const name of names) {
    const path = resolveIn(lock, name, '')
    if (path === undefined) throw new Error(`package-lock.json does not contain ${name}`)
    visit(path)
  }
  return [...found]
}

/** @returns the path in the lock file of a bundled package. @throws Error if its version is another one there. */
function lockedPath(lock, { path, version }) {
  const locked = lock.packages[path]
  if (locked?.version !== version)
    throw new Error(`${path} ${version} is in the build, but package-lock.json has ${locked?.version ?? 'none'}`)
  return path
}

function hashOf(integrity) {
  const [algorithm, value] = integrity.split('-')
  const name = { sha512: Enums.HashAlgorithm['SHA-512'], sha1: Enums.HashAlgorithm['SHA-1'] }[algorithm]
  return [name, Buffer.from(value, 'base64').toString('hex')]
}

export const purlOf = (name, version) => `pkg:npm/${name.replace('@', '%40')}@${version}`
const nameOf = (path) => path.slice(path.lastIndexOf('node_modules/') + 'node_modules/'.length)

function licenceOf(owner, expression) {
  if (!LICENCE_NAMES.has(expression))
    throw new Error(`${owner}: the licence "${expression}" is not in hack/release/licences.mjs`)
  return /[ ()]/.test(expression) ? new Models.LicenseExpression(expression) : new Models.SpdxLicense(expression)
}

function component({ type = Enums.ComponentType.Library, name, version, purl, licence, hash }) {
  const made = new Models.Component(type, name, { version, purl, bomRef: purl })
  if (licence !== undefined) made.licenses.add(licenceOf(`${name} ${version}`, licence))
  if (hash !== undefined) made.hashes.set(...hash)
  return made
}

function npmComponent(root, lock, path) {
  const { version, integrity, license } = lock.packages[path]
  const name = nameOf(path)
  const licence = license ?? json(join(root, path, 'package.json')).license
  return component({ name, version, purl: purlOf(name, version), licence, hash: hashOf(integrity) })
}

/**
 * @param root The tree, with dist/, node_modules/ and package-lock.json.
 * @param artefact What the bill describes: `name`, `version`, `purl`, `type`, and the time of the commit.
 * @param paths Paths of packages in the lock file.
 * @param others Components that are no packages of npm: `name`, `version`, `purl`, `licence`, `sha256`.
 * @returns the document as text, checked against the schema of CycloneDX.
 */
export async function sbom({ root, artefact, paths, others = [] }) {
  const lock = json(join(root, 'package-lock.json'))
  const bom = new Models.Bom()
  const main = component({ ...artefact, licence: 'Apache-2.0' })
  bom.metadata.component = main
  bom.metadata.timestamp = new Date(artefact.timeMs)
  const byPurl = new Map() // npm may install a package twice; it is one component then, with one reference.
  const made = new Map()
  for (const path of [...new Set(paths)].toSorted()) {
    const each = npmComponent(root, lock, path)
    if (!byPurl.has(each.purl)) byPurl.set(each.purl, each)
    made.set(path, byPurl.get(each.purl))
  }
  for (const [path, each] of made) {
    bom.components.add(each)
    main.dependencies.add(each.bomRef)
    for (const needed of edgesOf(lock, path).filter((other) => made.has(other)))
      each.dependencies.add(made.get(needed).bomRef)
  }
  for (const { sha256, ...each } of others) {
    const other = component({ ...each, hash: [Enums.HashAlgorithm['SHA-256'], sha256] })
    bom.components.add(other)
    main.dependencies.add(other.bomRef)
  }
  return checked(bom)
}

/** In an order that does not depend on the language of the machine, by which the library sorts edges. */
function inOrder(document) {
  const byText = (one, other) => (one < other ? -1 : Number(one > other))
  const dependencies = document.dependencies
    .map((each) => (each.dependsOn === undefined ? each : { ...each, dependsOn: each.dependsOn.toSorted(byText) }))
    .toSorted((one, other) => byText(one.ref, other.ref))
  return { ...document, dependencies }
}

async function checked(bom) {
  const serializer = new Serialize.JsonSerializer(new Serialize.JSON.Normalize.Factory(SPEC))
  const written = JSON.parse(serializer.serialize(bom, { sortLists: false }))
  const text = JSON.stringify(inOrder(written), null, 2)
  const fault = await new Validation.JsonStrictValidator(SPEC.version).validate(text)
  if (fault !== null) throw new Error(`the bill of materials is not valid: ${JSON.stringify(fault)}`)
  return `${text}\n`
}

/** Paths in the lock file of the packages that are part of the package on npm, bundled or installed with it. */
export function packagesOfMuster(root) {
  const lock = json(join(root, 'package-lock.json'))
  const { bundle, dashboard } = json(join(root, 'dist/third-party.json'))
  const { dependencies } = json(join(root, 'dist/package.json'))
  const bundled = [...bundle, ...dashboard].map((each) => lockedPath(lock, each))
  return [...bundled, ...dependencyTree(lock, Object.keys(dependencies))]
}

/** Paths in the lock file of the packages inside the client package. */
export function packagesOfClient(root) {
  const lock = json(join(root, 'package-lock.json'))
  return json(join(root, 'dist/third-party.json')).client.map((each) => lockedPath(lock, each))
}
