#!/usr/bin/env node
// The inputs of a release that do not come from the repository: Node and Debian's libraries, for each architecture,
// each pinned by its SHA-256 in hack/image/pins.json.
// Usage: node hack/release/inputs.mjs    (make release-inputs)    Downloads those that the cache lacks. Needs npm,
// apt-get and the network. Exit: 0 the cache has all, 1 an input is not available or has other content.
//
// The cache is ${XDG_CACHE_HOME:-~/.cache}/muster/release. `make release` reads it and downloads nothing.
import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const PINS = fileURLToPath(new URL('../image/pins.json', import.meta.url))
/** Node's name of an architecture, and Debian's. */
export const ARCHITECTURES = { x64: 'amd64', arm64: 'arm64' }
const KEYRING = '/usr/share/keyrings/debian-archive-keyring.gpg'

export const readPins = () => JSON.parse(readFileSync(PINS, 'utf8'))
const cacheFolder = () => join(process.env.XDG_CACHE_HOME || join(homedir(), '.cache'), 'muster/release')
const sha256 = (path) => createHash('sha256').update(readFileSync(path)).digest('hex')

/** Every input: its path in the cache, its SHA-256, and how it is named in messages. */
function inputsOf({ node, debian }, arch) {
  const nodes = { kind: 'node', file: `node-${node.version}-${arch}`, sha256: node.sha256[arch] }
  const archives = Object.entries(debian.packages).map(([name, { version, sha256: hashes }]) => ({
    kind: 'debian',
    name,
    version,
    file: `${name}_${version.replace(':', '%3a')}_${ARCHITECTURES[arch]}.deb`,
    sha256: hashes[ARCHITECTURES[arch]],
  }))
  return [nodes, ...archives].map((each) => ({ ...each, arch, path: join(cacheFolder(), each.file) }))
}

const isPresent = (input) => existsSync(input.path) && sha256(input.path) === input.sha256

/**
 * @param arch x64 or arm64.
 * @returns paths of the checked inputs: `nodeProgram` and `debianArchives`.
 * @throws Error that names what is missing, and the command that brings it.
 */
export function cachedInputs(arch) {
  const inputs = inputsOf(readPins(), arch)
  const missing = inputs.filter((each) => !isPresent(each))
  if (missing.length > 0)
    throw new Error(
      `inputs of the release are missing in ${cacheFolder()}: ` +
        `${missing.map(({ file }) => file).join(', ')}; run make release-inputs`,
    )
  const [node, ...archives] = inputs.map(({ path }) => path)
  return { nodeProgram: node, debianArchives: archives }
}

/** The mirror of Debian that this machine uses. apt checks what it sends by its signature. */
function mirror() {
  const format = ['indextargets', '--format', '$(REPO_URI)', 'Created-By: Packages']
  const found = execFileSync('apt-get', format, { encoding: 'utf8' })
    .split('\n')
    .find((uri) => /\/debian\/?$/.test(uri))
  if (found === undefined) throw new Error('apt of this machine knows no mirror of Debian; the inputs come from Debian')
  return found
}

/** Calls `use` with a function that runs an apt program for a Debian release and any architecture. */
export function withApt(release, use) {
  mkdirSync(cacheFolder(), { recursive: true })
  const folder = mkdtempSync(join(cacheFolder(), 'apt-'))
  try {
    for (const each of ['lists/partial', 'archives/partial']) mkdirSync(join(folder, each), { recursive: true })
    writeFileSync(join(folder, 'status'), '')
    writeFileSync(join(folder, 'sources.list'), `deb [signed-by=${KEYRING}] ${mirror()} ${release} main\n`)
    const lines = [
      `Dir::Etc::SourceList "${folder}/sources.list"; Dir::Etc::SourceParts "/dev/null";`,
      `Dir::State "${folder}"; Dir::State::Lists "${folder}/lists"; Dir::State::status "${folder}/status";`,
      `Dir::Cache "${folder}"; APT::Sandbox::User "root"; Acquire::Languages "none";`,
      'APT::Architecture "amd64"; APT::Architectures { "amd64"; "arm64"; };',
    ]
    writeFileSync(join(folder, 'apt.conf'), `${lines.join('\n')}\n`)
    const env = { ...process.env, APT_CONFIG: join(folder, 'apt.conf') }
    const run = (program, ...args) =>
      execFileSync(program, args, { cwd: folder, env, encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] })
    run('apt-get', '--quiet=2', 'update')
    return use(run, folder)
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

/** Moves a downloaded file into the cache. @throws Error if it is not the pinned one. */
function accept(input, from) {
  if (sha256(from) !== input.sha256)
    throw new Error(`${input.file} has not the SHA-256 of hack/image/pins.json; do not use it`)
  renameSync(from, input.path)
  console.log(`${input.path}: downloaded`)
}

function downloadDebian(inputs, release) {
  withApt(release, (run, folder) => {
    for (const input of inputs) {
      const name = `${input.name}:${ARCHITECTURES[input.arch]}`
      try {
        run('apt-get', '--quiet=2', 'download', `${name}=${input.version}`)
      } catch {
        const newest = /Candidate: (\S+)/.exec(run('apt-cache', 'policy', name))?.[1] ?? 'none'
        throw new Error(
          `Debian's mirror has no ${name} ${input.version}, its newest is ${newest}: ` +
            'node hack/image/update-pins.mjs pins the newest versions',
        )
      }
      accept(input, join(folder, input.file))
    }
  })
}

function downloadNode(input, version) {
  const folder = mkdtempSync(join(cacheFolder(), 'node-'))
  try {
    const options = { cwd: folder, encoding: 'utf8' }
    const archive = execFileSync('npm', ['pack', '--silent', `node-linux-${input.arch}@${version}`], options).trim()
    execFileSync('tar', ['-xzf', archive, 'package/bin/node'], options)
    accept(input, join(folder, 'package/bin/node'))
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

function download() {
  const pins = readPins()
  mkdirSync(cacheFolder(), { recursive: true })
  const missing = Object.keys(ARCHITECTURES)
    .flatMap((arch) => inputsOf(pins, arch))
    .filter((each) => !isPresent(each))
  for (const each of missing.filter(({ kind }) => kind === 'node')) downloadNode(each, pins.node.version)
  const archives = missing.filter(({ kind }) => kind === 'debian')
  if (archives.length > 0) downloadDebian(archives, pins.debian.release)
  console.log(`${cacheFolder()}: complete`)
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  try {
    download()
  } catch (error) {
    console.error(error.message)
    process.exitCode = 1
  }
}
