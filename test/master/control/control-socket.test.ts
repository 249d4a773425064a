import { connect as connectSocket, type Socket } from 'node:net'
import { once } from 'node:events'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals'
import { MAX_PIECES, mergePieces } from '../../../src/master/control/control-socket.ts'
import { outputFrame, registerFrame, RegistryFixture, WORKER_TOKEN } from '../registry/fixture.ts'

let fixture: RegistryFixture
const sockets: Socket[] = []
beforeEach(async () => {
  fixture = await RegistryFixture.open()
})
afterEach(async () => {
  for (const socket of sockets.splice(0)) socket.destroy()
  await fixture.close()
})

const MASK = [0, 0, 0, 0]
const TEXT = 0x01
const CONTINUATION = 0x00
const PING = 0x89
const PONG = 0x8a
const FIN = 0x80

function fragment(first: number, payload: Buffer): Buffer {
  const length =
    payload.length < 126 ? [0x80 | payload.length] : [0x80 | 126, payload.length >> 8, payload.length & 0xff]
  return Buffer.concat([Buffer.from([first, ...length, ...MASK]), payload])
}

/** A message in fragments of `size` bytes. */
function fragments(message: Buffer, size: number): Buffer {
  const parts: Buffer[] = []
  for (let at = 0; at < message.length; at += size) {
    const isLast = at + size >= message.length
    parts.push(fragment((at === 0 ? TEXT : CONTINUATION) | (isLast ? FIN : 0), message.subarray(at, at + size)))
  }
  return Buffer.concat(parts)
}

async function opened(id: string): Promise<Socket> {
  const socket = connectSocket(fixture.port, '127.0.0.1')
  sockets.push(socket)
  socket.on('error', () => {})
  socket.write(
    [
      `GET /api/v1/automations/mailer/workers/${id}/control HTTP/1.1`,
      'Host: x',
      'Connection: Upgrade',
      'Upgrade: websocket',
      'Sec-WebSocket-Version: 13',
      'Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==',
      `Authorization: Bearer ${WORKER_TOKEN}`,
      '',
      '',
    ].join('\r\n'),
  )
  await once(socket, 'data')
  socket.write(fragment(TEXT | FIN, Buffer.from(JSON.stringify(registerFrame(id)))))
  return socket
}

async function write(socket: Socket, bytes: Buffer): Promise<void> {
  if (!socket.write(bytes)) await once(socket, 'drain')
}

/** Resolves when the master has handled all previous frames: it responds to this ping after them. */
async function handled(socket: Socket): Promise<void> {
  const response = once(socket, 'data')
  await write(socket, fragment(TEXT | FIN, Buffer.from('{"type":"ping","id":"p"}')))
  expect(String((await response)[0])).toContain('"ping"')
}

