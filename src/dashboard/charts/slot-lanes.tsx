/**
 * @module dashboard/charts/slot-lanes
 * Shows one lane per slot over the whole history. The stronger the colour, the higher the rate of the chosen counter. A
 * tick marks a replaced slot. A table is the accessible alternative.
 */
import './charts.css'
import { useEffect, useId, useMemo, useRef, useState } from 'react'
import type { WorkerBody } from '../../protocol/index.ts'
import { spanText } from '../components/age.ts'
import { EmptyState } from '../components/empty-state.tsx'
import { clockText, shortClockText } from '../components/moments.ts'
import { plural } from '../components/numbers.ts'
import { ReadState } from '../components/read-state.tsx'
import type { StatsColumns } from './columns.ts'
import { figureText } from './figures.ts'
import { drawLanes, highestRate, LABEL_PIXELS, LANE_PIXELS } from './lanes-canvas.ts'
import { usePalette } from './palette.ts'
import { useStats } from './use-stats.ts'

const LANES_A_PAGE = 64

export function SlotLanes({ worker }: { readonly worker: WorkerBody }) {
  const read = useStats(worker)
  const { data } = read
  return (
    <section aria-label="Slots" className="slots">
      <ReadState read={read} />
      {data !== undefined &&
        (data.slots.ids.length === 0 ? (
          <EmptyState kind="nothing" title="No slots reported yet">
            <p>
              {worker.connected
                ? 'An enabled worker reports its slots every 15 seconds. Check its config.'
                : 'The worker is offline.'}
            </p>
          </EmptyState>
        ) : (
          <div className={read.problem === undefined ? undefined : 'stale'}>
            <PagedLanes data={data} />
          </div>
        ))}
    </section>
  )
}

function PagedLanes({ data }: { readonly data: StatsColumns }) {
  const { slots } = data
  const [chosen, setChosen] = useState<string | null>(null)
  const counter = chosen !== null && slots.counters.includes(chosen) ? chosen : (slots.counters[0] ?? null)
  const paging = useLanePages(slots.ids)
  const { rows, setFilter } = paging
  return (
    <>
      <div className="lane-bar">
        <CounterSelect counters={slots.counters} counter={counter} onChoose={setChosen} />
        <SlotFilter paging={paging} total={slots.ids.length} />
        {paging.pages > 1 && <PageButtons paging={paging} />}
      </div>
      {rows.length === 0 ? (
        <EmptyState kind="filtered">
          <button type="button" onClick={() => setFilter('')}>
            Show all slots
          </button>
        </EmptyState>
      ) : (
        <>
          <LaneCanvas data={data} counter={counter} rows={rows} />
          <p className="soft lane-note">{`${scaleText(data, counter)} Tick: slot replaced. Empty: no data.`}</p>
          <SlotTable data={data} counter={counter} rows={rows} />
        </>
      )}
    </>
  )
}

interface LanePaging {
  /** Part of a slot ID; empty for all slots. */
  readonly filter: string
  readonly setFilter: (filter: string) => void
  /** The number of slots that match the filter. */
  readonly found: number
  /** The slots on the open page, as indexes of `data.slots`. */
  readonly rows: readonly number[]
  readonly page: number
  readonly pages: number
  readonly setPage: (page: number) => void
}

function useLanePages(ids: readonly number[]): LanePaging {
  const [filter, setFilter] = useState('')
  const [wantedPage, setPage] = useState(0)
  const matching = useMemo(
    () => ids.flatMap((slot, row) => (String(slot).includes(filter.trim()) ? [row] : [])),
    [ids, filter],
  )
  const pages = Math.max(1, Math.ceil(matching.length / LANES_A_PAGE))
  const page = Math.min(wantedPage, pages - 1)
  const rows = matching.slice(page * LANES_A_PAGE, (page + 1) * LANES_A_PAGE)
  return { filter, setFilter, found: matching.length, rows, page, pages, setPage }
}

interface CounterSelectProps {
  readonly counters: readonly string[]
  /** The chosen counter; null if there are none. */
  readonly counter: string | null
  readonly onChoose: (counter: string) => void
}

function CounterSelect({ counters, counter, onChoose }: CounterSelectProps) {
  const id = useId()
  return (
    <>
      <label htmlFor={id}>Counter</label>
      <select
        id={id}
        value={counter ?? ''}
        onChange={(event) => onChoose(event.target.value)}
        disabled={counters.length < 2}
      >
        {counters.length === 0 && <option value="">none</option>}
        {counters.map((name) => (
          <option key={name} value={name}>
            {name}
          </option>
        ))}
      </select>
    </>
  )
}

interface SlotFilterProps {
  readonly paging: LanePaging
  readonly total: number
}

