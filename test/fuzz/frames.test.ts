/**
 * Sends a million hostile frames (SOAK=1; 5,000 at commit) to the connection code of a real master, and hostile bytes
 * to its WebSocket decoder over raw sockets. A found case becomes a file of `corpus/`, which every run sends first.
 */
import { EventEmitter, once } from 'node:events'
import { readdirSync, readFileSync } from 'node:fs'
import { connect, type Socket } from 'node:net'
import { join } from 'node:path'
import { setImmediate as turn } from 'node:timers/promises'
import { describe, expect, it } from '@jest/globals'
import { WebSocket } from 'ws'
import type { AcceptedSocket } from '../../src/master/index.ts'
import { CLOSE, decodeMasterFrame, decodeWorkerFrame, FrameFault } from '../../src/protocol/index.ts'
import { seededRandom, VirtualTime } from '../../src/runtime/index.ts'
import { MemoryBackend } from '../../src/storage/memory/index.ts'
import { advanceUntil, eventually } from '../kit/index.ts'
import { recordRun } from '../kit/record-run.ts'
import { runMaster, TOKENS, type TestMaster } from '../kit/running-master.ts'
import { Mutator, REGISTER } from './mutate.ts'

const IS_SOAK = process.env['SOAK'] === '1'
const FRAMES = IS_SOAK ? 1_000_000 : 5_000
const STREAMS = IS_SOAK ? 20_000 : 300
/** FUZZ_SEED repeats a run that failed. */
const SEED = Number(process.env['FUZZ_SEED'] ?? (IS_SOAK ? Date.now() % 0x1_0000_0000 : 1))
const TURN_EVERY = 100
const WITNESS_EVERY = 10_000
/** Text whole and in fragments, binary, close, ping and pong, with and without the flag of the last fragment. */
const OPCODES = [0x81, 0x81, 0x81, 0x01, 0x80, 0x00, 0x82, 0x88, 0x89, 0x8a, 0x08, 0x09]
const COMMAND = `${IS_SOAK ? 'SOAK=1 ' : ''}npm test -- test/fuzz`
const PATH = '/api/v1/automations/mailer/workers'
/** The close codes of a fault of the peer. */
const FAULTS: ReadonlySet<number> = new Set([CLOSE.INVALID_FRAME, CLOSE.POLICY, CLOSE.TOO_BIG, CLOSE.PROTOCOL_VERSION])

/** The master's end of a socket whose peer is the fuzzer. */
class FuzzedSocket extends EventEmitter implements AcceptedSocket {
  readyState = 1
  readonly bufferedAmount = 0
  sentCode: number | undefined
  reason = ''
  readonly fault = undefined

  send(_: string, done?: (error?: Error) => void): void {
    done?.()
  }
  ping(): void {}
  close(code: number, reason: string): void {
    this.sentCode ??= code
    this.reason = reason
    this.#end(code)
  }
  terminate(): void {
    this.#end(1006)
  }
  #end(code: number): void {
    if (this.readyState !== 1) return
    this.readyState = 3
    queueMicrotask(() => this.emit('close', code, Buffer.from(this.reason)))
  }
  pause(): void {}
  resume(): void {}
}

class FrameFuzzer {
  readonly #master: TestMaster
  readonly #time: VirtualTime
  #socket: FuzzedSocket | null = null
  #sent = 0
  readonly codes = new Map<number, number>()

  constructor(master: TestMaster, time: VirtualTime) {
    this.#master = master
    this.#time = time
  }

  /** Sends one frame on a registered connection, which is replaced when the frame closed it. */
  async send(text: string): Promise<void> {
    this.#decode(text)
    this.#socket ??= await this.#connect()
    const socket = this.#socket
    socket.emit('message', Buffer.from(text), false)
    this.#sent += 1
    if (this.#sent % TURN_EVERY === 0) await this.pass()
    const code = socket.sentCode
    if (code === undefined) return
    if (!FAULTS.has(code) || !/^[\x20-\x7e]{1,123}$/.test(socket.reason))
      throw new Error(`closed with ${code} ${JSON.stringify(socket.reason)}`)
    this.codes.set(code, (this.codes.get(code) ?? 0) + 1)
    this.#socket = null
  }

  /** A decoder returns a frame or throws its own error, and a decoded frame is decoded again to the same one. */
  #decode(text: string): void {
    for (const decode of [decodeWorkerFrame, decodeMasterFrame]) {
      try {
        const frame = decode(text)
        const again = JSON.stringify(frame) // Without -0 and lone surrogates, which JSON.stringify changes.
        if (JSON.stringify(decode(again)) !== again) throw new Error('decoded differently the second time')
      } catch (error) {
        if (!(error instanceof FrameFault || error instanceof RangeError)) throw error
      }
    }
    if (Object.keys(Object.prototype).length > 0 || 'polluted' in {}) throw new Error('a prototype was changed')
  }