describe('a fragmented frame', () => {
  /** A frame of exactly 1 MiB. */
  const frame = Buffer.from(
    JSON.stringify(outputFrame({ text: '' })).replace(
      '""',
      `"${'x'.repeat(1_048_576 - JSON.stringify(outputFrame({ text: '' })).length)}"`,
    ),
  )

  it.each([4_096, 125, 1])('with fragments of %i bytes is accepted up to 1 MiB (D12, D74)', async (size) => {
    expect(frame).toHaveLength(1_048_576)
    const socket = await opened('w1')
    await write(socket, fragments(frame, size))
    await handled(socket)
    expect(JSON.stringify(fixture.sink.payloads)).toHaveLength(
      JSON.stringify([{ text: '' }]).length + 1_048_576 - JSON.stringify(outputFrame({ text: '' })).length,
    )
  })

  it('may contain empty fragments and interleaved control frames', async () => {
    const socket = await opened('w1')
    const empty = Array.from({ length: 100_000 }, () => fragment(CONTINUATION, Buffer.alloc(0)))
    const text = Buffer.from(JSON.stringify(outputFrame({ n: 1 })))
    await write(
      socket,
      Buffer.concat([
        fragment(TEXT, text.subarray(0, 5)),
        ...empty,
        fragment(PONG, Buffer.from('x')),
        fragment(CONTINUATION | FIN, text.subarray(5)),
      ]),
    )
    await handled(socket)
    expect(fixture.sink.payloads).toEqual([{ n: 1 }])
  })

  it('does not keep the socket chunks of its fragments in memory (G17)', async () => {
    setFlagsFromString('--expose-gc')
    const collect = runInNewContext('gc') as () => void
    const keptBytes = async (): Promise<number> => {
      for (let round = 0; round < 3; round += 1) {
        await new Promise((resolve) => setImmediate(resolve)) // Runs the finalizers of the last garbage collection.
        collect()
      }
      return process.memoryUsage().arrayBuffers
    }
    const socket = await opened('w1')
    const pongs = Buffer.concat(Array.from({ length: 500 }, () => fragment(PONG, Buffer.alloc(125))))
    const chunk = Buffer.concat([fragment(CONTINUATION, Buffer.from(' ')), pongs])
    await write(socket, fragment(TEXT, Buffer.from(' ')))
    const before = await keptBytes()
    for (let sent = 0; sent < 600; sent += 1) await write(socket, chunk) // 37 MiB
    const pong = once(socket, 'data')
    await write(socket, fragment(PING, Buffer.alloc(0)))
    await pong // The master has read all fragments before it.
    expect((await keptBytes()) - before).toBeLessThan(12 * 1_048_576)
    await write(socket, fragment(CONTINUATION | FIN, Buffer.from(JSON.stringify(outputFrame({ n: 1 })))))
    await handled(socket)
    expect(fixture.sink.payloads).toEqual([{ n: 1 }])
  })
})

describe('a peer that sends pings', () => {
  it('is disconnected after more than 60 pings in one read, not before (D77)', async () => {
    const pings = (count: number): Buffer =>
      Buffer.concat(Array.from({ length: count }, () => fragment(PING, Buffer.alloc(0))))
    const [patient, hasty] = [await opened('w1'), await opened('w2')]
    for (const socket of [patient, hasty]) await handled(socket)
    const ended = once(hasty, 'close')
    await write(hasty, pings(61))
    await ended
    await write(patient, pings(60))
    await new Promise((resolve) => void patient.once('data', resolve))
    await write(patient, fragment(TEXT | FIN, Buffer.from('{"type":"ping","id":"still here"}')))
    for await (const chunk of patient) if (String(chunk).includes('still here')) break
  })
})

describe('merging buffered pieces', () => {
  const merged = (pieces: Buffer[]): Buffer[] => {
    mergePieces(pieces)
    return pieces
  }

  it('keeps the byte order and at most MAX_PIECES pieces', () => {
    let state = 1
    const next = (): number => (state = (state * 48_271) % 2_147_483_647)
    const pieces: Buffer[] = []
    const all: Buffer[] = []
    for (let round = 0; round < 2_000; round += 1) {
      for (let added = next() % 40; added > 0; added -= 1) {
        const piece = Buffer.alloc(1 + (next() % (next() % 7 === 0 ? 3_000 : 3)), next() % 256)
        pieces.push(piece)
        all.push(piece)
      }
      expect(merged(pieces).length).toBeLessThanOrEqual(MAX_PIECES)
    }
    expect(Buffer.concat(pieces).equals(Buffer.concat(all))).toBe(true)
  })

  it('copies each byte at most about 35 times, whatever the sizes of the pieces', () => {
    const pieces: Buffer[] = []
    let copied = 0
    for (let sent = 0; sent < 200_000; sent += 1) {
      pieces.push(Buffer.alloc(1))
      const before = new Set(pieces)
      copied += merged(pieces)
        .filter((piece) => !before.has(piece))
        .reduce((sum, { length }) => sum + length, 0)
    }
    expect(copied).toBeLessThan(35 * 200_000)
  })
})
