/**
 * Creates the report of a run: medians with their range, ratios within the rounds, and gates; as text during the run,
 * as Markdown at the end.
 */

export function median(numbers) {
  const sorted = numbers.toSorted((a, b) => a - b)
  const middle = sorted.length >> 1
  return sorted.length % 2 === 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2
}

/** At most four significant digits, with separated thousands. */
export function format(number) {
  if (!Number.isFinite(number)) return '–'
  if (Math.abs(number) >= 1_000) return Math.round(number).toLocaleString('en')
  return `${Number(number.toPrecision(3))}`
}

/** Median of the ratios within each round: both values were measured within moments, so a slow minute affects both. */
export function ratioOf(figures, others, field = 'value') {
  const rounds = Math.min(figures.length, others.length)
  return median(Array.from({ length: rounds }, (_, i) => figures[i][field] / others[i][field]))
}

const isOurs = (subject) => subject.startsWith('Muster')
const isLimit = (subject) => subject.startsWith('limit:')

function bestPeerOf({ row, figures }) {
  const peers = Object.keys(figures).filter((name) => !isOurs(name) && !isLimit(name))
  const sign = row.better === 'lower' ? 1 : -1
  return peers.toSorted((a, b) => sign * (medianOf(figures[a]) - medianOf(figures[b])))[0]
}
const medianOf = (figures, field = 'value') => median(figures.map((each) => each[field]))

/** @returns `{ text, met }`; met is null if a subject of the gate is not available. */
export function judge({ figures, skipped }, gate) {
  const { subject, over, field = 'value', atLeast, atMost } = gate
  const bound = atLeast === undefined ? `≤ ${atMost}` : `≥ ${atLeast}`
  const what = over === undefined ? field : `${field === 'value' ? '' : `${field} `}× ${over}`
  const names = over === undefined ? [subject] : [subject, over]
  if (names.some((name) => figures[name] === undefined)) {
    return {
      text: `${what} ${bound}: not measured`,
      met: names.some((name) => skipped[name] !== undefined) ? null : false,
    }
  }
  const found = over === undefined ? medianOf(figures[subject], field) : ratioOf(figures[subject], figures[over], field)
  const met = atLeast === undefined ? found <= atMost : found >= atLeast
  return {
    text: over === undefined ? `${what} ${format(found)} (${bound})` : `${format(found)} ${what} (${bound})`,
    met,
  }
}

function verdictOf({ text, met }) {
  if (met === null) return `skipped: ${text}`
  return met ? `met: ${text}` : `MISSED: ${text}`
}

/** The report of one row: its lines and its gates. */
export function summaryOf(result) {
  const { row, figures, skipped, failed } = result
  const best = bestPeerOf(result)
  const limit = Object.keys(figures).find(isLimit)
  const lines = Object.keys(row.subjects).map((subject) => {
    const own = figures[subject]
    if (own === undefined)
      return {
        subject,
        missing: skipped[subject] === undefined ? `failed: ${failed[subject]}` : `skipped: ${skipped[subject]}`,
      }
    const values = own.map(({ value }) => value)
    const share = limit === undefined || !isOurs(subject) ? undefined : ratioOf(own, figures[limit])
    return {
      subject,
      rounds: values.length,
      median: median(values),
      min: Math.min(...values),
      max: Math.max(...values),
      costs: costsOf(own),
      ratio: best === undefined || !isOurs(subject) ? undefined : ratioOf(own, figures[best]),
      share: row.better === 'lower' && share !== undefined ? 1 / share : share,
    }
  })
  return {
    row,
    best,
    lines,
    gates: (row.gates ?? []).map((gate) => ({ ...judge(result, gate), subject: gate.subject })),
  }
}

export const COSTS = {
  redisCpuUs: 'Redis CPU µs',
  innerCalls: 'inner calls',
  nodeCpuUs: 'Node CPU µs',
  serviceCpuUs: 'of the master',
  p50: 'p50 ms',
  p99: 'p99 ms',
  max: 'max ms',
  drought: 'drought ms',
}

/** Fields of which the largest of all rounds is reported, and not the median. */
const LARGEST = new Set(['max', 'drought'])

