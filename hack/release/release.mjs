#!/usr/bin/env node
// Builds a release into release/, from the commit of this clone and from the inputs that make release-inputs brought.
// Usage: node hack/release/release.mjs --version VERSION [--out release] [--scratch FOLDER]    (make release)
// Exit: 0 written, 1 refused or failed. With ALLOW_DIRTY=1 it builds VERSION-dev.COMMIT from the files as they are.
// MUSTER_SIGNING_KEY_FILE is a minisign key; without it nothing is signed, and the last line prints the command.
//
// The commit is checked out into an empty folder and built there, so no file that Git ignores gets into a release.
// Time zone, language, umask and paths of the machine have no effect. Needs no network.
import { execFileSync, spawnSync } from 'node:child_process'
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { cachedInputs, ARCHITECTURES, readPins } from './inputs.mjs'
import { developmentVersion } from './versions.mjs'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))
const { values } = parseArgs({
  options: { version: { type: 'string' }, out: { type: 'string', default: 'release' }, scratch: { type: 'string' } },
})
const PYTHON = join(ROOT, '.tools/clients/bin/python')

class Refused extends Error {}

const run = (program, args, options = {}) =>
  execFileSync(program, args, {
    cwd: ROOT,
    encoding: 'utf8',
    maxBuffer: 2 ** 28,
    stdio: ['ignore', 'pipe', 'pipe'],
    ...options,
  })
const git = (...args) => run('git', args).trim()
const version = () => JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')).version

/** Throws Refused, with what to do, unless this clone can build the release that is asked for. */
function check(isDirtyAllowed) {
  const current = version()
  if (values.version !== undefined && values.version !== current)
    throw new Refused(
      `package.json has version ${current}, not ${values.version}; run make version VERSION=${values.version}`,
    )
  const changed = git('status', '--porcelain')
  if (changed !== '' && !isDirtyAllowed)
    throw new Refused(
      `these files are not committed; commit them, or set ALLOW_DIRTY=1 for a development build:\n${changed}`,
    )
  const tag = spawnSync('git', ['rev-parse', '--verify', '--quiet', `v${current}^{commit}`], {
    cwd: ROOT,
    encoding: 'utf8',
  })
  if (!isDirtyAllowed && tag.status === 0 && tag.stdout.trim() !== git('rev-parse', 'HEAD'))
    throw new Refused(`the tag v${current} is on another commit; run make version for the next version`)
  const wanted = `v${readPins().node.version}`
  if (process.version !== wanted)
    throw new Refused(`this is Node ${process.version}; a release needs ${wanted}, whose compression it depends on`)
  if (!existsSync(join(ROOT, 'hack/release/node_modules')) || !existsSync(PYTHON))
    throw new Refused('the programs of the release are missing; run make release-inputs')
  try {
    for (const arch of Object.keys(ARCHITECTURES)) cachedInputs(arch)
  } catch (error) {
    throw new Refused(error.message)
  }
}

/** Copies the commit, or with ALLOW_DIRTY the files as they are, and the installed packages. */
function checkOut(tree, isDirty) {
  mkdirSync(tree, { recursive: true })
  const archive = isDirty
    ? run(
        'bash',
        ['-c', 'git ls-files -z --cached --others --exclude-standard | tar --null -T - -cf - --ignore-failed-read'],
        { encoding: 'buffer', maxBuffer: 2 ** 30 },
      )
    : run('git', ['archive', 'HEAD'], { encoding: 'buffer', maxBuffer: 2 ** 30 })
  run('tar', ['-xf', '-', '-C', tree], { input: archive, stdio: ['pipe', 'pipe', 'pipe'] })
  for (const folder of ['node_modules', 'hack/release/node_modules']) {
    const from = realpathSync(join(ROOT, folder))
    // Hard links are enough, because nothing writes into these folders. Another file system needs copies.
    if (spawnSync('cp', ['-al', from, join(tree, folder)]).status !== 0) {
      rmSync(join(tree, folder), { recursive: true, force: true })
      cpSync(from, join(tree, folder), { recursive: true, verbatimSymlinks: true })
    }
  }
}

/** The environment of a build: only what it needs, with fixed values for what differs between machines. */
const cleanEnvironment = () => ({
  PATH: [join(ROOT, '.tools/bin'), join(ROOT, 'node_modules/.bin'), process.env.PATH].join(':'),
  HOME: process.env.HOME,
  ...(process.env.XDG_CACHE_HOME && { XDG_CACHE_HOME: process.env.XDG_CACHE_HOME }),
  TZ: 'UTC',
  LC_ALL: 'C.UTF-8',
  NODE_ENV: 'production',
})

/** Prepares the tree, builds dist/ and writes the files into `out`. */
function build(tree, out, { commit, seconds, developed }) {
  const env = cleanEnvironment()
  const node = (...args) => run(process.execPath, args, { cwd: tree, env, stdio: ['ignore', 'ignore', 'inherit'] })
  if (developed !== undefined) node('hack/release/set-version.mjs', developed, tree)
  // In a release the packages are published: chart and pages then name the registries.
  const path = join(tree, 'release.json')
  const names = { ...JSON.parse(readFileSync(path, 'utf8')), published: true }
  writeFileSync(path, `${JSON.stringify(names, null, 2)}\n`)
  node('hack/chart/update-chart.mjs')
  node('hack/update-docs.mjs')
  run('npm', ['run', '--silent', 'build'], { cwd: tree, env, stdio: ['ignore', 'ignore', 'inherit'] })
  const given = ['--out', out, '--commit', commit, '--time', seconds, '--git', ROOT, '--python', PYTHON]
  node('hack/release/files.mjs', ...given)
}

/** @returns the last line: signed, or how to sign. */
function sign(out, name) {
  const command = ['-S', '-m', 'SHA256SUMS', '-t', `muster ${name}`]
  const key = process.env.MUSTER_SIGNING_KEY_FILE
  if (!key)
    return `unsigned; sign it with: cd ${out} && minisign ${command.slice(0, -1).join(' ')} "muster ${name}" -s KEY`
  const { status, error, stderr } = spawnSync('minisign', [...command, '-s', resolve(key)], {
    cwd: out,
    encoding: 'utf8',
    stdio: ['inherit', 'ignore', 'pipe'],
  })
  if (error !== undefined) throw new Refused('minisign is missing; hack/install-debian.sh minisign installs it')
  if (status !== 0) throw new Refused(`minisign failed: ${stderr.trim()}`)
  return `signed: ${join(out, 'SHA256SUMS.minisig')}`
}

function release() {
  process.umask(0o022)
  const isDirtyAllowed = process.env.ALLOW_DIRTY === '1'
  check(isDirtyAllowed)
  const [commit, seconds] = git('log', '-1', '--format=%H %ct').split(' ')
  const developed = isDirtyAllowed ? developmentVersion(version(), commit) : undefined
  const out = resolve(ROOT, values.out)
  const scratch =
    values.scratch === undefined ? mkdtempSync(join(tmpdir(), 'muster-release-')) : resolve(values.scratch)
  try {
    const tree = join(scratch, 'tree')
    checkOut(tree, isDirtyAllowed)
    rmSync(out, { recursive: true, force: true })
    build(tree, out, { commit, seconds, developed })
  } finally {
    rmSync(scratch, { recursive: true, force: true })
  }
  process.stdout.write(readFileSync(join(out, 'SHA256SUMS'), 'utf8'))
  console.log(sign(out, developed ?? version()))
}

try {
  release()
} catch (error) {
  console.error(error instanceof Refused ? error.message : error)
  process.exitCode = 1
}
