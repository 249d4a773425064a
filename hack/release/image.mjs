// The image of a release, for each architecture, from pinned inputs alone.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { writeArchive } from '../image/oci.mjs'
import { assemble, imageConfig, inScratch, LAYERS } from '../image/rootfs.mjs'
import { ARCHITECTURES, cachedInputs } from './inputs.mjs'

/** Annotations of the Open Container Initiative, which registries and scanners show. */
const labelsOf = ({ names, version, commit, created, description, licence }) => ({
  'org.opencontainers.image.title': 'Muster',
  'org.opencontainers.image.description': description,
  'org.opencontainers.image.version': version,
  'org.opencontainers.image.revision': commit,
  'org.opencontainers.image.created': created,
  'org.opencontainers.image.source': names.repository,
  'org.opencontainers.image.documentation': names.docs,
  'org.opencontainers.image.licenses': licence,
  'org.opencontainers.image.vendor': names.maintainers[0].name,
})

/**
 * Writes `muster-VERSION.oci.tar` into `out`, an OCI layout with one index of linux/amd64 and linux/arm64.
 * @returns the digest of the index.
 */
export function writeImage({ root, out, names, version, commit, timeMs }) {
  const manifest = JSON.parse(readFileSync(join(root, 'dist/package.json'), 'utf8'))
  const created = new Date(timeMs).toISOString()
  const { description, license: licence } = manifest
  return inScratch((scratch) => {
    const platforms = Object.keys(ARCHITECTURES).map((arch) => {
      assemble(join(scratch, arch), { arch, ...cachedInputs(arch) })
      return { arch, folders: LAYERS.map((layer) => join(scratch, arch, layer)) }
    })
    const { digest } = writeArchive(join(out, `muster-${version}.oci.tar`), {
      name: names.image,
      version,
      platforms,
      config: imageConfig(manifest),
      created,
      labels: labelsOf({ names, version, commit, created, description, licence }),
    })
    return digest
  })
}
