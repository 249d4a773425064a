/** Shifts the wall clock of a server that runs under `clockstep.c`. */
import { spawnSync } from 'node:child_process'
import { closeSync, openSync, writeSync } from 'node:fs'
import { join } from 'node:path'

const SOURCE = join(import.meta.dirname, 'clockstep.c')

export class SteppedClock {
  /** Runs the program that follows it under this clock. */
  readonly command: readonly string[]
  readonly #file: number

  /** @param folder For the library and the file of the shift. */
  constructor(folder: string) {
    const [library, file] = [join(folder, 'clockstep.so'), join(folder, 'clockstep')]
    const { status, stderr } = spawnSync('gcc', ['-shared', '-fPIC', '-O1', '-o', library, SOURCE])
    if (status !== 0) throw new Error(`gcc failed: ${stderr.toString()}`)
    this.#file = openSync(file, 'w+')
    this.command = ['env', `LD_PRELOAD=${library}`, `CLOCKSTEP_FILE=${file}`]
    this.shift(0)
  }

  /** @param ms From the clock of the machine. */
  shift(ms: number): void {
    const bytes = Buffer.alloc(8)
    bytes.writeBigInt64LE(BigInt(ms))
    writeSync(this.#file, bytes, 0, bytes.length, 0)
  }

  close(): void {
    closeSync(this.#file)
  }
}
