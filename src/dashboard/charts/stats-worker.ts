/**
 * @module dashboard/charts/stats-worker
 * Web worker thread that keeps the frames of one worker and converts them to columns. Parsing one hour of 1,000 slots
 * on the main thread would block the page.
 */
import type { Stats } from '../../protocol/index.ts'
import { columnsOf, withNewer, type StatsColumns } from './columns.ts'

/** The unparsed body of a response. */
export interface StatsRequest {
  readonly id: number
  readonly bytes: ArrayBuffer
}
export type StatsResponse =
  | {
      readonly kind: 'columns'
      readonly id: number
      readonly columns: StatsColumns
      /** Unix seconds of the newest frame. */
      readonly lastTs: number
    }
  | { readonly kind: 'fault'; readonly id: number; readonly fault: string }

let frames: readonly Stats[] = []

addEventListener('message', ({ data: { id, bytes } }: MessageEvent<StatsRequest>) => {
  try {
    frames = withNewer(frames, JSON.parse(new TextDecoder().decode(bytes)) as Stats[])
    const columns = columnsOf(frames)
    const moved = [
      columns.slots.ages.buffer,
      ...Object.values(columns.slots.rates).map(({ buffer }) => buffer),
    ] as ArrayBuffer[]
    const response: StatsResponse = { kind: 'columns', id, columns, lastTs: frames.at(-1)?.ts ?? 0 }
    postMessage(response, { transfer: moved })
  } catch (error) {
    const fault = error instanceof Error ? error.message : String(error)
    postMessage({ kind: 'fault', id, fault } satisfies StatsResponse)
  }
})