function costsOf(own) {
  const known = Object.keys(COSTS).filter((field) => own.every((each) => Number.isFinite(each[field])))
  return Object.fromEntries(
    known.map((field) => [
      field,
      LARGEST.has(field) ? Math.max(...own.map((each) => each[field])) : medianOf(own, field),
    ]),
  )
}

export const isSound = ({ lines, gates }) =>
  gates.every(({ met }) => met !== false) && lines.every(({ missing }) => missing?.startsWith('failed') !== true)

const HEAD = ['operation', 'subject', 'median', 'range', '× best other', 'of limit', 'aim', 'gate']

/** The cells of the table, one row per subject. The gates of the operation are in its first line. */
export function tableOf(summaries) {
  return [
    HEAD,
    ...summaries.flatMap(({ row, lines, gates }) =>
      lines.map((line, i) => [
        i === 0 ? `${row.title} (${row.unit})` : '',
        line.subject,
        ...(line.missing === undefined
          ? [format(line.median), `${format(line.min)} to ${format(line.max)}`]
          : [line.missing, '']),
        line.ratio === undefined ? '' : format(line.ratio),
        line.share === undefined ? '' : `${Math.round(line.share * 100)} %`,
        i === 0 && row.aim !== undefined ? `${row.better === 'lower' ? '≤' : '≥'} ${format(row.aim)}` : '',
        gates
          .filter(({ subject }) => subject === line.subject)
          .map(verdictOf)
          .join('; '),
      ]),
    ),
  ]
}

/** The cells for costs per item, for the subjects and the costs that were measured. */
export function costTableOf(summaries) {
  const measured = summaries.flatMap(({ row, lines }) =>
    lines
      .filter(({ costs }) => Object.keys(costs ?? {}).length > 0)
      .map(({ subject, costs }, i) => ({ operation: i === 0 ? row.title : '', subject, costs })),
  )
  const fields = Object.keys(COSTS).filter((field) => measured.some(({ costs }) => costs[field] !== undefined))
  return [
    ['operation', 'subject', ...fields.map((field) => COSTS[field])],
    ...measured.map(({ operation, subject, costs }) => [
      operation,
      subject,
      ...fields.map((field) => (costs[field] === undefined ? '' : format(costs[field]))),
    ]),
  ]
}

export function alignedText(table) {
  const widths = table[0].map((_, column) => Math.max(...table.map((cells) => cells[column].length)))
  return table
    .map((cells) =>
      cells
        .map((cell, column) => cell.padEnd(widths[column]))
        .join('  ')
        .trimEnd(),
    )
    .join('\n')
}

const escaped = (cell) => cell.replaceAll('|', '\\|')
export function markdown([head, ...body]) {
  const line = (cells) => `| ${cells.map(escaped).join(' | ')} |`
  return [line(head), `|${'---|'.repeat(head.length)}`, ...body.map(line)].join('\n')
}

const LEVELS = {
  storage: 'Storage level: called in process, as a library is',
  service: 'Service level: through REST, rpc and the control channel',
}

function conditionOf({ row, measured: { date, commit, rounds, calmness } }) {
  const own = Math.min(rounds, row.rounds ?? rounds)
  return `- **${row.title}**: ${row.note}. Measured ${date} (${commit}) in ${own} rounds; ${calmness}.`
}

/**
 * The page of all rows, each as it was measured last.
 * @param summaries With `measured`: `{ date, commit, rounds, calmness }`.
 * @param notes Handwritten Markdown.
 */
export function pageOf({ machine, summaries, notes }) {
  const sections = Object.entries(LEVELS)
    .filter(([level]) => summaries.some(({ row }) => row.level === level))
    .flatMap(([level, title]) => {
      const own = summaries.filter(({ row }) => row.level === level)
      return [
        `## ${title}`,
        markdown(tableOf(own)),
        '### Costs per item',
        markdown(costTableOf(own)),
        '### Conditions',
        own.map(conditionOf).join('\n'),
      ]
    })
  const paragraphs = [
    '# Measured',
    'Written by `make bench`, each row as it was measured last. The notes at the end are those of ' +
      '[NOTES.md](NOTES.md), which is written by hand.',
    machine.map((each) => `- ${each}`).join('\n'),
    ...sections,
    notes.trim(),
  ]
  return `${paragraphs.join('\n\n')}\n`
}
