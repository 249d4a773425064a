#!/usr/bin/env node
// Assembles the file system of the Muster image, a folder a layer: libraries, node, dependencies, muster.
// Usage: node hack/image/rootfs.mjs FOLDER    Exit: 0 done, 1 something is missing. Needs dist/, node_modules, apt-get,
// dpkg-deb.
//
// The Dockerfile and build.mjs both run this, so an image is the same with and without a container engine. It contains
// only files that a process of Muster reads: no shell, no package manager, no npm, no source maps, no types of
// dependencies.
import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import {
  cpSync,
  existsSync,
  globSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))
/** From the layer that changes least to the one that changes most. */
export const LAYERS = ['libraries', 'node', 'dependencies', 'muster']
const DEBIAN_PACKAGES = ['libc6', 'libgcc-s1', 'libstdc++6']
const HOST = { arch: process.arch }
const MODULES = 'opt/muster/node_modules'
const NEEDLESS =
  /\.(?:map|md|markdown|ts|mts|cts|flow|gypi?|c|h|cpp|hpp)$|^\/(?:tests?|docs?|examples?|benchmark)(?:\/|$)/
const LICENCE = /\/(?:licen[cs]e|notice|copying)[^/]*$/i
const foreignBinary = (arch) => new RegExp(String.raw`/prebuilds/(?!linux-${arch}\b)`)

const pins = JSON.parse(readFileSync(new URL('pins.json', import.meta.url), 'utf8'))
const run = (program, args, cwd = ROOT) =>
  execFileSync(program, args, { cwd, encoding: 'utf8', stdio: ['ignore', 'pipe', 'inherit'] })

function write(folder, path, text) {
  mkdirSync(dirname(join(folder, path)), { recursive: true })
  writeFileSync(join(folder, path), text)
}

