import { describe, expect, it } from '@jest/globals'
import { connect } from 'node:net'
import { serveProbes } from '../../src/runtime/index.ts'

const ok = () => ({ ok: true, why: 'ok' })

describe('the listener of probes', () => {
  it('serves 16 requests per connection, so that a pipelining client that never reads costs little', async () => {
    let made = 0
    const metrics = { contentType: 'text/plain', metrics: () => Promise.resolve(`m ${(made += 1)}\n`) }
    const listener = await serveProbes('SVC_X', { host: '127.0.0.1', port: 0 }, { healthz: ok, readyz: ok, metrics })
    const text = await new Promise<string>((resolve) => {
      let all = ''
      const socket = connect(listener.port, '127.0.0.1', () =>
        socket.write('GET /metrics HTTP/1.1\r\nHost: test\r\n\r\n'.repeat(1_500)),
      )
      socket
        .on('data', (chunk) => (all += chunk.toString()))
        .on('error', () => {})
        .on('close', () => resolve(all))
    })
    expect([made, text.match(/HTTP\/1\.1 200/g)?.length]).toEqual([16, 16])
    await listener.close()
  })
})
