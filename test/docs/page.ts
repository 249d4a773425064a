/**
 * @module test/docs/page
 * What a Markdown page asks its reader to do, in order. The conventions of our pages:
 *
 * - A fence `sh` holds commands, without prompt. They run in an empty folder, block after block, each stopping at
 *   its first failure; variables that are exported and `cd` last for the page, as in one terminal.
 * - The next fence, when it is `text` and no heading stands between, is what the commands print (stdout and stderr
 *   as they come). `…` within a line stands for anything in that line, a line of nothing but `…` for any lines.
 * - `sh dev` is a command that keeps running: started beside the others, awaited until it has printed its `text`
 *   (or anything, where it has none), stopped by Ctrl-C before the next `sh dev` and at the end of the page, and
 *   expected to exit 0 then.
 * - `sh clone` is for a reader with a clone of the repository: not run, but each `make x` in it must be a target.
 * - `sh cluster` needs a cluster: a step only where there is one, as in test/operator/page.apiserver.test.ts.
 * - A fence of another language with a file name behind it, such as `js my-automation.js`, is written to that file.
 * - `npm install muster` installs the package just built; a page that never says so finds it installed. `npx muster`
 *   starts it. Both by stand-ins (package.ts), which need no network.
 * - Port 8080 is replaced by a free one, in commands and in what they print.
 *
 * hack/verify-docs.mjs refuses every other way to write down a command.
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

/** The steps of a page, in its order. `hasCluster`: those too that need one. */
export function stepsOf(markdown: string, hasCluster = false): Step[] {
  const fences = fencesOf(markdown)
  return fences.flatMap((fence, index) => stepOf(fence, fences[index + 1], hasCluster) ?? [])
}

/** Whether a page holds commands at all. */
export const hasCommands = (steps: readonly Step[]): boolean => steps.some(({ kind }) => kind !== 'file')
