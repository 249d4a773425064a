// Writes an image as an archive that containerd, kind and docker load: a tar of oci-layout, index.json and blobs, as
// the OCI image layout specification defines. The same folders always give the same bytes.
import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { mkdirSync, mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { EPOCH, PLAIN, tar } from '../tar.mjs'

const MEDIA = 'application/vnd.oci.image'
const ARCHITECTURES = { x64: 'amd64', arm64: 'arm64' }
const EPOCH_DATE = new Date(Number(EPOCH) * 1000).toISOString()
const sha256 = (bytes) => `sha256:${createHash('sha256').update(bytes).digest('hex')}`

/**
 * Writes an archive of one image, or of one image per platform behind an index.
 *
 * @param path The archive.
 * @param image `name`, `version`, `config`; `folders`, one per layer, for the platform that this runs on, or
 *   `platforms`, each with `arch` (x64 or arm64) and `folders`; `created` as an ISO date, else the time of the files;
 *   `labels` of the image, which are also annotations of the manifest.
 * @returns the size of each layer of the first platform, unpacked and compressed, the digest of the image or of the
 *   index, and the digest of each platform.
 */
export function writeArchive(path, { name, version, folders, config, platforms, created = EPOCH_DATE, labels }) {
  mkdirSync(dirname(path), { recursive: true })
  const scratch = mkdtempSync(`${path}.`) // Beside its place: a rename makes it whole or not there.
  try {
    const layout = join(scratch, 'layout')
    mkdirSync(join(layout, 'blobs/sha256'), { recursive: true })
    const common = { config: labels === undefined ? config : { ...config, Labels: labels }, created, labels }
    const images = (platforms ?? [{ arch: process.arch, folders }]).map((each) =>
      writeImage(layout, { ...common, ...each }),
    )
    const top = platforms === undefined ? images[0].manifest : writeImageIndex(layout, images, labels)
    const annotations = {
      'io.containerd.image.name': `${name}:${version}`,
      'org.opencontainers.image.ref.name': version,
    }
    writeIndex(layout, { ...top, annotations })
    const archive = join(scratch, 'archive')
    execFileSync('tar', [...PLAIN, '-C', layout, '-cf', archive, 'oci-layout', 'index.json', 'blobs'])
    renameSync(archive, path)
    const layers = images[0].layers.map(({ unpacked, blob }) => ({ unpacked, packed: blob.size }))
    return { digest: top.digest, layers, digests: images.map(({ manifest }) => manifest.digest) }
  } finally {
    rmSync(scratch, { recursive: true, force: true })
  }
}

/** @returns the layers, and the descriptor of the manifest with its platform. */
function writeImage(layout, { arch, folders, config, created, labels }) {
  const platform = { architecture: ARCHITECTURES[arch], os: 'linux', ...(arch === 'arm64' && { variant: 'v8' }) }
  const layers = folders.map((folder) => writeLayer(layout, folder))
  const manifest = writeManifest(layout, layers, writeConfig(layout, layers, { created, ...platform, config }), labels)
  return { layers, manifest: { ...manifest, platform } }
}

function writeImageIndex(layout, images, annotations) {
  const mediaType = `${MEDIA}.index.v1+json`
  const manifests = images.map(({ manifest }) => manifest)
  return writeJsonBlob(layout, mediaType, {
    schemaVersion: 2,
    mediaType,
    manifests,
    ...(annotations && { annotations }),
  })
}

/** @returns the descriptor of the stored blob. */
function writeBlob(layout, mediaType, bytes) {
  const digest = sha256(bytes)
  writeFileSync(join(layout, 'blobs/sha256', digest.slice('sha256:'.length)), bytes)
  return { mediaType, digest, size: bytes.length }
}

const writeJsonBlob = (layout, mediaType, value) => writeBlob(layout, mediaType, Buffer.from(JSON.stringify(value)))

function writeLayer(layout, folder) {
  const plain = tar(folder, '.')
  return {
    diffId: sha256(plain),
    unpacked: plain.length,
    blob: writeBlob(layout, `${MEDIA}.layer.v1.tar+gzip`, gzipSync(plain, { level: 9 })),
  }
}

function writeConfig(layout, layers, { config, created, ...platform }) {
  return writeJsonBlob(layout, `${MEDIA}.config.v1+json`, {
    created,
    ...platform,
    config,
    rootfs: { type: 'layers', diff_ids: layers.map(({ diffId }) => diffId) },
  })
}

function writeManifest(layout, layers, config, annotations) {
  const mediaType = `${MEDIA}.manifest.v1+json`
  const blobs = layers.map(({ blob }) => blob)
  const manifest = { schemaVersion: 2, mediaType, config, layers: blobs, ...(annotations && { annotations }) }
  return writeJsonBlob(layout, mediaType, manifest)
}

function writeIndex(layout, manifest) {
  const index = { schemaVersion: 2, mediaType: `${MEDIA}.index.v1+json`, manifests: [manifest] }
  writeFileSync(join(layout, 'index.json'), JSON.stringify(index))
  writeFileSync(join(layout, 'oci-layout'), JSON.stringify({ imageLayoutVersion: '1.0.0' }))
}
