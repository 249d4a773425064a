/** Builds what publish.sh publishes, in any version: real packages and a real chart, and an image of small files. */
import { cpSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { hackPath } from '../hack/tree.ts'
import { PYTHON } from '../kit/python-client.ts'
import { temporaryFolder } from '../kit/temporary-folder.ts'

const COPIED = ['LICENSE', 'charts', 'clients/python', 'dist', 'src/client/README.md']

export interface PublicNames {
  readonly npm: string
  readonly client: string
  readonly image: string
  readonly chart: string
  readonly python: string
}
type Make = (options: object) => ReadonlyMap<string, string | Uint8Array>
interface Makers {
  readonly npmPackage: Make
  readonly clientPackage: Make
  readonly pythonPackages: Make
  readonly chartArchive: Make
  readonly writeArchive: (path: string, image: object) => { readonly digest: string }
  readonly publishScript: Make
  readonly checksums: Make
  readonly pythonVersion: (version: string) => string
}

const MODULES = [
  'image/oci.mjs',
  ...['packages', 'cluster-files', 'publish', 'provenance', 'versions'].map((name) => `release/${name}.mjs`),
]
const makers = async (): Promise<Makers> =>
  Object.assign({}, ...(await Promise.all(MODULES.map((path) => import(hackPath(path)) as Promise<object>)))) as Makers
export const names = JSON.parse(readFileSync('release.json', 'utf8')) as PublicNames

/** Writes publish.sh and SHA256SUMS for the files in `out`. */
export async function finish(out: string, version: string, imageDigest: string): Promise<void> {
  const { publishScript, checksums } = await makers()
  write([publishScript, checksums], { out, names, version, imageDigest })
}

function write(makes: readonly Make[], options: { readonly out: string; readonly [name: string]: unknown }): void {
  for (const make of makes)
    for (const [name, content] of make(options))
      writeFileSync(join(options.out, name), content, { mode: name.endsWith('.sh') ? 0o755 : 0o644 })
}

/** Writes an image for both platforms that contains one file with `text`. @returns the digest of its index. */
export async function writeSmallImage(out: string, version: string, text: string): Promise<string> {
  const { writeArchive } = await makers()
  const folder = temporaryFolder()
  writeFileSync(join(folder, 'text'), text)
  const platforms = ['x64', 'arm64'].map((arch) => ({ arch, folders: [folder] }))
  const image = { name: names.image, version, platforms, config: { Cmd: ['/text'] } }
  return writeArchive(join(out, `muster-${version}.oci.tar`), image).digest
}

const edit = (path: string, from: RegExp, to: string): void =>
  writeFileSync(path, readFileSync(path, 'utf8').replace(from, to))

/** @returns a folder with the release. */
export async function buildRelease(version: string): Promise<string> {
  const [root, out] = [temporaryFolder(), temporaryFolder()]
  for (const path of COPIED) cpSync(path, join(root, path), { recursive: true })
  const { npmPackage, clientPackage, chartArchive, pythonPackages, pythonVersion } = await makers()
  edit(join(root, 'charts/muster/Chart.yaml'), /^(version|appVersion): .*$/gm, `$1: ${version}`)
  edit(join(root, 'clients/python/pyproject.toml'), /^version = .*$/m, `version = "${pythonVersion(version)}"`)
  write([npmPackage, clientPackage, chartArchive, pythonPackages], {
    root,
    out,
    names,
    version,
    python: PYTHON,
  })
  await finish(out, version, await writeSmallImage(out, version, version))
  return out
}
