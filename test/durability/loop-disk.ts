/**
 * LoopDisk is an ext4 file system in an image file, mounted through a loop device. What the kernel has not written to
 * the device is not in a copy of the image: a copy is the disk after a power cut. Needs root.
 */
import { spawnSync } from 'node:child_process'
import { accessSync, copyFileSync, mkdirSync, readFileSync, rmSync, truncateSync, writeFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { describe, it } from '@jest/globals'
import { eventually } from '../kit/eventually.ts'

const MIB = 1_048_576
/** The journal is written when a process calls fsync, and not by itself while an image is copied. */
const OPTIONS = 'noatime,commit=300'

/** Runs `define`, which describes tests. Without root, loop devices or ext4 it defines a named skip instead. */
export function withLoopDisks(name: string, define: () => void): void {
  if (hasLoopDevices()) define()
  else describe(name, () => it.skip('root, loop devices or mkfs.ext4 are missing', () => undefined))
}

function hasLoopDevices(): boolean {
  try {
    accessSync('/dev/loop-control')
  } catch {
    return false
  }
  const hasPrograms = ['mkfs.ext4', 'losetup'].every((name) => spawnSync(name, ['-V']).error === undefined)
  return process.getuid?.() === 0 && hasPrograms
}

export class LoopDisk {
  /** Where it is mounted. */
  readonly root: string
  readonly #image: string
  #device = ''
  readonly #onExit = (): void => this.close()

  /** @param path A new folder, which has the image and the mount point. */
  private constructor(path: string) {
    this.root = join(path, 'mounted')
    this.#image = join(path, 'image')
    mkdirSync(this.root, { recursive: true })
    process.once('exit', this.#onExit)
  }

  /** Makes an empty file system. */
  static create(path: string, mebibytes: number): LoopDisk {
    const disk = new LoopDisk(path)
    writeFileSync(disk.#image, '')
    truncateSync(disk.#image, mebibytes * MIB)
    run('mkfs.ext4', '-q', '-F', '-m', '0', disk.#image)
    disk.#mount()
    return disk
  }

  /** Mounts what {@link copyImage} copied, as after a power cut: the kernel replays the journal. */
  static of(path: string, image: string): LoopDisk {
    const disk = new LoopDisk(path)
    copyFileSync(image, disk.#image)
    disk.#mount()
    return disk
  }

  /** Copies what is on the device. If a process still writes, the copy may not be the disk of one moment. */
  async copyImage(to: string): Promise<void> {
    let before = ''
    await eventually('the device is idle', () => {
      const [last, now] = [before, this.#writes()]
      before = now
      return last === now
    })
    await eventually('an image is copied while nothing is written', () => {
      before = this.#writes()
      run('cp', '--sparse=always', this.#image, to)
      return before === this.#writes()
    })
  }

  /** Unmounts it, and removes the image. Repeatable. */
  close(): void {
    process.off('exit', this.#onExit)
    if (this.#device !== '') {
      const { status } = spawnSync('umount', [this.root])
      if (status !== 0) run('umount', '--lazy', this.root)
      spawnSync('losetup', ['--detach', this.#device]) // Or it detaches itself after a lazy unmount.
    }
    this.#device = ''
    rmSync(this.#image, { force: true })
  }

  #mount(): void {
    const device = run('losetup', '--find', '--show', this.#image)
    this.#device = device
    run('mount', '-t', 'ext4', '-o', OPTIONS, device, this.root)
  }

  /** Numbers that change with every write of the device: completed writes and flushes, and what is in flight. */
  #writes(): string {
    const numbers = readFileSync(`/sys/block/${basename(this.#device)}/stat`, 'utf8')
      .trim()
      .split(/ +/)
    const [writes, sectors, inFlight, flushes] = [numbers[4], numbers[6], numbers[8], numbers[15]]
    return inFlight === '0' ? [writes, sectors, flushes].join() : `in flight: ${process.hrtime.bigint()}`
  }
}

function run(program: string, ...args: readonly string[]): string {
  const { status, stdout, stderr, error } = spawnSync(program, args, { encoding: 'utf8' })
  if (status !== 0) throw new Error(`${program} ${args.join(' ')} failed: ${error?.message ?? stderr}`)
  return stdout.trim()
}
