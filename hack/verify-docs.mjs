#!/usr/bin/env node
// Fails when a Markdown page has a dead relative link, or a command that no test runs.
// Usage: node hack/verify-docs.mjs [ROOT]    Exit: 0 clean, 1 violations, one per line.
//
// Commands stand in fences of the language `sh`, which test/docs.test.ts runs. What may follow `sh` is in HOW,
// explained at the head of test/docs/page.ts. A fence in another shell's name, or a prompt in a fence, would be
// a command that no test runs.
import { existsSync, globSync, readFileSync, statSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

process.chdir(process.argv[2] ?? fileURLToPath(new URL('..', import.meta.url)))

const SKIP = /(?:^|\/)(?:node_modules|dist|coverage|\.[^/]+)(?:\/|$)/
const OTHER_SHELLS = new Set([
  'bash',
  'shell',
  'console',
  'shellsession',
  'zsh',
  'fish',
  'terminal',
  'powershell',
  'cmd',
  'bat',
])
const HOW = new Set(['', 'dev', 'clone', 'cluster'])
const FENCE = /^ {0,3}(?<mark>`{3,}|~{3,})\s*(?<info>[^`]*)$/
const LINK = /\]\(\s*<?(?<target>[^)\s>]+)>?(?:\s+"[^"]*")?\s*\)|^\s*\[[^\]]+\]:\s*(?<ref>\S+)/g
const EXTERNAL = /^(?:[a-z][a-z0-9+.-]*:|\/\/)/i

/** GitHub's anchor of a heading. */
const slugOf = (heading) =>
  heading
    .trim()
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}\s_-]/gu, '')
    .replaceAll(/\s/g, '-')

/** Splits a page into its prose lines and its fences, both with line numbers from 1. */
function parse(text) {
  const prose = []
  const fences = []
  let open
  for (const [index, line] of text.split('\n').entries()) {
    const { mark, info } = FENCE.exec(line)?.groups ?? {}
    if (open === undefined && mark !== undefined) open = { mark, info: info.trim(), line: index + 1, body: [] }
    else if (open === undefined) prose.push({ line: index + 1, text: line })
    else if (mark?.startsWith(open.mark) && info.trim() === '') {
      fences.push(open)
      open = undefined
    } else open.body.push(line)
  }
  return { prose, fences: open === undefined ? fences : [...fences, { ...open, unclosed: true }] }
}

function anchorsOf(page) {
  const seen = new Map()
  return new Set(
    parse(readFileSync(page, 'utf8')).prose.flatMap(({ text }) => {
      const heading = /^#{1,6}\s+(.+?)\s*#*$/.exec(text)?.[1]
      const named = [...text.matchAll(/<a (?:id|name)="([^"]+)"/g)].map((match) => match[1])
      if (heading === undefined) return named
      const slug = slugOf(heading)
      const times = seen.get(slug) ?? 0
      seen.set(slug, times + 1)
      return [...named, times === 0 ? slug : `${slug}-${times}`]
    }),
  )
}

function linkFault(page, target) {
  if (EXTERNAL.test(target)) return undefined
  const [path, anchor] = decodeURIComponent(target).split('#', 2)
  if (path.startsWith('/')) return 'is not relative'
  const file = path === '' ? page : join(dirname(page), path)
  if (file.startsWith('..')) return 'leads out of the repository'
  if (!existsSync(file)) return 'leads nowhere'
  if (anchor === undefined || statSync(file).isDirectory() || !file.endsWith('.md')) return undefined
  return anchorsOf(file).has(anchor) ? undefined : `has no heading for #${anchor}`
}

function fenceFault({ info, body, unclosed }) {
  const [language = '', how = ''] = info.split(/\s+/)
  if (unclosed) return 'the fence is never closed'
  if (OTHER_SHELLS.has(language)) return `the fence is ${language}; a command stands in sh, so that a test runs it`
  if (language === 'sh' && body.some((line) => /\s--reuse-values\b/.test(line)))
    return 'use --reset-then-reuse-values: --reuse-values fails when the chart has a new key'
  if (language === 'sh' && !HOW.has(how))
    return `"sh ${how}" is not known; known: sh, ${[...HOW]
      .filter(Boolean)
      .map((word) => `sh ${word}`)
      .join(', ')}`
  if (body.some((line) => /^[$>] \S/.test(line)) && ['', 'sh', 'text'].includes(language))
    return 'a prompt in a fence; a command stands in sh without it, its output in text'
  return undefined
}

function faultsOf(page) {
  const { prose, fences } = parse(readFileSync(page, 'utf8'))
  const links = prose.flatMap(({ line, text }) =>
    [...text.replaceAll(/`[^`]*`/g, '').matchAll(LINK)].flatMap(({ groups }) => {
      const target = groups.target ?? groups.ref
      const why = linkFault(page, target)
      return why === undefined ? [] : [`${page}:${line}: '${target}' ${why}`]
    }),
  )
  const commands = fences.flatMap((fence) => {
    const why = fenceFault(fence)
    return why === undefined ? [] : [`${page}:${fence.line}: ${why}`]
  })
  return [...links, ...commands]
}

// Never enters .tools, where a cluster may make and remove files meanwhile.
const pages = globSync('**/*.md', { exclude: (name) => SKIP.test(name) })
const faults = pages.toSorted().flatMap(faultsOf)
for (const line of faults) console.error(line)
process.exitCode = faults.length === 0 ? 0 : 1
