/**
 * A process that runs all simulated workers, with one socket each on the real control channel. They report every five
 * seconds, evenly spread, and apply a new config as soon as they receive `config_changed`.
 * Usage: node workers.mjs PORT COUNT [TYPE]    Prints "ready" once all are registered, and ends with its input channel.
 * TYPE: the type of all workers; they are of five types if it is left out.
 */
import { FakeWorker } from '../service/fake-worker.mjs'
import { nameOf, typeOf } from './resources.mjs'

const [port, count] = process.argv.slice(2, 4).map(Number)
const [type] = process.argv.slice(4)
const REPORT_MS = 5_000
const SLICES = 100
/** The master accepts 500 per second. */
const MAX_CONCURRENT_OPENS = 8
const OPEN_EVERY_MS = 20

const seconds = () => Date.now() / 1_000

function simulated(index) {
  const worker = new FakeWorker(port, type ?? typeOf(index), type === undefined ? nameOf(index) : `${type}-${index}`)
  worker.configGen = 0
  worker.onFrame = (frame) => {
    if (frame.type !== 'config_changed') return
    worker.configGen = frame.config_gen
    worker.send({ type: 'state', state: 'RUNNING', config_gen: frame.config_gen, ts: seconds(), last_error: null })
  }
  return worker
}

const workers = Array.from({ length: count }, (_, index) => simulated(index))
let next = 0
const opened = []
await new Promise((resolve) => {
  const timer = setInterval(() => {
    for (const worker of workers.slice(next, next + MAX_CONCURRENT_OPENS)) opened.push(worker.open())
    next += MAX_CONCURRENT_OPENS
    if (next < count) return
    clearInterval(timer)
    resolve()
  }, OPEN_EVERY_MS)
})
await Promise.all(opened)

let slice = 0
setInterval(() => {
  slice = (slice + 1) % SLICES
  for (let at = slice; at < count; at += SLICES) {
    const worker = workers[at]
    if (worker.isRegistered)
      worker.send({
        type: 'stats',
        slots: 2,
        cpu_pct: 20 + ((at + slice) % 50),
        rss_mb: 80 + (Math.floor(seconds() / 7) % 20),
        ts: seconds(),
        metrics: {},
      })
  }
}, REPORT_MS / SLICES)
process.stdout.write('ready\n')
