#!/usr/bin/env node
// Writes the files of a release from a built tree, which is the current folder.
// Usage: node hack/release/files.mjs --out FOLDER --commit HASH --time SECONDS [--git REPOSITORY] [--python PROGRAM]
//        [--only NAME,NAME]    `--time`: the time of the commit. `--git`: a repository with the commits, for the
//        changelog. `--only`: some of the names below. Exit: 0 written, 1 something is missing, with its name.
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { clientBom, executableBom, imageBoms, npmBom } from './boms.mjs'
import { changelog } from './changelog.mjs'
import { chartArchive, crds, imageLists, installManifest, kustomizeArchive } from './cluster-files.mjs'
import { executables } from './executable.mjs'
import { writeImage } from './image.mjs'
import { openApi } from './openapi.mjs'
import { clientPackage, npmPackage, pythonPackages } from './packages.mjs'
import { checksums, provenance } from './provenance.mjs'
import { publishScript } from './publish.mjs'

/** In this order: what follows reads the digest of the image, and the last ones read all files before them. */
const MAKERS = {
  npm: npmPackage,
  client: clientPackage,
  python: pythonPackages,
  executables,
  openapi: openApi,
  image: (options) => {
    options.imageDigest = writeImage(options)
    return new Map()
  },
  chart: chartArchive,
  crds,
  install: installManifest,
  kustomize: kustomizeArchive,
  images: imageLists,
  'sbom-npm': npmBom,
  'sbom-client': clientBom,
  'sbom-executable': executableBom,
  'sbom-image': imageBoms,
  changelog,
  provenance,
  publish: publishScript,
  checksums,
}

const { values } = parseArgs({
  options: {
    out: { type: 'string' },
    commit: { type: 'string' },
    time: { type: 'string' },
    git: { type: 'string', default: '.' },
    python: { type: 'string' },
    only: { type: 'string', default: Object.keys(MAKERS).join(',') },
  },
})
const json = (path) => JSON.parse(readFileSync(path, 'utf8'))
const timeMs = Number(values.time) * 1_000
const options = {
  root: process.cwd(),
  out: resolve(values.out),
  names: json('release.json'),
  version: json('package.json').version,
  commit: values.commit,
  timeMs,
  date: new Date(timeMs).toISOString().slice(0, 10),
  git: resolve(values.git),
  python: values.python && resolve(values.python),
}

process.umask(0o022)
mkdirSync(options.out, { recursive: true })
for (const name of values.only.split(',')) {
  const files = await MAKERS[name](options)
  for (const [file, content] of files)
    writeFileSync(join(options.out, file), content, { mode: file.endsWith('.sh') ? 0o755 : 0o644 })
}
