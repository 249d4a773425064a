/**
 * @module master/metrics/exposition
 * A gauge family in the Prometheus text format. The fleet's gauges are written straight from a snapshot instead of
 * being kept in a registry: a worker that was forgotten leaves no series behind, and ten thousand workers cost
 * milliseconds, not a stalled event loop.
 *
 * @see https://prometheus.io/docs/instrumenting/exposition_formats/
 */
export interface Sample {
  readonly labels: Readonly<Record<string, string>>
  readonly value: number
}

/** The lines of one family; only its head when there are no samples. */
export function gauge(name: string, help: string, samples: Iterable<Sample>): string {
  const lines = [`# HELP ${name} ${help}`, `# TYPE ${name} gauge`]
  for (const { labels, value } of samples) lines.push(`${name}${labelText(labels)} ${value}`)
  return `${lines.join('\n')}\n`
}

function labelText(labels: Sample['labels']): string {
  const pairs = Object.entries(labels).map(([name, value]) => `${name}="${escaped(value)}"`)
  return pairs.length === 0 ? '' : `{${pairs.join(',')}}`
}

const SPECIAL = /[\\"\n]/g
const escaped = (value: string): string => value.replaceAll(SPECIAL, (each) => (each === '\n' ? '\\n' : `\\${each}`))
