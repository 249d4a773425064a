/**
 * Carries out the Dockerfile of an example without a container engine: each stage is a folder. It knows ARG, FROM,
 * WORKDIR, COPY and RUN, without wildcards, and throws for anything else.
 */
import { execFileSync } from 'node:child_process'
import { cpSync, mkdirSync, readFileSync, statSync } from 'node:fs'
import { basename, join, resolve } from 'node:path'
import { temporaryFolder } from '../kit/temporary-folder.ts'

interface Stage {
  /** The folder that stands for the file system of the image. */
  readonly root: string
  directory: string
}

/** @param base creates the file system and working directory of an image, by its name. */
export function buildImage(context: string, base: (image: string) => Stage): Stage {
  const args = new Map<string, string>()
  const stages = new Map<string, Stage>()
  let stage: Stage | undefined
  const current = (): Stage => {
    if (stage === undefined) throw new Error('the Dockerfile has no FROM')
    return stage
  }
  const begin = (image: string, name = 'last'): Stage => {
    const begun = base(image.replaceAll(/\$\{(\w+)\}/g, (_, arg: string) => args.get(arg) ?? ''))
    stages.set(name, begun)
    return begun
  }
  for (const { instruction, words } of instructionsOf(readFileSync(join(context, 'Dockerfile'), 'utf8'))) {
    if (instruction === 'ARG') args.set(...(words[0]?.split('=') as [string, string]))
    else if (instruction === 'FROM') stage = begin(words[0] ?? '', words[2])
    else if (instruction === 'WORKDIR') enter(current(), words[0] ?? '')
    else if (instruction === 'COPY') copy(current(), words, context, stages)
    else if (instruction === 'RUN') run(current(), words)
    else throw new Error(`${instruction} is not known here`)
  }
  return current()
}

const instructionsOf = (text: string): readonly { readonly instruction: string; readonly words: readonly string[] }[] =>
  text
    .split('\n')
    .filter((line) => line.trim() !== '' && !line.startsWith('#'))
    .map((line) => {
      const [instruction = '', ...words] = line.trim().split(/\s+/)
      return { instruction, words }
    })

function enter(stage: Stage, directory: string): void {
  stage.directory = resolve(stage.directory, directory)
  mkdirSync(join(stage.root, stage.directory), { recursive: true })
}

/** As COPY does: the content of a folder, and a file under its name if the target ends with a slash. */
function copy(stage: Stage, words: readonly string[], context: string, stages: ReadonlyMap<string, Stage>): void {
  const from = words.find((word) => word.startsWith('--from='))?.slice('--from='.length)
  const paths = words.filter((word) => !word.startsWith('--'))
  const source = from === undefined ? context : stages.get(from)?.root
  const target = paths.at(-1)
  if (source === undefined || target === undefined) throw new Error(`COPY ${words.join(' ')}: the source is not known`)
  const folder = join(stage.root, resolve(stage.directory, target))
  for (const path of paths.slice(0, -1)) {
    const isIntoFolder = target.endsWith('/') && statSync(join(source, path)).isFile()
    cpSync(join(source, path), isIntoFolder ? join(folder, basename(path)) : folder, { recursive: true })
  }
}

/** Runs a command on this machine, without a network. */
function run(stage: Stage, words: readonly string[]): void {
  execFileSync(words[0] ?? '', words.slice(1), {
    cwd: join(stage.root, stage.directory),
    env: { PATH: process.env['PATH'], HOME: stage.root, NPM_CONFIG_OFFLINE: 'true', NPM_CONFIG_AUDIT: 'false' },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
}

export const emptyImage = (): Stage => ({ root: temporaryFolder(), directory: '/' })