function SlotFilter({ paging: { filter, setFilter, found }, total }: SlotFilterProps) {
  const id = useId()
  return (
    <>
      <label htmlFor={id}>Slot</label>
      <input
        id={id}
        type="search"
        inputMode="numeric"
        className="short"
        placeholder="all"
        value={filter}
        onChange={(event) => setFilter(event.target.value)}
      />
      <output>
        {found < total && `${found} of `}
        {plural(total, 'slot')}
      </output>
    </>
  )
}

function PageButtons({ paging: { page, pages, setPage } }: { readonly paging: LanePaging }) {
  return (
    <span className="pages">
      <button type="button" onClick={() => setPage(page - 1)} disabled={page === 0}>
        Previous
      </button>{' '}
      {page + 1} of {pages}{' '}
      <button type="button" onClick={() => setPage(page + 1)} disabled={page === pages - 1}>
        Next
      </button>
    </span>
  )
}

interface LanesProps {
  readonly data: StatsColumns
  readonly counter: string | null
  /** Indexes of `data.slots`, from top to bottom. */ readonly rows: readonly number[]
}

function LaneCanvas({ data, counter, rows }: LanesProps) {
  const canvas = useRef<HTMLCanvasElement>(null)
  const pointed = useRef<HTMLOutputElement>(null)
  const palette = usePalette()
  useEffect(() => {
    const host = canvas.current?.parentElement
    if (canvas.current === null || host == null) return undefined
    const shown = canvas.current
    const draw = (): void => drawLanes(shown, host.clientWidth, data, counter, rows, palette)
    const resized = new ResizeObserver(draw)
    resized.observe(host)
    draw()
    return () => resized.disconnect()
  }, [data, counter, rows, palette])
  const point = (event: React.PointerEvent<HTMLCanvasElement>): void => {
    const box = event.currentTarget.getBoundingClientRect()
    const row = rows[Math.floor((event.clientY - box.top) / LANE_PIXELS)]
    const share = (event.clientX - box.left - LABEL_PIXELS) / (box.width - LABEL_PIXELS)
    if (pointed.current !== null)
      pointed.current.textContent = row === undefined || share < 0 ? '' : pointedText(data, counter, row, share)
  }
  return (
    <div className="lanes" aria-hidden="true">
      <canvas ref={canvas} onPointerMove={point} />
      <div className="lane-foot">
        {quartersOf(data.ts).map((time) => (
          <span key={time}>{shortClockText(time)}</span>
        ))}
      </div>
      <output ref={pointed} className="lane-pointed" />
    </div>
  )
}

/** The times at the begin, each quarter and the end of the lanes. */
function quartersOf(ts: readonly number[]): readonly number[] {
  const [first, last] = [ts[0] ?? 0, ts.at(-1) ?? 0]
  return [0, 0.25, 0.5, 0.75, 1].map((share) => first + share * (last - first))
}

function scaleText({ slots }: StatsColumns, counter: string | null): string {
  const most = counter === null ? 0 : highestRate(slots.rates[counter])
  return `Stronger colour: higher rate${most === 0 ? '.' : `, up to ${figureText(most, 'per second')}.`}`
}

function pointedText({ ts, slots }: StatsColumns, counter: string | null, row: number, share: number): string {
  const [first, last] = [ts[0] ?? 0, ts.at(-1) ?? 0]
  const time = first + share * (last - first)
  const at = ts.findIndex((each) => each >= time)
  const rate = counter === null ? Number.NaN : (slots.rates[counter]?.[row * ts.length + at] ?? Number.NaN)
  const value = Number.isNaN(rate) ? 'no data' : figureText(rate, 'per second')
  return `slot ${slots.ids[row]} · ${clockText(time)} · ${value}`
}

function SlotTable({ data: { ts, slots }, counter, rows }: LanesProps) {
  const last = ts.length - 1
  return (
    <details className="twin">
      <summary>Slots as a table</summary>
      <table aria-label="Slots now">
        <thead>
          <tr>
            <th scope="col" className="number">
              Slot
            </th>
            <th scope="col" className="number">
              Age
            </th>
            <th scope="col" className="number">
              {counter === null ? 'Rate' : <bdi>{counter}</bdi>}
            </th>
          </tr>
        </thead>
        <tbody>
          {rows.map((row) => {
            const age = slots.ages[row * ts.length + last] ?? Number.NaN
            const rate = counter === null ? Number.NaN : (slots.rates[counter]?.[row * ts.length + last] ?? Number.NaN)
            return (
              <tr key={row}>
                <th scope="row" className="number">
                  {slots.ids[row]}
                </th>
                <td className="number">{Number.isNaN(age) ? 'not running' : spanText(age)}</td>
                <td className="number">{figureText(Number.isNaN(rate) ? null : rate, 'per second')}</td>
              </tr>
            )
          })}
        </tbody>
      </table>
    </details>
  )
}
