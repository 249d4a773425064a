#!/usr/bin/env node
// Pins the newest versions of Debian's packages in hack/image/pins.json, with their SHA-256 for each architecture.
// Usage: node hack/image/update-pins.mjs    Needs apt-get and the network. Exit: 0 written, 1 a version differs between
// the architectures, or the mirror cannot be reached.
//
// gcc-14-base contains the licence of libgcc-s1 and libstdc++6, base-files the name of the Debian release.
import { writeFileSync } from 'node:fs'
import { ARCHITECTURES, readPins, withApt } from '../release/inputs.mjs'

const RELEASE = 'trixie'
const PACKAGES = ['base-files', 'gcc-14-base', 'libc6', 'libgcc-s1', 'libstdc++6']
/** A line of `apt-get download --print-uris`: URL, file name, size, hash. */
const LINE = /^'[^']*' \S+_(?<version>[^_]+)_\w+\.deb \d+ SHA256:(?<sha256>[0-9a-f]{64})$/m

/** Version and hashes of one package. */
function pinOf(run, name) {
  const found = Object.values(ARCHITECTURES).map((arch) => {
    const uris = run('apt-get', 'download', '--print-uris', `${name}:${arch}`)
    const { version, sha256 } = LINE.exec(uris).groups
    return { arch, version: decodeURIComponent(version), sha256 }
  })
  const versions = new Set(found.map(({ version }) => version))
  if (versions.size > 1) throw new Error(`${name} has the versions ${[...versions].join(' and ')}; try again later`)
  return { version: found[0].version, sha256: Object.fromEntries(found.map(({ arch, sha256 }) => [arch, sha256])) }
}

const packages = withApt(RELEASE, (run) => Object.fromEntries(PACKAGES.map((name) => [name, pinOf(run, name)])))
const pins = { ...readPins(), debian: { release: RELEASE, packages } }
writeFileSync(new URL('pins.json', import.meta.url), `${JSON.stringify(pins, null, 2)}\n`)
console.log('hack/image/pins.json: written; next: make release-inputs')