/** Calls `use` with a folder that is removed afterwards. */
export function inScratch(use) {
  const folder = mkdtempSync(join(tmpdir(), 'muster-image-'))
  try {
    return use(folder)
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

/** Unpacks Debian packages into `scratch`/tree: the given ones, else those of the machine that this runs on. */
function unpackDebian(scratch, archives) {
  if (archives === undefined)
    run('apt-get', ['download', '--quiet=2', '-o', 'APT::Sandbox::User=root', ...DEBIAN_PACKAGES], scratch)
  for (const archive of archives ?? globSync('*.deb', { cwd: scratch }))
    run('dpkg-deb', ['-x', archive, 'tree'], scratch)
  return join(scratch, 'tree')
}

/** Debian's libraries and their licences; users, and the order of name look-ups, as the C library reads them. */
function libraries(folder, { debianArchives }) {
  inScratch((scratch) => {
    const tree = unpackDebian(scratch, debianArchives)
    const osRelease = join(tree, 'usr/lib/os-release') // Of base-files, which only pinned packages contain.
    write(folder, 'etc/os-release', readFileSync(existsSync(osRelease) ? osRelease : '/etc/os-release', 'utf8'))
    const wanted = globSync(
      ['{usr/,}lib/*-linux-*/*.so*', '{usr/,}lib64/*', '{usr/,}lib/ld-linux*', 'usr/share/doc/*/copyright'],
      { cwd: tree },
    )
    for (const path of wanted)
      cpSync(join(tree, path), join(folder, path.replace(/^lib/, 'usr/lib')), {
        recursive: true,
        verbatimSymlinks: true,
      })
  })
  for (const name of ['lib', 'lib64'].filter((each) => existsSync(join(folder, 'usr', each))))
    symlinkSync(`usr/${name}`, join(folder, name))
  write(folder, 'etc/passwd', 'root:x:0:0:root:/:/none\nmuster:x:65532:65532:muster:/opt/muster:/none\n')
  write(folder, 'etc/group', 'root:x:0:\nmuster:x:65532:\n')
  write(folder, 'etc/nsswitch.conf', 'hosts: files dns\n')
  mkdirSync(join(folder, 'tmp'))
}

const sha256 = (path) => createHash('sha256').update(readFileSync(path)).digest('hex')

/** Node as its project built it: the given one, the one that this runs on when it is the pinned one, else from npm. */
function node(folder, { arch, nodeProgram }) {
  const target = join(folder, 'usr/local/bin/node')
  const [pinned, name] = [pins.node.sha256[arch], `node-linux-${arch}`]
  if (pinned === undefined) throw new Error(`no Node is pinned for ${arch}; add it to hack/image/pins.json`)
  mkdirSync(dirname(target), { recursive: true })
  if (nodeProgram !== undefined) return cpSync(nodeProgram, target)
  if (sha256(process.execPath) === pinned) return cpSync(process.execPath, target)
  inScratch((scratch) => {
    const archive = run('npm', ['pack', '--silent', `${name}@${pins.node.version}`], scratch).trim()
    run('tar', ['-xzf', archive, 'package/bin/node'], scratch)
    const brought = join(scratch, 'package/bin/node')
    if (sha256(brought) !== pinned)
      throw new Error(`${name}@${pins.node.version} is not the Node of hack/image/pins.json; do not use it`)
    cpSync(brought, target)
  })
}

/** Folder of a package as Node finds it from another package's folder. */
function folderOf(name, from) {
  for (let at = from; ; at = dirname(at)) {
    const folder = join(at, 'node_modules', name)
    if (existsSync(folder)) return folder
    if (at === ROOT || at === '/') return undefined
  }
}

/**
 * Every package folder that the published package needs, itself left out; as `npm ci` of our lock file brought them.
 */
function productionTree() {
  const found = new Set()
  const visit = (manifest, from) => {
    for (const name of Object.keys({ ...manifest.dependencies, ...manifest.optionalDependencies })) {
      const folder = folderOf(name, from)
      if (folder === undefined && manifest.optionalDependencies?.[name] === undefined)
        throw new Error(`${name} is not installed; run npm ci`)
      if (folder === undefined || found.has(folder)) continue
      found.add(folder)
      visit(JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')), folder)
    }
  }
  visit(JSON.parse(readFileSync(join(ROOT, 'dist/package.json'), 'utf8')), ROOT.replace(/\/$/, ''))
  return [...found]
}

function dependencies(folder, { arch }) {
  const foreign = foreignBinary(arch)
  const kept = (root) => (path) => {
    const inside = path.slice(root.length)
    return (
      LICENCE.test(inside) || !(inside.startsWith('/node_modules') || NEEDLESS.test(inside) || foreign.test(inside))
    )
  }
  for (const each of productionTree())
    cpSync(each, join(folder, MODULES, each.slice(each.indexOf('/node_modules/') + '/node_modules/'.length)), {
      recursive: true,
      filter: kept(each),
    })
}

/** What npm users get, and the folder that makes it a dependency of theirs. */
function muster(folder) {
  const { name, version } = JSON.parse(readFileSync(join(ROOT, 'dist/package.json'), 'utf8'))
  inScratch((scratch) => {
    const archive = run('npm', ['pack', '--silent', '--pack-destination', scratch, join(ROOT, 'dist')]).trim()
    run('tar', ['-xzf', basename(archive), '--exclude', '*.map'], scratch)
    // No rename: the folder may be on another file system.
    cpSync(join(scratch, 'package'), join(folder, MODULES, name), { recursive: true })
  })
  write(
    folder,
    'opt/muster/package.json',
    `${JSON.stringify({ private: true, type: 'module', dependencies: { [name]: version } }, null, 2)}\n`,
  )
  mkdirSync(join(folder, 'opt/muster/automations/inline'), { recursive: true })
}

/**
 * @param target `arch` as Node names it: x64 or arm64. `debianArchives` and `nodeProgram`: paths of checked inputs;
 *   without them, the packages of the machine that this runs on and the pinned Node are brought.
 */
export function assemble(folder, target = HOST) {
  const makers = { libraries, node, dependencies, muster }
  for (const layer of LAYERS) {
    mkdirSync(join(folder, layer), { recursive: true })
    makers[layer](join(folder, layer), target)
  }
}

/** How a container starts. @param manifest The published package.json. */
export const imageConfig = ({ name, bin }) => ({
  User: '65532:65532',
  WorkingDir: '/opt/muster',
  Env: ['NODE_ENV=production'],
  Entrypoint: ['/usr/local/bin/node', '--max-old-space-size-percentage=70', join('/', MODULES, name, bin.muster)],
  Cmd: ['--help'],
})

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const [folder, ...more] = process.argv.slice(2)
  if (folder === undefined || folder.startsWith('-') || more.length > 0) {
    console.error('name one folder: node hack/image/rootfs.mjs FOLDER')
    process.exitCode = 1
  } else assemble(folder)
}
