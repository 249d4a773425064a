/**
 * A thread that requests /healthz of a master every 10 ms and keeps the longest wait, which shows how long its event
 * loop was blocked.
 */
import { parentPort, workerData } from 'node:worker_threads'
import { requestBytes, RestLoad } from './rest-load.mjs'

const request = requestBytes('GET', '/healthz')
const load = await RestLoad.open(workerData.port, 1)
let longestMs = 0
const end = new AbortController()
parentPort.once('message', () => end.abort())
while (!end.signal.aborted) {
  const began = performance.now()
  await load.send(request)
  longestMs = Math.max(longestMs, performance.now() - began)
  await new Promise((resolve) => setTimeout(resolve, 10))
}
load.close()
parentPort.postMessage({ longestMs })
