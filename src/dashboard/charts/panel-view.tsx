/** @module dashboard/charts/panel-view  Shows one panel: its chart, and its figures as a table and a CSV file. */
import './charts.css'
import type { ReactNode } from 'react'
import { Download } from '../components/download.tsx'
import { momentText } from '../components/moments.ts'
import { Chart, type ChartProps } from './chart.tsx'
import type { Panel } from './columns.ts'
import { csvOf, figuresOf, figureText, type Figures } from './figures.ts'
import { SERIES } from './palette.ts'

interface PanelProps extends ChartProps {
  /** The first part of the name of the CSV file. */
  readonly file: string
  /** Where the name of the panel leads. */
  readonly href?: string
}

export function PanelView({ file, href, ...chart }: PanelProps) {
  const { ts, panel } = chart
  const [first] = panel.series
  const now = first === undefined || panel.series.length > 1 ? '' : figureText(first.values.at(-1) ?? null, panel.unit)
  const name = <bdi>{panel.name}</bdi>
  return (
    <figure className="panel">
      <figcaption>
        {href === undefined ? name : <a href={href}>{name}</a>} {now !== '' && <strong>{now}</strong>}
        {panel.series.length > 1 && <Legend panel={panel} />}
      </figcaption>
      <Chart {...chart} />
      <details className="twin">
        <summary>
          Figures<span className="hidden"> of {panel.name}</span>
        </summary>
        <FigureTable panel={panel} />
        <ShowData ts={ts} panel={panel} />
        <Download name={`${file}-${panel.name}.csv`} media="text/csv" make={() => csvOf(ts, panel)}>
          Save as CSV
        </Download>
      </details>
    </figure>
  )
}

/** Legend with the newest value of each series. */
function Legend({ panel: { series, unit } }: { readonly panel: Panel }) {
  return (
    <span className="keys-of">
      {series.map(({ label, values }, index) => (
        <span key={label} className={`key key-${index % SERIES}`}>
          <bdi>{label}</bdi> <strong>{figureText(values.at(-1) ?? null, unit)}</strong>
        </span>
      ))}
    </span>
  )
}

const COLUMNS: readonly (readonly [name: string, of: keyof Figures])[] = [
  ['min', 'min'],
  ['median', 'median'],
  ['max', 'max'],
  ['now', 'now'],
]

function FigureTable({ panel }: { readonly panel: Panel }) {
  return (
    <table aria-label={`Figures of ${panel.name}`}>
      <thead>
        <tr>
          <th scope="col">Series</th>
          {COLUMNS.map(([name]) => (
            <th key={name} scope="col" className="number">
              {name}
            </th>
          ))}
        </tr>
      </thead>
      <tbody>
        {panel.series.map((series) => {
          const figures = figuresOf(series)
          return (
            <tr key={series.label}>
              <th scope="row">
                <bdi>{series.label}</bdi>
              </th>
              {COLUMNS.map(([name, of]) => (
                <td key={name} className="number">
                  {figures === null ? '–' : figureText(figures[of], panel.unit)}
                </td>
              ))}
            </tr>
          )
        })}
      </tbody>
    </table>
  )
}

const SHOWN_ROWS = 20

/** Table of the newest values. The CSV file contains all of them. */
function ShowData({ ts, panel }: { readonly ts: readonly number[]; readonly panel: Panel }): ReactNode {
  const first = Math.max(0, ts.length - SHOWN_ROWS)
  return (
    <details>
      <summary>Show data</summary>
      <table aria-label={`Newest values of ${panel.name}`}>
        <thead>
          <tr>
            <th scope="col">Time</th>
            {panel.series.map(({ label }) => (
              <th key={label} scope="col" className="number">
                <bdi>{label}</bdi>
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {ts
            .slice(first)
            .map((at, index) => (
              <tr key={at}>
                <th scope="row">{momentText(at)}</th>
                {panel.series.map(({ label, values }) => (
                  <td key={label} className="number">
                    {figureText(values[first + index] ?? null, panel.unit)}
                  </td>
                ))}
              </tr>
            ))
            .toReversed()}
        </tbody>
      </table>
    </details>
  )
}
