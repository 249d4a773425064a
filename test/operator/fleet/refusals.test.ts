/**
 * Runs the fleet client against a real server that rejects everything, in real time: virtual time could hide a busy
 * loop.
 */
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { describe, expect, it } from '@jest/globals'
import { Registry } from 'prom-client'
import { createFleetMetrics, Fleet } from '../../../src/operator/fleet/index.ts'
import { systemRandom, systemTime } from '../../../src/runtime/index.ts'
import { recordingLog } from '../../kit/index.ts'
import { TOKENS } from '../../kit/running-master.ts'

const RUN_MS = 3_000
/** Three a second, plus the calls that were open when the first rejections arrived. */
const MOST = (RUN_MS / 1_000) * 3 + 6

describe('the fleet client against a server that rejects everything with 429 and without Retry-After', () => {
  it('sends about three requests a second, however often it is called', async () => {
    let seen = 0
    const server = createServer((_, response) => {
      seen += 1
      response.writeHead(429, { 'content-type': 'application/json', 'muster-epoch': 'e' }).end('{"detail":"slow down"}')
    }).listen(0, '127.0.0.1')
    await once(server, 'listening')
    const fleet = new Fleet({
      masterUrl: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
      token: () => TOKENS.admin,
      clock: systemTime,
      timers: systemTime,
      random: systemRandom,
      log: recordingLog(),
      metrics: createFleetMetrics(new Registry()),
      mayWrite: () => true,
      onBreaker: () => {},
    })
    fleet.setTypes(
      new Map([
        ['mailer', 'configs'],
        ['other', 'configs'],
      ]),
    )
    const end = new AbortController()
    const running = fleet.run(end.signal)
    const worker = { type: 'mailer', workerId: 'w1' }
    const call = async (): Promise<void> => {
      while (!end.signal.aborted) {
        await fleet.master.drain(worker, 'us', end.signal).catch(() => {}) // Aborted: the loop ends.
        await systemTime.sleep(1)
      }
    }
    const calling = [call(), call(), call(), call()]
    await systemTime.sleep(RUN_MS)
    end.abort(new Error('over'))
    await Promise.all([...calling, running])
    server.closeAllConnections()
    server.close()
    expect(seen).toBeLessThanOrEqual(MOST)
    expect(seen).toBeGreaterThan(2)
  })
})