  async #connect(): Promise<FuzzedSocket> {
    const socket = new FuzzedSocket()
    const handshake = { type: 'mailer', id: 'fuzzed', bearerToken: TOKENS.worker, features: new Set<never>() }
    let isOpen = false
    const refuse = (detail: string): never => {
      throw new Error(`the handshake was refused: ${detail}`)
    }
    this.#master.accept(handshake, {
      open: (use) => {
        isOpen = true
        use(socket)
      },
      refuse,
    })
    await advanceUntil(this.#time, 'the socket is admitted', () => isOpen)
    if (this.#sent % 10 === 0) return socket // One in ten sends its first frame without a register.
    socket.emit('message', Buffer.from(JSON.stringify(REGISTER)), false)
    await turn()
    return socket
  }

  async pass(): Promise<void> {
    await turn()
    await this.#time.advance(10)
  }
}

const corpus = (): readonly { readonly why: string; readonly text: string }[] =>
  readdirSync(join(import.meta.dirname, 'corpus'))
    .toSorted()
    .map(
      (name) =>
        JSON.parse(readFileSync(join(import.meta.dirname, 'corpus', name), 'utf8')) as ReturnType<
          typeof corpus
        >[number],
    )

async function witnessOf(master: TestMaster): Promise<() => Promise<void>> {
  const socket = new WebSocket(`${master.url.replace('http', 'ws')}${PATH}/witness/control`, {
    headers: { authorization: `Bearer ${TOKENS.worker}` },
  })
  await once(socket, 'open')
  socket.send(JSON.stringify({ ...REGISTER, worker_id: 'witness' }))
  let pongs = 0
  socket.on('message', (data: Buffer) => {
    if ((JSON.parse(data.toString()) as { type: string }).type === 'ping') pongs += 1
  })
  return async () => {
    const before = pongs
    socket.send('{"type":"ping","id":"w"}')
    await eventually('the other worker is served', () => pongs > before)
    expect(socket.readyState).toBe(WebSocket.OPEN)
  }
}

/** @throws {Error} if the master reported a defect of its own. */
function expectNoDefect({ lines }: TestMaster, context: () => string): void {
  const defect = lines.find(({ level, message }) => level === 'error' || message.includes('failed to handle'))
  if (defect !== undefined) throw new Error(`${context()}: ${defect.message} ${String(defect.fields['error'])}`)
  lines.length = 0
}

describe('the connection code of a master', () => {
  it(`handles ${FRAMES} hostile frames without a defect, and serves another worker (G25)`, async () => {
    const time = new VirtualTime()
    const backend = new MemoryBackend({ clock: time, random: seededRandom(1) })
    const master = await runMaster({ clock: time, timers: time, random: seededRandom(2), backend })
    const isServed = await witnessOf(master)
    const fuzzer = new FrameFuzzer(master, time)
    for (const { why, text } of corpus()) {
      await fuzzer.send(text)
      expectNoDefect(master, () => why)
    }
    const mutator = new Mutator(seededRandom(SEED))
    for (let at = 0; at < FRAMES; at += 1) {
      const text = mutator.frame()
      const context = (): string => `seed ${SEED}, frame ${at}: ${JSON.stringify(text.slice(0, 2_000))}`
      await fuzzer.send(text).catch((error: unknown) => {
        throw new Error(context(), { cause: error })
      })
      expectNoDefect(master, context)
      if (at % WITNESS_EVERY === 0) await isServed()
    }
    await isServed()
    const closes = (code: number): number => fuzzer.codes.get(code) ?? 0
    recordRun({
      layer: 'L7',
      command: COMMAND,
      count: FRAMES,
      counted: 'hostile frames handled by the connection code of a master without a defect',
      seedBase: SEED,
      mustHappen: { 'closed as invalid': closes(CLOSE.INVALID_FRAME), 'closed by policy': closes(CLOSE.POLICY) },
    })
    // Without both codes, and without accepted frames, the frames would not reach what they should.
    expect([...fuzzer.codes.keys()]).toEqual(expect.arrayContaining([CLOSE.INVALID_FRAME, CLOSE.POLICY]))
    expect([...fuzzer.codes.values()].reduce((sum, n) => sum + n, 0)).toBeLessThan(FRAMES)
  }, 1_800_000)
})

