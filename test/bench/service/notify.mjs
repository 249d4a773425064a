/**
 * Measures the time from a config PATCH until its worker has received `config_changed`: 300 connected workers, one
 * PATCH at a time.
 */
import { WebSocket } from 'ws'
import { spread } from '../load.mjs'
import { nowMs } from '../recorder.mjs'
import { startRedis } from '../stores.mjs'
import { controlPath, withFakeWorkers } from './fake-worker.mjs'
import { requestBytes, withLoad } from './rest-load.mjs'
import { onEachStore, withLimit } from './subjects.mjs'

const WORKERS = 300
const WARM_UP = 500

/** Sends to one worker after the other. `onNotified[i]` is called when worker i is notified. */
async function patchAll(bench, port, requestOf, onNotified) {
  const latencies = []
  await withLoad(port, 1, async (load) => {
    for (let at = 0; at < bench.count(2_000) + WARM_UP; at += 1) {
      const worker = at % WORKERS
      const received = new Promise((resolve) => void (onNotified[worker] = resolve))
      const sentMs = nowMs()
      await load.send(requestOf(worker))
      latencies.push((await received) - sentMs)
    }
  })
  const figures = spread(latencies.slice(WARM_UP))
  return { value: figures.p50, ...figures }
}

const onMuster = (bench, fleet) =>
  withFakeWorkers(fleet.port, 'noop', WORKERS, async (workers) => {
    const onNotified = []
    for (const [at, worker] of workers.entries())
      worker.onFrame = ({ type }) => type === 'config_changed' && onNotified[at](nowMs())
    return patchAll(
      bench,
      fleet.port,
      (at) => requestBytes('PATCH', `/api/v1/automations/noop/workers/fake-${at}/config`, { slots: 2 }),
      onNotified,
    )
  })

async function bareRoundTrips(bench) {
  const redis = await startRedis(bench.directory)
  try {
    return await withLimit(
      'notify',
      async ({ port }) => {
        const onNotified = []
        const sockets = await Promise.all(
          Array.from(
            { length: WORKERS },
            (_, at) =>
              new Promise((resolve) => {
                const socket = new WebSocket(`ws://127.0.0.1:${port}${controlPath('noop', `fake-${at}`)}`, {
                  perMessageDeflate: false,
                })
                socket.on('message', () => onNotified[at](nowMs()))
                socket.once('open', () => resolve(socket))
              }),
          ),
        )
        const figures = await patchAll(
          bench,
          port,
          (at) => requestBytes('PATCH', controlPath('noop', `fake-${at}`), { slots: 2 }),
          onNotified,
        )
        for (const socket of sockets) socket.terminate()
        return figures
      },
      { settings: [`${redis.port}`] },
    )
  } finally {
    await redis.stop()
  }
}

export const configNotified = {
  id: 'config-notified',
  level: 'service',
  title: 'config PATCH until the worker is notified, p50',
  unit: 'ms',
  better: 'lower',
  note:
    '300 connected workers in this process, one PATCH at a time; ' +
    'the limit does HTTP, a GET and a SET on Redis, and a frame',
  subjects: { ...onEachStore(onMuster), 'limit: HTTP + Redis + ws': bareRoundTrips },
  aim: 0.4,
  gates: [{ subject: 'Muster, Redis', over: 'limit: HTTP + Redis + ws', atMost: 3 }],
}
