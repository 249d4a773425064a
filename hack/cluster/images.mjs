#!/usr/bin/env node
// Builds the images of a node without a registry: that of Muster, and one per other program that its pods run.
// Usage: node hack/cluster/images.mjs [--ingress]    Exit: 0 built into .tools/image, 1 failed. These are the images
//        that kind needs; a node of hack/cluster/up.mjs builds the others itself.
import { execFileSync } from 'node:child_process'
import { cpSync, existsSync, mkdirSync, readFileSync, realpathSync, statSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { writeArchive } from '../image/oci.mjs'
import { inScratch } from '../image/rootfs.mjs'
import { ROOT } from './paths.mjs'

const FOLDER = `${ROOT}.tools/image`
/** Name of the image (its version is `cluster`): the program, and the user it runs as. */
const PROGRAMS = { pause: '65535:65535', coredns: '65532:65532', traefik: '65532:65532', redis: '999:999' }
const COMMANDS = { redis: 'redis-server' }
/** Only for a cluster with KEDA: they are large. */
const KEDA = { 'keda-operator': '65532:65532', 'keda-adapter': '65532:65532' }
export const PAUSE_IMAGE = 'localhost/pause:cluster'
export const REDIS_IMAGE = 'localhost/redis:cluster'
export const PREVIOUS_IMAGE = 'localhost/muster:previous'

/** What a program is linked against, the loader included; empty for a static one. */
function librariesOf(program) {
  try {
    return [
      ...execFileSync('ldd', [program], { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }).matchAll(
        /\s(\/\S+)\s+\(0x/g,
      ),
    ].map((match) => match[1])
  } catch {
    return []
  }
}

function pack(name, program, archive) {
  inScratch((scratch) => {
    const target = join(scratch, 'usr/local/bin', COMMANDS[name] ?? name)
    mkdirSync(dirname(target), { recursive: true })
    cpSync(realpathSync(program), target)
    for (const library of librariesOf(program)) {
      mkdirSync(join(scratch, dirname(library)), { recursive: true })
      cpSync(realpathSync(library), join(scratch, library))
    }
    mkdirSync(join(scratch, 'tmp'))
    const config = {
      User: PROGRAMS[name] ?? KEDA[name],
      Env: ['PATH=/usr/local/bin'],
      Entrypoint: [`/usr/local/bin/${basename(target)}`],
    }
    writeArchive(archive, { name: `localhost/${name}`, version: 'cluster', folders: [scratch], config })
  })
}

const whereIs = (program) =>
  execFileSync(`${ROOT}hack/install-tools.sh`, ['--where', program], { encoding: 'utf8' }).trim()

/** The images of a node. */
export const imagesOf = ({ keda }) => [...Object.keys(PROGRAMS), ...(keda ? Object.keys(KEDA) : [])]

/** Paths of the archives, Muster's last. One that is older than its program is made again. */
export function buildImages(names) {
  const archives = names.map((name) => {
    const [program, archive] = [whereIs(COMMANDS[name] ?? name), join(FOLDER, `${name}.tar`)]
    if (!existsSync(archive) || statSync(archive).mtimeMs < statSync(program).mtimeMs) pack(name, program, archive)
    return archive
  })
  execFileSync(process.execPath, [`${ROOT}hack/image/build.mjs`], { stdio: 'inherit' })
  return [...archives, join(FOLDER, 'muster.tar')]
}

/**
 * Builds the image of the release that hack/previous-release names.
 * @returns its archive, the name of the image in it, and the folder of the release.
 */
export function buildPrevious() {
  const script = `${ROOT}hack/install-release.sh`
  execFileSync(script, { stdio: 'inherit' })
  const folder = execFileSync(script, ['--where'], { encoding: 'utf8' }).trim()
  const archive = join(FOLDER, 'previous.tar')
  execFileSync(process.execPath, [`${folder}/hack/image/build.mjs`, '--out', archive], { stdio: 'inherit' })
  const { name, version } = JSON.parse(readFileSync(`${folder}/dist/package.json`, 'utf8'))
  return { archive, image: `localhost/${name}:${version}`, folder }
}

if (process.argv[1] === fileURLToPath(import.meta.url))
  buildImages(process.argv.includes('--ingress') ? ['redis', 'traefik'] : ['redis'])
