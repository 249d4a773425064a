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
const sha256 = (bytes) => `sha256:${createHash('sha256').update(bytes).digest('hex')}`

/** @returns the size of each layer, unpacked and as it travels, and the digest of the image. */
export function writeArchive(path, { name, version, folders, config }) {
  mkdirSync(dirname(path), { recursive: true })
  const scratch = mkdtempSync(`${path}.`) // Beside its place: a rename makes it whole or not there.
  try {
    const layout = join(scratch, 'layout')
    mkdirSync(join(layout, 'blobs/sha256'), { recursive: true })
    const platform = { architecture: ARCHITECTURES[process.arch], os: 'linux' }
    const layers = folders.map((folder) => writeLayer(layout, folder))
    const manifest = writeManifest(layout, layers, writeConfig(layout, layers, { ...platform, config }))
    const annotations = {
      'io.containerd.image.name': `${name}:${version}`,
      'org.opencontainers.image.ref.name': version,
    }
    writeIndex(layout, { ...manifest, platform, annotations })
    const archive = join(scratch, 'archive')
    execFileSync('tar', [...PLAIN, '-C', layout, '-cf', archive, 'oci-layout', 'index.json', 'blobs'])
    renameSync(archive, path)
    return { digest: manifest.digest, layers: layers.map(({ unpacked, blob }) => ({ unpacked, packed: blob.size })) }
  } finally {
    rmSync(scratch, { recursive: true, force: true })
  }
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

function writeConfig(layout, layers, { config, ...platform }) {
  return writeJsonBlob(layout, `${MEDIA}.config.v1+json`, {
    created: new Date(Number(EPOCH) * 1000).toISOString(),
    ...platform,
    config,
    rootfs: { type: 'layers', diff_ids: layers.map(({ diffId }) => diffId) },
  })
}

function writeManifest(layout, layers, config) {
  const mediaType = `${MEDIA}.manifest.v1+json`
  const manifest = { schemaVersion: 2, mediaType, config, layers: layers.map(({ blob }) => blob) }
  return writeJsonBlob(layout, mediaType, manifest)
}

function writeIndex(layout, manifest) {
  const index = { schemaVersion: 2, mediaType: `${MEDIA}.index.v1+json`, manifests: [manifest] }
  writeFileSync(join(layout, 'index.json'), JSON.stringify(index))
  writeFileSync(join(layout, 'oci-layout'), JSON.stringify({ imageLayoutVersion: '1.0.0' }))
}
