/**
 * Records the runs of a worker process, for the check of exact delivery and for latencies: one line per run, "<id>
 * <milliseconds>", written when the process ends. The clock is the monotonic one of the machine, which all processes
 * share.
 */
import { appendFileSync, existsSync, readFileSync } from 'node:fs'
import { checkDelivery } from './load.mjs'

export const nowMs = () => Number(process.hrtime.bigint()) / 1e6

/**
 * Records runs for `file`; without a file, does nothing. `flush` writes immediately what a killed process would lose.
 */
export function recorder(file) {
  let lines = []
  const flush = () => {
    if (file && lines.length > 0) appendFileSync(file, `${lines.join('\n')}\n`)
    lines = []
  }
  process.on('exit', flush)
  return { ran: (id) => void (file && lines.push(`${id} ${nowMs()}`)), flush }
}

/** @returns all runs in the file, oldest first. */
export function readRuns(file) {
  if (!existsSync(file)) return []
  const text = readFileSync(file, 'utf8').trim()
  return text === ''
    ? []
    : text.split('\n').map((line) => {
        const [id, atMs] = line.split(' ')
        return { id, atMs: Number(atMs) }
      })
}

/** Checks that every ID ran exactly once. @returns when each began, by ID. @throws if not. */
export function exactRuns(file, submitted) {
  const runs = readRuns(file)
  checkDelivery(
    submitted,
    runs.map(({ id }) => id),
  )
  return new Map(runs.map(({ id, atMs }) => [id, atMs]))
}
