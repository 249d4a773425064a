/** The model of the disk keeps what a disk has to keep, and may lose everything else. */
import { describe, expect, it } from '@jest/globals'
import { seededRandom } from '../../src/runtime/index.ts'
import type { DiskOperation } from './crash-log.ts'
import { Disk, SECTOR_BYTES, VARIANTS, type Variant } from './disk.ts'

type Step = readonly [kind: DiskOperation['kind'], path: string, content?: string, offset?: number]

const seeds = Array.from({ length: 200 }, (_, seed) => seed)

function after(
  steps: readonly Step[],
  variant: Variant,
  seed = 1,
  areNamesOrdered = false,
): Readonly<Record<string, string | null>> {
  const disk = new Disk(areNamesOrdered)
  for (const [kind, path, content = '', offset = 0] of steps)
    disk.apply({ kind, path, other: kind === 'rename' ? content : '', offset, data: Buffer.from(content) })
  const image = disk.image(variant, seededRandom(seed))
  return Object.fromEntries([...image].map(([path, bytes]) => [path, bytes === null ? null : bytes.toString()]))
}

/** The contents of `f` that 200 crashes of a variant leave. */
function contentsOf(steps: readonly Step[], variant: Variant): ReadonlySet<string | null | undefined> {
  return new Set(seeds.map((seed) => after(steps, variant, seed)['f']))
}

const FILE: readonly Step[] = [
  ['create', 'f'],
  ['sync', ''],
]
const SECTOR = (letter: string): string => letter.repeat(SECTOR_BYTES)
const HOLE = '\0'.repeat(SECTOR_BYTES)

describe('the model of a disk', () => {
  it.each(VARIANTS)('has in variant %s what was synced', (variant) => {
    expect(
      after(
        [
          ['mkdir', 'd'],
          ['sync', ''],
          ['create', 'd/f'],
          ['write', 'd/f', 'x'],
          ['sync', 'd/f'],
          ['sync', 'd'],
        ],
        variant,
      ),
    ).toEqual({ d: null, 'd/f': 'x' })
  })

  it('keeps in variant A everything, and in variant B nothing that was not synced', () => {
    const steps: readonly Step[] = [...FILE, ['write', 'f', 'abc'], ['sync', 'f'], ['write', 'f', 'XY', 2]]
    expect(after(steps, 'A')).toEqual({ f: 'abXY' })
    expect(after(steps, 'B')).toEqual({ f: 'abc' })
    expect(after([...FILE, ['write', 'f', 'abc'], ['sync', 'f'], ['truncate', 'f', '', 1]], 'B')).toEqual({ f: 'abc' })
  })

  it('has a name only after the sync of its folder, and of the folders above', () => {
    expect(
      after(
        [
          ['create', 'f'],
          ['write', 'f', 'x'],
          ['sync', 'f'],
        ],
        'B',
      ),
    ).toEqual({})
    expect(
      after(
        [
          ['mkdir', 'd'],
          ['create', 'd/f'],
          ['sync', 'd'],
        ],
        'B',
      ),
    ).toEqual({})
    expect(after([...FILE, ['unlink', 'f']], 'B')).toEqual({ f: '' })
    expect(after([...FILE, ['rename', 'f', 'g']], 'B')).toEqual({ f: '' })
    expect(after([...FILE, ['rename', 'f', 'g'], ['sync', '']], 'B')).toEqual({ g: '' })
  })

  it('leaves a renamed file exactly one of its names, and the newest changes of names are lost first', () => {
    const steps: readonly Step[] = [...FILE, ['write', 'f', 'x'], ['sync', 'f'], ['rename', 'f', 'g'], ['create', 'h']]
    const namesIn = (areNamesOrdered: boolean): ReadonlySet<string> =>
      new Set(
        seeds.map((seed) =>
          Object.keys(after(steps, 'D', seed, areNamesOrdered))
            .toSorted()
            .join(),
        ),
      )
    expect(namesIn(false)).toEqual(new Set(['f', 'g', 'f,h', 'g,h']))
    expect(namesIn(true)).toEqual(new Set(['f', 'g', 'g,h']))
  })

  it('keeps in variant C a prefix whose last write is torn at a sector', () => {
    const steps: readonly Step[] = [
      ...FILE,
      ['write', 'f', SECTOR('a') + SECTOR('b')],
      ['write', 'f', SECTOR('c'), 2 * SECTOR_BYTES],
    ]
    const [a, b, c] = [SECTOR('a'), SECTOR('b'), SECTOR('c')]
    expect(contentsOf(steps, 'C')).toEqual(new Set(['', a, a + b, a + b + c]))
  })

  it('keeps in variant D any sectors, each as it was after one of its writes', () => {
    const steps: readonly Step[] = [
      ...FILE,
      ['write', 'f', SECTOR('a')],
      ['sync', 'f'],
      ['write', 'f', SECTOR('b')],
      ['write', 'f', SECTOR('c')],
      ['write', 'f', SECTOR('d'), SECTOR_BYTES],
    ]
    const firsts = ['a', 'b', 'c'].map(SECTOR)
    expect(contentsOf(steps, 'D')).toEqual(
      new Set(firsts.flatMap((first) => [SECTOR('d'), HOLE].map((second) => first + second))),
    )
  })

  it('loses the pages of a failed fsync, although they can be read until the crash', () => {
    const steps: readonly Step[] = [
      ...FILE,
      ['write', 'f', 'x'],
      ['failed_sync', 'f'],
      ['write', 'f', 'y', 1],
      ['sync', 'f'],
    ]
    expect(after(steps, 'A')).toEqual({ f: 'xy' })
    expect(after(steps, 'B')).toEqual({ f: '\0y' })
  })
})
