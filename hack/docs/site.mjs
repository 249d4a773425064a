#!/usr/bin/env node
// Turns the pages of this repository into the content of the documentation site (docs/site).
// Usage: node hack/docs/site.mjs    (make docs)    Writes docs/site/.generated, which `astro build` reads.
//
// A page stays where it belongs, beside its code, and is the only source. Its first heading becomes the title, its
// first sentence the description. A link to a page of SECTIONS leads to that page on the site; a link to anything else
// of the repository leads to the file at the tag of this version. What test/docs needs after the language of a fence
// is removed, except for the name of a file, which becomes the title of the block.
import { copyFileSync, mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { dirname, join, normalize } from 'node:path'
import { fileURLToPath } from 'node:url'
import { openApi } from '../release/openapi.mjs'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))
const SITE = join(ROOT, 'docs/site')
const TARGET = join(SITE, '.generated')

/** The order of the site: for each section its pages, each with its route and the label in the sidebar. */
export const SECTIONS = [
  {
    label: 'Start',
    pages: [
      { source: 'README.md', route: '', label: 'What Muster is' },
      { source: 'docs/tutorial.md', route: 'tutorial', label: 'Tutorial' },
      { source: 'docs/how-to.md', route: 'how-to', label: 'How to' },
      { source: 'docs/glossary.md', route: 'glossary', label: 'Glossary' },
      { source: 'docs/comparison.md', route: 'comparison', label: 'Comparison' },
    ],
  },
  {
    label: 'Guides',
    pages: [
      { source: 'examples/README.md', route: 'guides/examples', label: 'Examples' },
      { source: 'src/automation/README.md', route: 'guides/automation', label: 'Writing an automation' },
      { source: 'src/client/README.md', route: 'guides/client', label: 'Submitting from TypeScript' },
      { source: 'clients/python/README.md', route: 'guides/python', label: 'Workers in Python' },
      { source: 'src/worker-test/README.md', route: 'guides/any-language', label: 'Workers in any language' },
      { source: 'src/master/README.md', route: 'guides/master', label: 'Running a master' },
      { source: 'src/storage/README.md', route: 'guides/storage', label: 'Storage and backup' },
      { source: 'charts/muster/README.md', route: 'guides/kubernetes', label: 'Muster on Kubernetes' },
      { source: 'docs/sizing.md', route: 'guides/sizing', label: 'Sizing' },
      { source: 'src/dashboard/README.md', route: 'guides/dashboard', label: 'The dashboard' },
    ],
  },
  {
    label: 'Examples',
    pages: [
      { source: 'examples/producers/README.md', route: 'examples/producers', label: 'Producers in three languages' },
      { source: 'examples/worker-python/README.md', route: 'examples/worker-python', label: 'A worker in Python' },
      { source: 'examples/accounts/README.md', route: 'examples/accounts', label: 'A pool of accounts' },
      { source: 'examples/scheduled/README.md', route: 'examples/scheduled', label: 'Scheduled tasks' },
      { source: 'examples/own-image/README.md', route: 'examples/own-image', label: 'Your own image' },
      { source: 'examples/grafana/README.md', route: 'examples/grafana', label: 'Metrics in Grafana' },
      { source: 'examples/gitops/README.md', route: 'examples/gitops', label: 'A fleet in Git' },
      { source: 'examples/keda/README.md', route: 'examples/keda', label: 'Workers that KEDA scales' },
    ],
  },
  {
    label: 'Reference',
    pages: [
      { source: 'src/cmd/README.md', route: 'reference/commands', label: 'Commands and settings' },
      { source: 'src/operator/README.md', route: 'reference/operator', label: 'FleetWorker and FleetWorkerSet' },
      { source: 'src/protocol/README.md', route: 'reference/protocol', label: 'Protocol' },
      { source: 'src/automations/README.md', route: 'reference/automations', label: 'First-party automations' },
      { source: 'src/worker/README.md', route: 'reference/worker', label: 'The worker' },
    ],
  },
  {
    label: 'Why it can be trusted',
    pages: [
      { source: 'test/controls/README.md', route: 'trust/controls', label: 'Safeguards and their controls' },
      { source: 'test/reliability/RESULTS.md', route: 'trust/results', label: 'Results of long runs' },
      { source: 'test/durability/README.md', route: 'trust/durability', label: 'Power cuts' },
      { source: 'test/consistency/README.md', route: 'trust/consistency', label: 'Consistency' },
      { source: 'test/simulation/README.md', route: 'trust/simulation', label: 'Simulation' },
      { source: 'test/bench/RESULTS.md', route: 'trust/bench', label: 'Measured' },
      { source: 'test/bench/operator/RESULTS.md', route: 'trust/bench-operator', label: 'The operator, measured' },
    ],
  },
  {
    label: 'The project',
    pages: [
      { source: 'CONTRIBUTING.md', route: 'project/contributing', label: 'Contributing' },
      { source: 'SECURITY.md', route: 'project/security', label: 'Security' },
      { source: 'docs/support.md', route: 'project/support', label: 'Versions and support' },
      { source: 'src/protocol/decisions.md', route: 'project/decisions', label: 'Decisions' },
      { source: 'hack/release/README.md', route: 'project/releases', label: 'Building a release' },
    ],
  },
]

