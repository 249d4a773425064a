// Writes an image as an archive that containerd, kind and docker load: a tar of oci-layout, index.json and blobs, as
// the OCI image layout specification says. The same folders always give the same bytes.
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
    const put = (mediaType, bytes) => {
      const digest = sha256(bytes)
      writeFileSync(join(scratch, 'layout/blobs/sha256', digest.slice('sha256:'.length)), bytes)
      return { mediaType, digest, size: bytes.length }
    }
    mkdirSync(join(scratch, 'layout/blobs/sha256'), { recursive: true })
    const layers = folders.map((folder) => {
      const plain = tar(folder, '.')
      return {
        diffId: sha256(plain),
        unpacked: plain.length,
        blob: put(`${MEDIA}.layer.v1.tar+gzip`, gzipSync(plain, { level: 9 })),
      }
    })
    const platform = { architecture: ARCHITECTURES[process.arch], os: 'linux' }
    const described = put(
      `${MEDIA}.config.v1+json`,
      Buffer.from(
        JSON.stringify({
          created: new Date(Number(EPOCH) * 1000).toISOString(),
          ...platform,
          config,
          rootfs: { type: 'layers', diff_ids: layers.map(({ diffId }) => diffId) },
        }),
      ),
    )
    const manifest = put(
      `${MEDIA}.manifest.v1+json`,
      Buffer.from(
        JSON.stringify({
          schemaVersion: 2,
          mediaType: `${MEDIA}.manifest.v1+json`,
          config: described,
          layers: layers.map(({ blob }) => blob),
        }),
      ),
    )
    const annotations = {
      'io.containerd.image.name': `${name}:${version}`,
      'org.opencontainers.image.ref.name': version,
    }
    writeFileSync(
      join(scratch, 'layout/index.json'),
      JSON.stringify({
        schemaVersion: 2,
        mediaType: `${MEDIA}.index.v1+json`,
        manifests: [{ ...manifest, platform, annotations }],
      }),
    )
    writeFileSync(join(scratch, 'layout/oci-layout'), JSON.stringify({ imageLayoutVersion: '1.0.0' }))
    execFileSync('tar', [
      ...PLAIN,
      '-C',
      join(scratch, 'layout'),
      '-cf',
      join(scratch, 'archive'),
      'oci-layout',
      'index.json',
      'blobs',
    ])
    renameSync(join(scratch, 'archive'), path)
    return { digest: manifest.digest, layers: layers.map(({ unpacked, blob }) => ({ unpacked, packed: blob.size })) }
  } finally {
    rmSync(scratch, { recursive: true, force: true })
  }
}
