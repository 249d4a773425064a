/** Helpers for tests with virtual time and real sockets. */
import type { VirtualTime } from '../../src/runtime/index.ts'

const PATIENCE_MS = 4_000

/** Advances real I/O and virtual time, one millisecond per turn, until `holds` returns true. */
export async function advanceUntil(time: VirtualTime, what: string, holds: () => boolean): Promise<void> {
  const start = performance.now()
  while (!holds()) {
    if (performance.now() - start > PATIENCE_MS) throw new Error(`this did not come true: ${what}`)
    await time.advance(1)
  }
}

/** Runs real I/O while the virtual clock stands still. */
export async function runTurns(count = 40): Promise<void> {
  for (let turn = 0; turn < count; turn += 1) await new Promise((resolve) => void setImmediate(resolve))
}