describe('the WebSocket decoder of a master', () => {
  it(`handles ${STREAMS} hostile byte streams without a defect, and serves another worker (G25)`, async () => {
    const master = await runMaster()
    const isServed = await witnessOf(master)
    const mutator = new Mutator(seededRandom(SEED))
    for (let at = 0; at < STREAMS; at += 20) {
      await Promise.all(Array.from({ length: 20 }, () => sendStream(master, mutator)))
      expectNoDefect(master, () => `seed ${SEED}, stream ${at}`)
    }
    await isServed()
    expect((await master.call('GET', '/healthz')).status).toBe(200)
    await eventually('every socket is closed', async () =>
      /^svc_control_sockets(?:\{[^}]*\})? 1$/m.test((await master.call('GET', '/metrics')).text),
    )
    recordRun({
      layer: 'L7',
      command: COMMAND,
      count: STREAMS,
      counted: 'hostile byte streams handled by the WebSocket decoder of a master without a defect',
      seedBase: SEED,
    })
  }, 1_800_000)
})

/** Opens a socket, sends frames with hostile headers in chunks of any size, and ends it. */
async function sendStream(master: TestMaster, mutator: Mutator): Promise<void> {
  const socket = await upgraded(master)
  const closed = new Promise((resolve) => socket.once('close', resolve)) // `once` rejects if a write fails.
  let bytes = frameBytes(0x81, true, Buffer.from(JSON.stringify(REGISTER)))
  for (let left = 1 + mutator.below(5); left > 0; left -= 1) bytes = Buffer.concat([bytes, hostileBytes(mutator)])
  while (bytes.length > 0 && !socket.destroyed) {
    const length = 1 + mutator.below(mutator.below(2) === 0 ? 8 : 4_096)
    socket.write(bytes.subarray(0, length))
    bytes = bytes.subarray(length)
    if (mutator.below(10) === 0) await turn()
  }
  if (mutator.below(2) === 0) socket.end()
  else await turn()
  socket.destroy()
  await closed
}

async function upgraded({ port }: TestMaster): Promise<Socket> {
  const socket = connect(port, '127.0.0.1')
  socket.on('error', () => {}) // The close event follows.
  await once(socket, 'connect')
  socket.write(
    `GET ${PATH}/raw/control HTTP/1.1\r\nHost: test\r\nAuthorization: Bearer ${TOKENS.worker}\r\n` +
      'Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n' +
      'Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n',
  )
  await new Promise((resolve) => socket.once('data', resolve).once('close', resolve))
  return socket
}

/** One frame of RFC 6455 with any opcode, flags, mask and length, which need not fit what follows. */
function hostileBytes(mutator: Mutator): Buffer {
  const text = mutator.below(3) === 0 ? Buffer.from([0xc3, 0x28, mutator.below(256)]) : Buffer.from(mutator.frame())
  const opcode = mutator.pick([...OPCODES, mutator.below(256)])
  const length = mutator.pick([undefined, undefined, undefined, 0, 125, 126, 65_536, 2 ** 31, 2 ** 53])
  return frameBytes(opcode, mutator.below(8) > 0, text, length)
}

function headOf(first: number, mask: number, claimed: number): Buffer {
  if (claimed < 126) return Buffer.from([first, mask | claimed])
  if (claimed < 65_536) return Buffer.from([first, mask | 126, claimed >> 8, claimed & 0xff])
  const head = Buffer.alloc(10)
  head[0] = first
  head[1] = mask | 127
  head.writeBigUInt64BE(BigInt(claimed), 2)
  return head
}

function frameBytes(first: number, isMasked: boolean, body: Buffer, claimed = body.length): Buffer {
  const mask = isMasked ? 0x80 : 0
  const head = headOf(first, mask, claimed)
  const key = isMasked ? Buffer.from([1, 2, 3, 4]) : Buffer.alloc(0)
  return Buffer.concat([head, key, isMasked ? body.map((byte, at) => byte ^ ((at % 4) + 1)) : body])
}
