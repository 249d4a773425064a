/**
 * @module master/metrics/exposition
 * Renders a gauge family in the Prometheus text format. The gauges of the fleet are written from a snapshot and not
 * kept in a registry. So a deleted worker leaves no series, and ten thousand workers cost milliseconds instead of
 * blocking the event loop.
 *
 * @see https://prometheus.io/docs/instrumenting/exposition_formats/
 */
export interface Sample {
  readonly labels: Readonly<Record<string, string>>
  readonly value: number
}

/** Renders the lines of one family; only its header if there are no samples. */
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
