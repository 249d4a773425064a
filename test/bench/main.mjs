#!/usr/bin/env node
// Measures Muster beside BullMQ on this machine, side by side in one run.
// Usage: make bench, or node test/bench/main.mjs [--rounds 5] [--tasks 20000] [--outputs 40000]
// Exit: 0 measured, 1 a delivery was not exact or something failed.
//
// Tasks: all are added, in batches of 100 with 4 requests in flight, then one worker process with 100 slots runs them;
// the rate is tasks / (time to add + time to process). Muster goes through REST and the control channel, three processes;
// BullMQ goes straight to Redis, from this process and one worker process, as its documentation advises. Redis runs
// without AOF for both.
// Outputs: one continuous slot emits as fast as it may; the rate is outputs / time until the last is in the stream.
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { cpus, tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { Queue } from 'bullmq'
import { call, start, startMaster, startRedis, startWorker, until } from './processes.mjs'

const { values } = parseArgs({ options: { rounds: { type: 'string', default: '5' }, tasks: { type: 'string', default: '20000' }, outputs: { type: 'string', default: '40000' } } })
const [ROUNDS, TASKS, OUTPUTS] = [Number(values.rounds), Number(values.tasks), Number(values.outputs)]
const PAYLOAD = { text: 'x'.repeat(180) }
const directory = mkdtempSync(join(tmpdir(), 'muster-bench-'))
let files = 0
const freshFile = () => join(directory, `${(files += 1)}`)

/** Runs `work(i)` for i in 0..count-1 with `width` in flight. */
async function inFlight(count, width, work) {
  let next = 0
  await Promise.all(Array.from({ length: width }, async () => {
    while (next < count) await work(next++)
  }))
}

/** Every id ran, and ran once. */
function checkDelivery(file, submitted) {
  const ran = readFileSync(file, 'utf8').trim().split('\n')
  const unique = new Set(ran)
  const missing = submitted.filter((id) => !unique.has(id)).length
  if (missing > 0 || ran.length !== submitted.length) throw new Error(`delivery was not exact: ${submitted.length} submitted, ${ran.length} runs, ${missing} missing`)
}

async function musterTasks(backendUrl) {
  const ids = freshFile()
  const master = await startMaster(backendUrl)
  const worker = startWorker(master.url, 'noop', ids)
  try {
    await until('the worker is registered', async () => (await call(master.url, 'GET', 'noop/workers')).length === 1)
    const submitted = []
    const began = performance.now()
    await inFlight(TASKS / 100, 4, async () => {
      const { results } = await call(master.url, 'POST', 'noop/tasks/batch', { tasks: Array.from({ length: 100 }, () => ({ payload: PAYLOAD })) })
      for (const { task_id: id } of results) submitted.push(id)
    })
    const added = performance.now()
    await call(master.url, 'PATCH', 'noop/workers/w-1/config', { enabled: true, slots: 100 })
    await until('the queue is empty', async () => (await call(master.url, 'GET', 'noop/queue?n=1')).length === 0)
    for (const id of submitted.slice(-20)) await until('the last tasks are acknowledged', () => isGone(master.url, id))
    const processed = performance.now()
    await worker.stop()
    checkDelivery(ids, submitted)
    return { rate: (TASKS / (processed - began)) * 1_000, add: (TASKS / (added - began)) * 1_000, process: (TASKS / (processed - added)) * 1_000 }
  } finally {
    await worker.stop().catch(() => {})
    await master.stop()
  }
}

async function isGone(url, id) {
  const response = await fetch(`${url}/api/v1/automations/noop/tasks/${id}`, { headers: { authorization: 'Bearer bench-admin-token' } })
  await response.text()
  return response.status === 404
}

async function musterOnRedis(measure) {
  const redis = await startRedis(directory)
  try {
    return await measure(`kvstore://127.0.0.1:${redis.port}`)
  } finally {
    await redis.stop()
  }
}

async function bullmqTasks() {
  const ids = freshFile()
  const redis = await startRedis(directory)
  const queue = new Queue('noop', { connection: { host: '127.0.0.1', port: redis.port }, defaultJobOptions: { removeOnComplete: true } })
  await queue.waitUntilReady()
  try {
    const submitted = []
    const began = performance.now()
    await inFlight(TASKS / 100, 4, async () => {
      const jobs = await queue.addBulk(Array.from({ length: 100 }, () => ({ name: 'noop', data: PAYLOAD })))
      for (const { id } of jobs) submitted.push(id)
    })
    const added = performance.now()
    const worker = start(process.execPath, ['test/bench/bullmq-worker.mjs', `${redis.port}`, ids])
    let ready = added
    worker.child.stdout.once('data', () => (ready = performance.now()))
    await until('every job is done', async () => {
      const counts = await queue.getJobCounts('waiting', 'active', 'prioritized')
      return Object.values(counts).every((count) => count === 0)
    })
    const processed = performance.now()
    await worker.stop()
    checkDelivery(ids, submitted)
    // The start of the worker process is not the peer's work: it is not counted.
    const spent = added - began + (processed - ready)
    return { rate: (TASKS / spent) * 1_000, add: (TASKS / (added - began)) * 1_000, process: (TASKS / (processed - ready)) * 1_000 }
  } finally {
    await queue.close()
    await redis.stop()
  }
}

async function musterOutputs(backendUrl) {
  const master = await startMaster(backendUrl)
  const worker = startWorker(master.url, 'firehose', '')
  try {
    await until('the worker is registered', async () => (await call(master.url, 'GET', 'firehose/workers')).length === 1)
    const began = performance.now()
    await call(master.url, 'PATCH', 'firehose/workers/w-1/config', { enabled: true, slots: 1, total: OUTPUTS })
    await until('every output is in the stream', async () => (await call(master.url, 'GET', 'firehose/output/length')).length >= OUTPUTS)
    return { rate: (OUTPUTS / (performance.now() - began)) * 1_000 }
  } finally {
    await worker.stop()
    await master.stop()
  }
}

const SUBJECTS = {
  'tasks, Muster on memory': () => musterTasks('memory://'),
  'tasks, Muster on SQLite': () => musterTasks(`filedb://${freshFile()}`),
  'tasks, Muster on Redis': () => musterOnRedis(musterTasks),
  'tasks, BullMQ on Redis': bullmqTasks,
  'outputs, Muster on memory': () => musterOutputs('memory://'),
  'outputs, Muster on SQLite': () => musterOutputs(`filedb://${freshFile()}`),
  'outputs, Muster on Redis': () => musterOnRedis(musterOutputs),
}

const median = (numbers) => numbers.toSorted((a, b) => a - b)[Math.floor(numbers.length / 2)]
const line = (numbers) => `${Math.round(median(numbers)).toLocaleString('en').padStart(9)}/s  (${Math.round(Math.min(...numbers)).toLocaleString('en')} to ${Math.round(Math.max(...numbers)).toLocaleString('en')})`

const results = Object.fromEntries(Object.keys(SUBJECTS).map((name) => [name, []]))
try {
  process.stdout.write(`Node ${process.version}, ${cpus().length} × ${cpus()[0].model}; ${TASKS} tasks of 200 bytes, ${OUTPUTS} outputs, ${ROUNDS} rounds, interleaved\n`)
  for (let round = 1; round <= ROUNDS; round += 1) {
    for (const [name, measure] of Object.entries(SUBJECTS)) {
      const figures = await measure()
      results[name].push(figures)
      process.stdout.write(`round ${round}  ${name.padEnd(28)} ${Math.round(figures.rate).toLocaleString('en').padStart(9)}/s\n`)
    }
  }
  process.stdout.write('\nmedian (range)\n')
  for (const [name, rounds] of Object.entries(results)) {
    process.stdout.write(`${name.padEnd(28)} ${line(rounds.map(({ rate }) => rate))}\n`)
    if (rounds[0].add !== undefined) process.stdout.write(`${'  add'.padEnd(28)} ${line(rounds.map(({ add }) => add))}\n${'  process'.padEnd(28)} ${line(rounds.map(({ process: rate }) => rate))}\n`)
  }
  const peer = median(results['tasks, BullMQ on Redis'].map(({ rate }) => rate))
  for (const name of Object.keys(SUBJECTS).filter((each) => each.startsWith('tasks, Muster'))) process.stdout.write(`ratio to BullMQ, ${name.slice(7)}: ${(median(results[name].map(({ rate }) => rate)) / peer).toFixed(2)}\n`)
} catch (error) {
  process.stderr.write(`error: ${error.message}\n`)
  process.exitCode = 1
} finally {
  rmSync(directory, { recursive: true, force: true })
}
