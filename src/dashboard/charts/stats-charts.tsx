/** @module dashboard/charts/stats-charts  Shows the statistics of a worker: one chart per panel with its figures. */
import './charts.css'
import { useMemo, type ReactNode } from 'react'
import type { HistoryBody, WorkerBody } from '../../protocol/index.ts'
import { Download } from '../components/download.tsx'
import { EmptyState } from '../components/empty-state.tsx'
import { clockText, momentText } from '../components/moments.ts'
import { ReadState } from '../components/read-state.tsx'
import { Chart, type Marker } from './chart.tsx'
import type { Panel, StatsColumns } from './columns.ts'
import { csvOf, figuresOf, figureText, type Figures } from './figures.ts'
import { SERIES, usePalette, type Palette } from './palette.ts'
import { useStats } from './use-stats.ts'

export function StatsCharts({ worker, history }: { readonly worker: WorkerBody; readonly history: HistoryBody }) {
  const read = useStats(worker)
  const palette = usePalette()
  const markers = useMemo(() => markersOf(worker, history), [worker, history])
  const { data } = read
  return (
    <section aria-label="Statistics" className="stats">
      <h2>Statistics{data?.ts[0] !== undefined && <span className="count">from {clockText(data.ts[0])}</span>}</h2>
      <ReadState read={read} />
      {data !== undefined &&
        (data.ts.length === 0 ? (
          <EmptyState kind="nothing" title="No statistics yet">
            <p>A worker sends statistics every 15 seconds; the master keeps the last hour.</p>
          </EmptyState>
        ) : (
          <div className={read.problem === undefined ? 'panels' : 'panels stale'}>
            {data.panels.map((panel) => (
              <PanelView
                key={panel.name}
                data={data}
                panel={panel}
                markers={markers}
                palette={palette}
                worker={worker}
              />
            ))}
          </div>
        ))}
    </section>
  )
}

function markersOf({ registered_at }: WorkerBody, history: HistoryBody): readonly Marker[] {
  return [
    { at: registered_at, text: 'registered' },
    ...history.map(({ ts, config_gen }) => ({ at: ts, text: `gen ${config_gen}` })),
  ]
}

interface PanelProps {
  readonly data: StatsColumns
  readonly panel: Panel
  readonly markers: readonly Marker[]
  readonly palette: Palette
  readonly worker: WorkerBody
}

function PanelView({ data, panel, markers, palette, worker }: PanelProps) {
  const [first] = panel.series
  const now = first === undefined || panel.series.length > 1 ? '' : figureText(first.values.at(-1) ?? null, panel.unit)
  return (
    <figure className="panel">
      <figcaption>
        <bdi>{panel.name}</bdi> {now !== '' && <strong>{now}</strong>}
        {panel.series.length > 1 && <Legend panel={panel} />}
      </figcaption>
      <Chart ts={data.ts} panel={panel} markers={markers} palette={palette} />
      <details className="twin">
        <summary>
          Figures<span className="hidden"> of {panel.name}</span>
        </summary>
        <FigureTable panel={panel} />
        <ShowData ts={data.ts} panel={panel} />
        <Download name={`${worker.worker_id}-${panel.name}.csv`} media="text/csv" make={() => csvOf(data.ts, panel)}>
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
