/**
 * A model of a disk and its page cache. It replays recorded operations and builds what a power cut could leave behind.
 *
 * The content of a file is durable after its fsync, and its name after an fsync of its folder. A failed fsync loses the
 * pages that it should have written: they stay readable in the page cache, and no later fsync writes them.
 */
import { mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import type { Random } from '../../src/runtime/index.ts'
import type { DiskOperation } from './crash-log.ts'

export const SECTOR_BYTES = 512

/**
 * What a crash keeps of the operations that were not synced. A: all, because only the process died. B: none. C: a
 * prefix, whose last write is torn at a sector. D: a random choice of names and sectors, with zeros in holes.
 */
export type Variant = 'A' | 'B' | 'C' | 'D'
export const VARIANTS: readonly Variant[] = ['A', 'B', 'C', 'D']

/** The files by path. A folder is `null`. */
export type DiskImage = ReadonlyMap<string, Buffer | null>

interface Change {
  readonly order: number
  readonly offset: number
  /** `null`: a truncation to `offset`. */
  readonly data: Buffer | null
}

/** Bytes that grow, with zeros in holes. */
class Content {
  #bytes: Buffer
  #size: number

  constructor(bytes: Buffer = Buffer.alloc(0)) {
    this.#bytes = Buffer.from(bytes)
    this.#size = bytes.length
  }

  get bytes(): Buffer {
    return this.#bytes.subarray(0, this.#size)
  }

  apply({ offset, data }: Pick<Change, 'offset' | 'data'>): void {
    this.resize(data === null ? offset : Math.max(this.#size, offset + data.length))
    data?.copy(this.#bytes, offset)
  }

  resize(size: number): void {
    if (size > this.#bytes.length)
      this.#bytes = Buffer.concat([this.#bytes, Buffer.alloc(2 * size - this.#bytes.length)])
    this.#bytes.fill(0, Math.min(size, this.#size), Math.max(size, this.#size))
    this.#size = size
  }
}

/** One file or folder, whatever its names are. */
class Inode {
  readonly isFolder: boolean
  readonly durable = new Content()
  readonly cached = new Content()
  unsynced: Change[] = []

  constructor(isFolder: boolean) {
    this.isFolder = isFolder
  }

  change(change: Change): void {
    this.cached.apply(change)
    this.unsynced.push(change)
  }

  sync(): void {
    for (const change of this.unsynced) this.durable.apply(change)
    this.unsynced = []
  }
}

/** A path that was given to an inode, or taken from it (`null`). */
interface NameChange {
  readonly order: number
  readonly path: string
  /** Of a rename: the path before. A crash leaves exactly one of the two. */
  readonly from: string | null
  readonly inode: Inode | null
}

export class Disk {
  readonly #areNamesOrdered: boolean
  readonly #durable = new Map<string, Inode>()
  readonly #cached = new Map<string, Inode>()
  #unsynced: NameChange[] = []
  #order = 0

  /** @param areNamesOrdered Variant D keeps the first changes of names, as file systems with a journal do. */
  constructor(areNamesOrdered = false) {
    this.#areNamesOrdered = areNamesOrdered
  }

  apply(operation: DiskOperation): void {
    const { kind, path, other, offset, data } = operation
    this.#order += 1
    switch (kind) {
      case 'mark':
      case 'fault':
        return
      case 'create':
      case 'mkdir':
        return this.#name(path, new Inode(kind === 'mkdir'))
      case 'write':
        return this.#inode(path).change({ order: this.#order, offset, data })
      case 'truncate':
        return this.#inode(path).change({ order: this.#order, offset, data: null })
      case 'unlink':
      case 'rmdir':
        return this.#name(path, null)
      case 'rename':
        return this.#name(other, this.#inode(path), path)
      case 'sync':
        return this.#sync(path)
      case 'failed_sync':
        if (!this.#isFolder(path)) this.#inode(path).unsynced = []
    }
  }

  /** Builds the files after a crash at this moment. The same `random` gives the same files. */
  image(variant: Variant, random: Random): DiskImage {
    switch (variant) {
      case 'A':
        return imageOf(this.#cached, ({ cached }) => cached.bytes)
      case 'B':
        return imageOf(this.#durable, ({ durable }) => durable.bytes)
      case 'C':
        return this.#prefix(random)
      case 'D': {
        const first = this.#areNamesOrdered ? Math.floor(random.unit() * (this.#unsynced.length + 1)) : 0
        const isFirst = new Set(this.#unsynced.slice(0, first))
        const names = this.#namesAfter((change) => (this.#areNamesOrdered ? isFirst.has(change) : random.unit() < 0.5))
        return imageOf(names, (inode) => withRandomSectors(inode, random))
      }
    }
  }

  #prefix(random: Random): DiskImage {
    const changes = [...new Set([...this.#durable.values(), ...this.#cached.values()])].flatMap(
      ({ unsynced }) => unsynced,
    )
    const orders = [...changes, ...this.#unsynced].map(({ order }) => order).toSorted((a, b) => a - b)
    const last = orders[Math.floor(random.unit() * (orders.length + 1))] ?? Infinity
    const share = random.unit()
    return imageOf(
      this.#namesAfter(({ order }) => order < last),
      ({ durable, unsynced }) => {
        const content = new Content(durable.bytes)
        for (const change of unsynced) {
          if (change.order < last) content.apply(change)
          else if (change.order === last) content.apply(torn(change, share))
        }
        return content.bytes
      },
    )
  }

  #namesAfter(isKept: (change: NameChange) => boolean): ReadonlyMap<string, Inode> {
    const names = new Map(this.#durable)
    for (const change of this.#unsynced) if (isKept(change)) setName(names, change)
    return names
  }

  #name(path: string, inode: Inode | null, from: string | null = null): void {
    const change = { order: this.#order, path, from, inode }
    setName(this.#cached, change)
    this.#unsynced.push(change)
  }

  #inode(path: string): Inode {
    const inode = this.#cached.get(path)
    if (inode === undefined) throw new Error(`${path} was changed before it was created`)
    return inode
  }

  #isFolder(path: string): boolean {
    return path === '' || this.#inode(path).isFolder
  }

  #sync(path: string): void {
    if (!this.#isFolder(path)) return this.#inode(path).sync()
    const isInFolder = ({ path: name, from }: NameChange): boolean =>
      folderOf(name) === path || (from !== null && folderOf(from) === path)
    for (const change of this.#unsynced) if (isInFolder(change)) setName(this.#durable, change)
    this.#unsynced = this.#unsynced.filter((change) => !isInFolder(change))
  }
}

const folderOf = (path: string): string => (dirname(path) === '.' ? '' : dirname(path))

function setName(names: Map<string, Inode>, { path, from, inode }: NameChange): void {
  if (from !== null) names.delete(from)
  if (inode === null) names.delete(path)
  else names.set(path, inode)
}

/** A name in a folder that has no name itself cannot be reached. */
function imageOf(names: ReadonlyMap<string, Inode>, contentOf: (inode: Inode) => Buffer): DiskImage {
  const isReachable = (path: string): boolean => {
    const folder = folderOf(path)
    return folder === '' || (names.get(folder)?.isFolder === true && isReachable(folder))
  }
  return new Map(
    [...names]
      .filter(([path]) => isReachable(path))
      .map(([path, inode]) => [path, inode.isFolder ? null : contentOf(inode)]),
  )
}

/** The part of a write in front of a sector boundary. A truncation is whole. */
function torn(change: Change, share: number): Change {
  const { offset, data } = change
  if (data === null) return change
  const end = offset + Math.floor(share * data.length)
  const boundary = Math.max(offset, Math.floor(end / SECTOR_BYTES) * SECTOR_BYTES)
  return { ...change, data: data.subarray(0, boundary - offset) }
}

/**
 * Each sector has its content after a random number of the changes that touched it, because a disk writes a sector
 * whole. The size is the newest one.
 */
function withRandomSectors({ durable, cached, unsynced }: Inode, random: Random): Buffer {
  const image = new Content(durable.bytes)
  image.resize(cached.bytes.length)
  const content = new Content(durable.bytes)
  const touches = new Map<number, number>()
  const changes = unsynced.map((change) => ({ change, sectors: sectorsOf(change, cached.bytes.length) }))
  for (const { sectors } of changes) for (const sector of sectors) touches.set(sector, (touches.get(sector) ?? 0) + 1)
  const kept = new Map([...touches].map(([sector, count]) => [sector, Math.floor(random.unit() * (count + 1))]))
  for (const { change, sectors } of changes) {
    content.apply(change)
    for (const sector of sectors) {
      const left = (kept.get(sector) ?? 0) - 1
      kept.set(sector, left)
      if (left !== 0) continue
      const start = sector * SECTOR_BYTES
      const bytes = Buffer.alloc(Math.min(SECTOR_BYTES, cached.bytes.length - start))
      content.bytes.subarray(start).copy(bytes)
      image.apply({ offset: start, data: bytes })
    }
  }
  return image.bytes
}

/** The sectors below `size` that a change touches; a truncation touches all sectors behind its end. */
function sectorsOf({ offset, data }: Change, size: number): readonly number[] {
  const end = Math.min(size, data === null ? size : offset + data.length)
  if (end <= offset) return []
  const first = Math.floor(offset / SECTOR_BYTES)
  return Array.from({ length: Math.ceil(end / SECTOR_BYTES) - first }, (_, i) => first + i)
}

export function writeImage(image: DiskImage, root: string): void {
  mkdirSync(root, { recursive: true })
  for (const [path, content] of [...image].toSorted(([a], [b]) => a.length - b.length)) {
    if (content === null) mkdirSync(join(root, path), { mode: 0o700 })
    else writeFileSync(join(root, path), content, { mode: 0o600 })
  }
}
