/**
 * What a worker process ran, for the check of exact delivery and for latencies: one line a run, "<id> <milliseconds>",
 * written when the process ends. The clock is the monotonic one of the machine, the same in all processes.
 */
import { appendFileSync, existsSync, readFileSync } from 'node:fs'
import { checkDelivery } from './load.mjs'

export const nowMs = () => Number(process.hrtime.bigint()) / 1e6

/** Notes runs for `file`; without a file nothing is kept. `flush` writes at once what a killed process would lose. */
export function recorder(file) {
  let lines = []
  const flush = () => {
    if (file && lines.length > 0) appendFileSync(file, `${lines.join('\n')}\n`)
    lines = []
  }
  process.on('exit', flush)
  return { ran: (id) => void (file && lines.push(`${id} ${nowMs()}`)), flush }
}

/** All runs in the file, oldest first. */
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

/** Every id ran, and ran once. @returns when each began, by id. @throws when it is not so. */
export function exactRuns(file, submitted) {
  const runs = readRuns(file)
  checkDelivery(
    submitted,
    runs.map(({ id }) => id),
  )
  return new Map(runs.map(({ id, atMs }) => [id, atMs]))
}
