/** @module dashboard/workers/sparkline  Draws the recent CPU usage of a worker as a line. */
import { memo, useSyncExternalStore } from 'react'
import { sparkPath, type Reading, type Sparks } from './sparks.ts'

export function Sparkline({ sparks, id }: { readonly sparks: Sparks; readonly id: string }) {
  const readings = useSyncExternalStore(sparks.watch, () => sparks.of(id))
  return readings === undefined || readings.length < 2 ? null : <Line readings={readings} />
}

const Line = memo(function Line({ readings }: { readonly readings: readonly Reading[] }) {
  return (
    <svg className="spark" viewBox="0 0 64 20" aria-hidden="true">
      <path d={sparkPath(readings)} />
    </svg>
  )
})
