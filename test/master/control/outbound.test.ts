import { describe, expect, it } from '@jest/globals'
import { WebSocket } from 'ws'
import type { ControlSocket } from '../../../src/master/control/control-socket.ts'
import { Connection } from '../../../src/master/control/connection.ts'
import { HARD_BUFFER_BYTES, SOFT_BUFFER_BYTES } from '../../../src/master/control/limits.ts'
import { Outbound } from '../../../src/master/control/outbound.ts'
import { VirtualTime } from '../../../src/runtime/index.ts'
import { entryOf } from '../registry/fixture.ts'

/** A fake peer: the test sets how many bytes are unread, which a real socket does not allow. */
function peer() {
  const time = new VirtualTime()
  const socket = {
    readyState: WebSocket.OPEN,
    bufferedAmount: 0,
    sent: [] as unknown[],
    ended: false,
    send: (text: string) => void socket.sent.push(JSON.parse(text)),
    terminate: () => void (socket.ended = true),
  }
  const connection = new Connection(socket as unknown as ControlSocket, entryOf('mailer'), 'w1', 'token', 0)
  return { time, socket, connection, outbound: new Outbound(time) }
}

describe('a peer that leaves bytes unread', () => {
  it('is disconnected above the hard limit (G17)', () => {
    const { socket, connection, outbound } = peer()
    socket.bufferedAmount = 1
    outbound.configChanged(connection, 1)
    socket.bufferedAmount = HARD_BUFFER_BYTES + 1
    outbound.sweep()
    expect(socket.ended).toBe(true)
  })

  it('is disconnected after 30 s without reading, and not while it reads (G17)', () => {
    const { time, socket, connection, outbound } = peer()
    socket.bufferedAmount = 1_000
    outbound.configChanged(connection, 1)
    for (let second = 0; second < 100; second += 1) {
      time.jump(1_000)
      socket.bufferedAmount -= second % 25 === 0 ? 1 : 0
      outbound.sweep()
    }
    expect(socket.ended).toBe(false)
    time.jump(30_000)
    outbound.sweep()
    expect(socket.ended).toBe(true)
  })

  it('receives no task_cancelled, nor does one that did not offer the feature (D117)', () => {
    const { socket, connection, outbound } = peer()
    const leases = [{ id: 'a', token: 7 }]
    outbound.cancelled(connection, leases)
    connection.features = new Set(['cancel'])
    socket.bufferedAmount = SOFT_BUFFER_BYTES + 1
    outbound.cancelled(connection, leases)
    expect(socket.sent).toEqual([])
    socket.bufferedAmount = SOFT_BUFFER_BYTES
    outbound.cancelled(connection, leases)
    expect(socket.sent).toEqual([{ type: 'task_cancelled', task_id: 'a', token: 7 }])
  })

  it('receives the newest frames that were held back as soon as it is below the soft limit (G17)', () => {
    const { socket, connection, outbound } = peer()
    socket.bufferedAmount = 1
    outbound.configChanged(connection, 1)
    socket.bufferedAmount = SOFT_BUFFER_BYTES + 1
    for (const gen of [2, 3]) outbound.configChanged(connection, gen)
    outbound.drain(connection)
    outbound.pong(connection, 'lost')
    outbound.sweep()
    expect(socket.sent).toEqual([{ type: 'config_changed', config_gen: 1 }])
    socket.bufferedAmount = SOFT_BUFFER_BYTES
    outbound.sweep()
    expect(socket.sent.slice(1)).toEqual([{ type: 'config_changed', config_gen: 3 }, { type: 'drain' }])
  })
})