const PAGES = SECTIONS.flatMap(({ pages }) => pages)
const ROUTES = new Map(PAGES.map(({ source, route }) => [source, route]))
const FENCE = /^(?<indent> *)(?<mark>`{3,}|~{3,})(?<language>[\w-]*) *(?<rest>.*)$/
const LINK = /(?<code>`[^`]*`)|(?<before>\]\(|^\[[^\]]+\]: )(?<target>[^)\s]+)/g
const COMMENT = /^<!--.*-->$/
const DESCRIPTION_LENGTH = 200

/**
 * @param source path of a page in the repository.
 * @param target what a link of that page says.
 * @param at release.json's `repository`, and the tag of this version.
 * @returns the target on the site.
 */
export function linkOf(source, target, { repository, tag }) {
  if (/^(?:[a-z][a-z0-9+.-]*:|#|\/\/)/i.test(target)) return target
  const [path, anchor] = target.split('#')
  const to = normalize(join(dirname(source), path)).replace(/\/$/, '')
  const page = [to, join(to, 'README.md')].find((each) => ROUTES.has(each))
  const end = anchor === undefined ? '' : `#${anchor}`
  if (page !== undefined) return `/${ROUTES.get(page)}${ROUTES.get(page) === '' ? '' : '/'}${end}`
  const kind = statSync(join(ROOT, to)).isDirectory() ? 'tree' : 'blob'
  return `${repository}/${kind}/${tag}/${to}${end}`
}

const plain = (markdown) => markdown.replaceAll(/\[(?<text>[^\]]*)\]\([^)]*\)/g, '$<text>').replaceAll(/[*`]/g, '')

const escaped = (text) => text.replaceAll('&', '&amp;').replaceAll('"', '&quot;').replaceAll('<', '&lt;')

/** The first paragraph of prose, without Markdown, cut after a sentence. */
function descriptionOf(body) {
  const first = body.split(/\n\n+/).find((each) => /^[A-Z`*[]/.test(each)) ?? ''
  const text = plain(first.replaceAll('\n', ' '))
  const [sentence = ''] = /^.+?[.:](?= |$)/.exec(text) ?? []
  return sentence.length > 0 && sentence.length <= DESCRIPTION_LENGTH ? sentence.replace(/:$/, '.') : ''
}

/** Replaces the targets of the links of a line; what is in backquotes is code. */
const withLinks = (line, linked) =>
  line.replaceAll(LINK, (all, code, before, target) => (code === undefined ? before + linked(target) : all))

/** Puts each table into a region that scrolls, and that the keyboard reaches, under the name of its section. */
function withRegions(lines) {
  let section = 'Table'
  let isOpen = false
  return lines.flatMap((line, index) => {
    const isRow = line.startsWith('|')
    if (!isOpen && /^#+ /.test(line)) section = plain(line.replace(/^#+ /, ''))
    const isFirst = isRow && !isOpen && /^\|[\s:|-]+$/.test(lines[index + 1] ?? '')
    const isAfter = isOpen && !isRow
    isOpen = isFirst || (isOpen && isRow)
    if (isFirst) return [`<div class="wide" role="region" tabindex="0" aria-label="${escaped(section)}">`, '', line]
    return isAfter ? ['', '</div>', line] : [line]
  })
}

/** The line that opens a fence, as the site needs it. */
function fenceLine({ indent, mark, language, rest }) {
  const file = /^[\w./-]+\.\w+$/.test(rest) ? ` title="${rest}"` : ''
  return `${indent}${mark}${language}${file}`
}

/** @returns the page with the frontmatter of Starlight, and with the links of the site. */
export function pageOf({ source, label }, text, at) {
  const lines = text.split('\n')
  const title = lines.find((line) => line.startsWith('# '))
  if (title === undefined) throw new Error(`${source}: a page of the site begins with a heading, "# …"`)
  let open
  const body = lines.flatMap((line) => {
    const fence = FENCE.exec(line)?.groups
    if (open !== undefined) {
      if (fence?.mark.startsWith(open) && fence.language === '' && fence.rest === '') open = undefined
      return [line]
    }
    if (fence !== undefined) {
      open = fence.mark
      return [fenceLine(fence)]
    }
    if (line === title || COMMENT.test(line)) return []
    return [withLinks(line, (target) => linkOf(source, target, at))]
  })
  const content = withRegions(body).join('\n').trim()
  const head = {
    title: plain(title.slice(2)),
    description: descriptionOf(content),
    editUrl: `${at.repository}/edit/main/${source}`,
    sidebar: { label },
  }
  return `---\n${JSON.stringify(head, null, 2)}\n---\n\n${content}\n`
}

async function main() {
  const { repository } = JSON.parse(readFileSync(join(ROOT, 'release.json'), 'utf8'))
  const { version } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'))
  const at = { repository, tag: `v${version}` }
  rmSync(TARGET, { recursive: true, force: true })
  for (const page of PAGES) {
    const file = join(TARGET, 'content/docs', `${page.route || 'index'}.md`)
    mkdirSync(dirname(file), { recursive: true })
    writeFileSync(file, pageOf(page, readFileSync(join(ROOT, page.source), 'utf8'), at))
  }
  const sidebar = SECTIONS.map(({ label, pages }) => ({ label, items: pages.map(({ route }) => route || 'index') }))
  copyFileSync(join(SITE, 'content.config.ts'), join(TARGET, 'content.config.ts'))
  writeFileSync(join(TARGET, 'sidebar.json'), `${JSON.stringify(sidebar, null, 2)}\n`)
  for (const [name, text] of await openApi({ version })) writeFileSync(join(TARGET, name), text)
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await main()
