// The files of a release for Kubernetes: chart, manifests, and the image by its digest.
import { execFileSync } from 'node:child_process'
import { cpSync, globSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { parse, stringify } from 'yaml'
import { programPath } from '../chart/manifests.mjs'
import { inScratch } from '../image/rootfs.mjs'
import { tar } from '../tar.mjs'

/** The image as the manifests of the repository name it, with or without a tag. */
const LOCAL_IMAGE = /\blocalhost\/muster(?::[\w.-]+)?/g

const text = (path) => readFileSync(path, 'utf8')
const defaults = (root) => parse(text(join(root, 'charts/muster/values.yaml')))
const nameOf = ({ registry, repository }) => [registry, repository].filter((each) => each !== '').join('/')

export const chartArchive = ({ root, version }) =>
  new Map([[`muster-${version}.tgz`, gzipSync(tar(join(root, 'charts'), 'muster'), { level: 9 })]])

/** Both definitions in one file, for `kubectl apply --server-side -f`. */
export function crds({ root }) {
  const files = readdirSync(join(root, 'crds')).filter((name) => name.endsWith('.muster.dev.yaml'))
  return new Map([
    [
      'crds.yaml',
      files
        .toSorted()
        .map((name) => text(join(root, 'crds', name)))
        .join('---\n'),
    ],
  ])
}

/** A copy of manifests/ in which the image has its public name and its digest. */
function withManifests({ root, names, imageDigest }, use) {
  return inScratch((scratch) => {
    for (const name of ['manifests', 'crds']) cpSync(join(root, name), join(scratch, name), { recursive: true })
    for (const path of globSync('manifests/**/*.yaml', { cwd: scratch })) {
      const before = text(join(scratch, path))
      writeFileSync(join(scratch, path), before.replaceAll(LOCAL_IMAGE, `${names.image}@${imageDigest}`))
    }
    return use(scratch)
  })
}

/** Needs kustomize, which puts the namespace into the objects. */
export function installManifest(options) {
  const rendered = withManifests(options, (folder) =>
    execFileSync(programPath('kustomize'), ['build', join(folder, 'manifests/base')], { encoding: 'utf8' }),
  )
  const namespace = stringify({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'muster' } })
  return new Map([['install.yaml', `${namespace}---\n${rendered}`]])
}

export const kustomizeArchive = (options) =>
  withManifests(
    options,
    (folder) =>
      new Map([[`kustomize-${options.version}.tar.gz`, gzipSync(tar(folder, 'crds', 'manifests'), { level: 9 })]]),
  )

/** The store's image has no digest here: it comes from another project's registry, which no build may ask. */
export function imageLists({ root, names, imageDigest, version }) {
  const [registry, ...rest] = names.image.split('/')
  const values = { image: { registry, repository: rest.join('/'), digest: imageDigest } }
  const { image: store } = defaults(root).redis.embedded
  const head = '# The image of Muster by its digest: helm install … --values values-digest.yaml\n'
  return new Map([
    ['values-digest.yaml', head + stringify(values)],
    ['images.txt', `${names.image}:${version}@${imageDigest}\n${nameOf(store)}:${store.tag}\n`],
  ])
}
