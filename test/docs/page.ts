/**
 * @module test/docs/page
 * Parses the steps of a Markdown page, in order. The conventions of the pages:
 *
 * - A fence `sh` contains commands, without a prompt. They run in an empty folder (a page of `examples/` in a copy
 * of its folder), block by block, and stop at the first failure. Exported variables and `cd` last for the page, as
 * in one terminal.
 * - The next fence, if it is `text` and no heading comes before it, is the output of the commands (stdout and stderr as
 * they arrive). `…` within a line matches any text in that line; a line of `…` alone matches any lines.
 * - `sh dev` is a command that keeps running. It is started in the background and awaited until it has printed its
 * `text` (or anything, without one). Ctrl-C stops it before the next `sh dev` and at the end of the page, and it must
 * exit with 0.
 * - `sh clone` is for a clone of the repository. It is not run, but each `make x` in it must be a target.
 * - `sh cluster` needs a cluster. It runs only where one exists, as in test/operator/page.apiserver.test.ts.
 * - A fence of another language with a file name after it, such as `js my-automation.js`, is written to that file.
 * - `npm install muster` installs the package that was just built. A page without it finds the package installed. `npx
 * muster` starts it. Both are replaced by scripts (package.ts) that need no network.
 * - Port 8080 is replaced by a free one, in commands and in what they print.
 *
 * hack/verify-docs.mjs rejects every other notation of commands.
 */
export type Step =
  | { readonly kind: 'run' | 'dev'; readonly line: number; readonly script: string; readonly expected?: string }
  | { readonly kind: 'clone'; readonly line: number; readonly script: string }
  | { readonly kind: 'file'; readonly line: number; readonly name: string; readonly content: string }

interface Fence {
  readonly language: string
  readonly how: string
  readonly line: number
  readonly body: string
  readonly afterHeading: boolean
}

const FENCE = /^(?<mark>`{3,}|~{3,})\s*(?<info>[^`]*)$/
const HEADING = /^#{1,6}\s/
const FILE_NAME = /^[\w./-]+\.[a-z]+$/

interface Open {
  readonly mark: string
  readonly info: string
  readonly line: number
  readonly body: string[]
  readonly afterHeading: boolean
}

function fenceOf({ info, line, body, afterHeading }: Open): Fence {
  const [language = '', how = ''] = info.trim().split(/\s+/)
  return { language, how, line, body: body.join('\n'), afterHeading }
}

function fencesOf(markdown: string): Fence[] {
  const fences: Fence[] = []
  let open: Open | undefined
  let afterHeading = false
  for (const [index, text] of markdown.split('\n').entries()) {
    const { mark, info = '' } = FENCE.exec(text)?.groups ?? {}
    if (open === undefined && mark !== undefined) open = { mark, info, line: index + 1, body: [], afterHeading }
    else if (open === undefined) afterHeading ||= HEADING.test(text)
    else if (mark?.startsWith(open.mark) === true && info.trim() === '') {
      fences.push(fenceOf(open))
      open = undefined
      afterHeading = false
    } else open.body.push(text)
  }
  return fences
}

function stepOf(fence: Fence, next: Fence | undefined, hasCluster: boolean): Step | undefined {
  const { language, how, line, body } = fence
  if (language !== 'sh')
    return FILE_NAME.test(how) ? { kind: 'file', line, name: how, content: `${body}\n` } : undefined
  if (how === 'cluster' && !hasCluster) return undefined
  if (how === 'clone') return { kind: 'clone', line, script: body }
  if (how !== '' && how !== 'dev' && how !== 'cluster') throw new TypeError(`line ${line}: "sh ${how}" is not known`)
  const step = { kind: how === 'dev' ? 'dev' : 'run', line, script: body } as const
  const printed = next?.language === 'text' && next.how === '' && !next.afterHeading
  return printed ? { ...step, expected: next.body } : step
}

/** @returns the steps of a page, in order. @param hasCluster includes steps that need a cluster. */
export function stepsOf(markdown: string, hasCluster = false): Step[] {
  const fences = fencesOf(markdown)
  return fences.flatMap((fence, index) => stepOf(fence, fences[index + 1], hasCluster) ?? [])
}

/** Whether a page contains commands. */
export const hasCommands = (steps: readonly Step[]): boolean => steps.some(({ kind }) => kind !== 'file')
