/** @module dashboard/dead/trend-bars  Draws the deaths of the last hour, one bar for each interval of 5 minutes. */
export interface TrendBarsProps {
  readonly trend: readonly number[]
}

const WIDTH = 6
const GAP = 2
const HEIGHT = 24

export function TrendBars({ trend }: TrendBarsProps) {
  return (
    <svg className="trend-bars" aria-hidden="true" width={trend.length * (WIDTH + GAP) - GAP} height={HEIGHT}>
      <path d={barsPath(trend)} />
    </svg>
  )
}

function barsPath(trend: readonly number[]): string {
  const most = Math.max(1, ...trend)
  const bars = trend.map((deaths, i) => {
    const height = deaths === 0 ? 1 : Math.max(2, Math.round((deaths / most) * HEIGHT))
    return `M${i * (WIDTH + GAP)} ${HEIGHT}v${-height}h${WIDTH}v${height}z`
  })
  return bars.join('')
}
