// CHANGELOG.md and RELEASE_NOTES.md, from the trailers of the commits: `Category:` says where a change stands, and
// `Changelog:` is the sentence for users, in place of the subject. `Breaking:` says what users have to do, `Security:`
// names an advisory. Commits of category `none` are left out.
import { execFileSync } from 'node:child_process'

const HEADINGS = { addition: 'Added', change: 'Changed', fix: 'Fixed', removal: 'Removed' }
/** Categories of commits that are older than the list of verify-commits.mjs. */
const OLDER = { feature: 'addition', performance: 'change' }
const TRAILERS = ['Category', 'Changelog', 'Breaking', 'Security']
const FORMAT = ['%s', ...TRAILERS.map((key) => `%(trailers:key=${key},valueonly,unfold,separator=%x20)`)].join('%x00')

const git = (folder, ...args) => execFileSync('git', ['-C', folder, ...args], { encoding: 'utf8', maxBuffer: 2 ** 28 })

/** @returns the changes of a range, newest first: heading, sentence, breaking, security. */
export function changesOf(folder, range) {
  const log = git(folder, 'log', '--no-merges', `--format=${FORMAT}%x01`, range)
  return log
    .split('\x01')
    .map((each) => each.trim().split('\0'))
    .filter((each) => each.length === TRAILERS.length + 1)
    .map(([subject, ...trailers]) => [subject, ...trailers.map((each) => each.trim())])
    .map(([subject, category, forUsers, breaking, security]) => ({
      heading: HEADINGS[OLDER[category] ?? category],
      sentence: forUsers || subject,
      breaking,
      security,
    }))
    .filter(({ heading, breaking, security }) => heading !== undefined || breaking !== '' || security !== '')
}

const list = (heading, lines) =>
  lines.length === 0 ? [] : [`### ${heading}\n\n${lines.map((each) => `- ${each}\n`).join('')}`]

/** Sections of one version, in the order of Keep a Changelog. */
export function sections(changes) {
  const under = (heading) => changes.filter((each) => each.heading === heading).map(({ sentence }) => sentence)
  const values = (key) => changes.map((each) => each[key]).filter((each) => each !== '')
  return [
    ...list('Breaking', values('breaking')),
    ...list('Security', values('security')),
    ...Object.values(HEADINGS).flatMap((heading) => list(heading, under(heading))),
  ].join('\n')
}

/** Tags of releases that `commit` contains, oldest first, as version and date. */
function releases(folder, commit) {
  const format = '%(refname:strip=2) %(creatordate:short)'
  const lines = git(folder, 'tag', '--merged', commit, '--list', 'v*', '--sort=v:refname', `--format=${format}`)
  return lines
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => line.split(' '))
    .map(([tag, date]) => ({ tag, date }))
}

/** @param date Of the commit, as YYYY-MM-DD. */
export function changelog({ git: folder, commit, version, date }) {
  const before = releases(folder, commit).filter(({ tag }) => tag !== `v${version}`)
  const points = [...before, { tag: `v${version}`, date, at: commit }]
  const parts = points.map(({ tag, date: day, at = tag }, index) => {
    const range = index === 0 ? at : `${points[index - 1].tag}..${at}`
    return { title: `## ${tag.slice(1)} - ${day}`, body: sections(changesOf(folder, range)) }
  })
  const head = '# Changelog\n\nWritten from the commits by `make release`; the newest version stands first.\n'
  const all = parts.toReversed().map(({ title, body }) => `${title}\n\n${body}`)
  return new Map([
    ['CHANGELOG.md', [head, ...all].join('\n')],
    ['RELEASE_NOTES.md', `# Muster ${version}\n\n${parts.at(-1).body}`],
  ])
}
