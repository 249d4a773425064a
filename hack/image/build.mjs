#!/usr/bin/env node
// Builds the image of Muster as an archive, without a container engine. Needs dist/ (npm run build).
// Usage: node hack/image/build.mjs [--out .tools/image/muster.tar]    Exit: 0 built, 1 failed or above its size.
//
// Prints the size of each layer and the digest; two builds of one tree have one digest. SOURCE_DATE_EPOCH sets the time
// of the files, 0 without it. Load it with `ctr -n k8s.io images import`, `kind load image-archive` or `docker load
// -i`.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { writeArchive } from './oci.mjs'
import { assemble, imageConfig, inScratch, LAYERS } from './rootfs.mjs'

process.chdir(fileURLToPath(new URL('../..', import.meta.url)))

/** The size of the first build and five percent; the build fails for a larger image. */
const MOST_BYTES = { packed: 56e6, unpacked: 166e6 }
const { out } = parseArgs({ options: { out: { type: 'string', default: '.tools/image/muster.tar' } } }).values
const { name, version, bin } = JSON.parse(readFileSync('dist/package.json', 'utf8'))
const config = imageConfig({ name, bin })

const { digest, layers } = inScratch((folder) => {
  assemble(folder)
  return writeArchive(out, {
    name: `localhost/${name}`,
    version,
    folders: LAYERS.map((layer) => join(folder, layer)),
    config,
  })
})

const megabytes = (bytes) => `${(bytes / 1e6).toFixed(1).padStart(6)} MB`
for (const [at, { packed, unpacked }] of layers.entries())
  console.log(`${LAYERS[at].padEnd(12)} ${megabytes(packed)} packed ${megabytes(unpacked)} unpacked`)
const sum = (key) => layers.reduce((total, layer) => total + layer[key], 0)
console.log(`${'image'.padEnd(12)} ${megabytes(sum('packed'))} packed ${megabytes(sum('unpacked'))} unpacked`)
console.log(`localhost/${name}:${version} in ${out}, ${digest}`)
for (const key of Object.keys(MOST_BYTES).filter((each) => sum(each) > MOST_BYTES[each])) {
  console.error(
    `the image is larger than ${megabytes(MOST_BYTES[key]).trim()} ${key}: ` +
      'find what grew, or raise MOST_BYTES in hack/image/build.mjs',
  )
  process.exitCode = 1
}
