// The command line for clients as one file, for people without Node: Node itself with the commands inside, and the
// manifests by which krew and Homebrew install it.
//
// esbuild makes one CommonJS file of src/cmd/muster.ts, in which executable-programs.ts stands for programs.ts: so
// neither master, worker nor store are in it, and no telemetry. Node packs the file into a blob, and postject writes
// the blob into a copy of Node. The blob has neither a snapshot nor compiled code, so it fits every architecture.
import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import {
  chmodSync,
  copyFileSync,
  cpSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { licencesOf, packagesOf } from '../build-licences.mjs'
import { PLUGINS } from '../build-plugins.mjs'
import { tar } from '../tar.mjs'
import { ARCHITECTURES, cachedInputs } from './inputs.mjs'

/** Marks the place in Node where it looks for a blob: a constant of Node. */
const FUSE = 'NODE_SEA_FUSE_fce680ab2cc467b6e072b8b5df1996b2'
const COMPLETIONS = { bash: 'muster.bash', zsh: '_muster', fish: 'muster.fish' }
const DESCRIPTION = 'Administers a fleet of workers: configs, tasks, dead letters, rollouts'

/** Telemetry of the programs of a fleet, and what ws works without. */
const OUTSIDE = ['@opentelemetry/sdk-node', 'bufferutil', 'utf-8-validate']

const sha256 = (bytes) => createHash('sha256').update(bytes).digest('hex')
const archiveOf = (version, architecture) => `muster_${version}_linux_${architecture}.tar.gz`

const substitutes = (version) => ({
  name: 'executable',
  setup: ({ onLoad }) => {
    onLoad({ filter: /[/\\]src[/\\]cmd[/\\]programs\.ts$/ }, () => ({
      contents: "export { PROGRAMS } from './executable-programs.ts'",
      loader: 'ts',
    }))
    onLoad({ filter: /[/\\]src[/\\]cmd[/\\]version\.ts$/ }, () => ({
      contents: `export const VERSION = ${JSON.stringify(version)}`,
      loader: 'ts',
    }))
  },
})

/** @returns `code`, and the paths of all files in it. */
export async function bundle(root, version) {
  const { build } = createRequire(join(root, 'package.json'))('esbuild')
  const { outputFiles, metafile } = await build({
    absWorkingDir: root,
    entryPoints: ['src/cmd/muster.ts'],
    bundle: true,
    write: false,
    metafile: true,
    format: 'cjs',
    platform: 'node',
    target: 'node24',
    external: OUTSIDE,
    legalComments: 'none',
    logLevel: 'warning',
    plugins: [substitutes(version), ...PLUGINS],
  })
  return { code: outputFiles[0].text, files: Object.keys(metafile.inputs) }
}

/** Writes the executable `path`. @param nodeProgram Node for its architecture, of the version that runs this. */
export async function writeExecutable(path, { code, nodeProgram }) {
  const scratch = mkdtempSync(join(tmpdir(), 'muster-executable-'))
  try {
    const [main, config, output] = ['main.cjs', 'sea.json', 'blob'].map((name) => join(scratch, name))
    writeFileSync(main, code)
    writeFileSync(config, JSON.stringify({ main, output, disableExperimentalSEAWarning: true }))
    execFileSync(process.execPath, ['--experimental-sea-config', config], { stdio: ['ignore', 'ignore', 'pipe'] })
    copyFileSync(nodeProgram, path)
    chmodSync(path, 0o755)
    const { inject } = createRequire(import.meta.url)('postject')
    await inject(path, 'NODE_SEA_BLOB', readFileSync(output), { sentinelFuse: FUSE })
  } finally {
    rmSync(scratch, { recursive: true, force: true })
  }
}

/** An archive for each architecture, with the executable, completions and licences; krew.yaml and muster.rb. */
export async function executables({ root, names, version }) {
  const { code, files } = await bundle(root, version)
  const archives = new Map()
  for (const [arch, architecture] of Object.entries(ARCHITECTURES))
    archives.set(archiveOf(version, architecture), await archive({ root, code, files, ...cachedInputs(arch) }))
  const digests = Object.fromEntries(
    Object.values(ARCHITECTURES).map((each) => [each, sha256(archives.get(archiveOf(version, each)))]),
  )
  const described = { names, version, digests }
  return new Map([...archives, ['krew.yaml', krew(described)], ['muster.rb', homebrew(described)]])
}

async function archive({ root, code, files, nodeProgram }) {
  const folder = mkdtempSync(join(tmpdir(), 'muster-archive-'))
  try {
    mkdirSync(join(folder, 'completions'))
    await writeExecutable(join(folder, 'muster'), { code, nodeProgram })
    symlinkSync('muster', join(folder, 'kubectl-muster'))
    for (const [shell, name] of Object.entries(COMPLETIONS))
      writeFileSync(join(folder, 'completions', name), completionOf(root, shell))
    cpSync(join(root, 'LICENSE'), join(folder, 'LICENSE'))
    writeFileSync(join(folder, 'THIRD-PARTY-LICENSES'), licencesOf(packagesOf(files), root))
    return gzipSync(tar(folder, '.'), { level: 9 })
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

const completionOf = (root, shell) =>
  execFileSync(process.execPath, [join(root, 'dist/cmd/muster.js'), 'completion', shell], { encoding: 'utf8' })

const urlOf = ({ names, version }, architecture) =>
  `${names.repository}/releases/download/v${version}/${archiveOf(version, architecture)}`

/** The manifest of a kubectl plug-in. @see krew: `apiVersion: krew.googlecontainertools.github.com/v1alpha2` */
function krew(described) {
  const { names, version, digests } = described
  const platforms = Object.entries(digests).flatMap(([architecture, digest]) => [
    `    - selector: {matchLabels: {os: linux, arch: ${architecture}}}`,
    `      uri: ${urlOf(described, architecture)}`,
    `      sha256: ${digest}`,
    '      bin: kubectl-muster',
  ])
  return `${[
    'apiVersion: krew.googlecontainertools.github.com/v1alpha2',
    'kind: Plugin',
    'metadata:',
    '  name: muster',
    'spec:',
    `  version: v${version}`,
    `  homepage: ${names.docs}`,
    '  shortDescription: Administer a fleet of Muster',
    '  description: |',
    `    ${DESCRIPTION}.`,
    '  platforms:',
    ...platforms,
  ].join('\n')}\n`
}

/** The formula of Homebrew for Linux. */
function homebrew(described) {
  const { names, version, digests } = described
  const choices = [
    ['on_intel', 'amd64'],
    ['on_arm', 'arm64'],
  ].flatMap(([on, architecture]) => [
    `    ${on} do`,
    `      url "${urlOf(described, architecture)}"`,
    `      sha256 "${digests[architecture]}"`,
    '    end',
  ])
  return `${[
    'class Muster < Formula',
    `  desc "${DESCRIPTION}"`,
    `  homepage "${names.docs}"`,
    `  version "${version}"`,
    '  license "Apache-2.0"',
    '',
    '  on_linux do',
    ...choices,
    '  end',
    '',
    '  def install',
    '    bin.install "muster"',
    '    bin.install_symlink "muster" => "kubectl-muster"',
    '    bash_completion.install "completions/muster.bash" => "muster"',
    '    zsh_completion.install "completions/_muster"',
    '    fish_completion.install "completions/muster.fish"',
    '  end',
    '',
    '  test do',
    '    assert_match version.to_s, shell_output("#{bin}/muster --version")',
    '  end',
    'end',
  ].join('\n')}\n`
}
