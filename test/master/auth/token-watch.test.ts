import { afterEach, describe, expect, it } from '@jest/globals'
import { watchTokens, type TokenReading, type TokenSettings } from '../../../src/master/auth/index.ts'
import { VirtualTime } from '../../../src/runtime/index.ts'
import { recordingLog } from '../../kit/index.ts'

const INITIAL: TokenSettings = { admin: 'admin-1', worker: 'worker-1', workerPeers: [], scopes: new Map() }
const EVERY_MS = 2_000

describe('watchTokens', () => {
  const stops: (() => void)[] = []
  afterEach(() => stops.splice(0).forEach((stop) => stop()))

  function watched() {
    const time = new VirtualTime()
    const log = recordingLog()
    const { lines } = log
    const applied: TokenSettings[] = []
    const source = { reading: { kind: 'valid', tokens: INITIAL } as TokenReading, reads: 0 }
    const reread = (): Promise<TokenReading> => {
      source.reads += 1
      return Promise.resolve(source.reading)
    }
    stops.push(
      watchTokens({ timers: time, log, reread, initial: INITIAL, apply: (tokens) => void applied.push(tokens) }),
    )
    return { time, lines, applied, source }
  }

  it('applies changed tokens within two seconds, once (D22)', async () => {
    const { time, applied, source } = watched()
    await time.advance(EVERY_MS)
    expect(applied).toEqual([])
    source.reading = { kind: 'valid', tokens: { ...INITIAL, worker: 'worker-2' } }
    await time.advance(EVERY_MS)
    await time.advance(5 * EVERY_MS)
    expect(applied).toEqual([{ ...INITIAL, worker: 'worker-2' }])
  })

  it('keeps the current tokens while the new settings are invalid, and logs it once (D54)', async () => {
    const { time, lines, applied, source } = watched()
    source.reading = {
      kind: 'invalid',
      faults: [{ name: 'SVC_TOKEN_SCOPES', problem: 'SVC_TOKEN_SCOPES is not a JSON object' }],
    }
    await time.advance(3 * EVERY_MS)
    expect(applied).toEqual([])
    expect(lines.filter(({ level }) => level === 'error')).toHaveLength(1)
    source.reading = { kind: 'valid', tokens: { ...INITIAL, admin: 'admin-2' } }
    await time.advance(EVERY_MS)
    expect(applied).toHaveLength(1)
  })

  it('keeps the current tokens when the new settings lack an admin or a worker token (D54)', async () => {
    const { time, applied, source } = watched()
    for (const tokens of [
      { ...INITIAL, admin: null },
      { ...INITIAL, worker: null },
    ]) {
      source.reading = { kind: 'valid', tokens }
      await time.advance(EVERY_MS)
    }
    expect(applied).toEqual([])
  })

  it('stops reading after it was stopped', async () => {
    const { time, source } = watched()
    stops.splice(0).forEach((stop) => stop())
    await time.advance(10 * EVERY_MS)
    expect(source.reads).toBe(0)
  })
})
