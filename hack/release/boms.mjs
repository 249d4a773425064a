// The bills of materials of a release: one for each package of npm, and one for the image of each architecture.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { packagesOf } from '../build-licences.mjs'
import { bundle } from './executable.mjs'
import { ARCHITECTURES, readPins } from './inputs.mjs'
import { dependencyTree, packagesOfClient, packagesOfMuster, purlOf, sbom, TYPES } from './sbom.mjs'

const encode = encodeURIComponent
const json = (path) => JSON.parse(readFileSync(path, 'utf8'))

export async function npmBom({ root, names, version, timeMs }) {
  const artefact = { type: TYPES.library, name: names.npm, version, purl: purlOf(names.npm, version), timeMs }
  return new Map([['sbom-npm.cdx.json', await sbom({ root, artefact, paths: packagesOfMuster(root) })]])
}

export async function clientBom({ root, names, version, timeMs }) {
  const artefact = { type: TYPES.library, name: names.client, version, purl: purlOf(names.client, version), timeMs }
  const lock = json(join(root, 'package-lock.json'))
  const paths = [...packagesOfClient(root), ...dependencyTree(lock, ['typebox'])]
  return new Map([['sbom-client.cdx.json', await sbom({ root, artefact, paths })]])
}

/** The packages in the executable for clients, and Node. */
export async function executableBom({ root, names, version, timeMs }) {
  const purl = `pkg:github/${new URL(names.repository).pathname.slice(1)}@v${version}`
  const artefact = { type: TYPES.application, name: 'muster', version, purl, timeMs }
  const paths = packagesOf((await bundle(root, version)).files).map(({ path }) => path)
  const [runtime] = programs('x64')
  return new Map([['sbom-cli.cdx.json', await sbom({ root, artefact, paths, others: [runtime] })]])
}

/** Node, and the packages of Debian whose files the image contains. */
function programs(arch) {
  const { node, debian } = readPins()
  const libraries = Object.entries(debian.packages).map(([name, { version, sha256 }]) => ({
    name,
    version,
    purl: `pkg:deb/debian/${encode(name)}@${encode(version)}?arch=${ARCHITECTURES[arch]}&distro=${debian.release}`,
    sha256: sha256[ARCHITECTURES[arch]],
  }))
  const runtime = { name: 'node', version: node.version, purl: `pkg:generic/node@${node.version}`, licence: 'MIT' }
  return [{ ...runtime, sha256: node.sha256[arch] }, ...libraries]
}

export async function imageBoms({ root, names, version, timeMs }) {
  const made = await Promise.all(
    Object.entries(ARCHITECTURES).map(async ([arch, architecture]) => {
      const purl = `pkg:oci/${names.image.split('/').at(-1)}@${version}?arch=${architecture}`
      const artefact = { type: TYPES.container, name: names.image, version, purl, timeMs }
      const text = await sbom({ root, artefact, paths: packagesOfMuster(root), others: programs(arch) })
      return [`sbom-image-${architecture}.cdx.json`, text]
    }),
  )
  return new Map(made)
}
