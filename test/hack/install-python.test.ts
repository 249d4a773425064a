// Runs the script with a fake python3 in PATH. Its "virtual environment" contains a fake of itself, which records the
// calls of pip.
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, describe, expect, it } from '@jest/globals'
import { type Ran, hackPath, started, Tree } from './tree.ts'

const trees: Tree[] = []
afterEach(() => trees.splice(0).forEach((tree) => tree.remove()))

const PYTHON = `#!/bin/bash
case "$1 $2" in
  "-m venv") mkdir -p "$3/bin"; cp "$0" "$3/bin/python" ;;
  "-m pip") echo "$*" >>"$ROOT/notes"; [ -z "$NO_INDEX" ] ;;
esac
`

function machine(): {
  tree: Tree
  run: (env?: Record<string, string>) => Ran
  notes: () => string
  isReady: () => boolean
} {
  const tree = new Tree({
    'hack/install-python.sh*': readFileSync(hackPath('install-python.sh'), 'utf8'),
    'hack/install-debian.sh*': '#!/bin/bash\nexit 1\n',
    'hack/python-requirements.txt': 'a==1 --hash=sha256:0\n',
    'bin/python3*': PYTHON,
    notes: '',
  })
  trees.push(tree)
  const environment = { PATH: `${join(tree.root, 'bin')}:/usr/bin:/bin`, ROOT: tree.root }
  return {
    tree,
    run: (env = {}) => started(join(tree.root, 'hack/install-python.sh'), [], { ...environment, ...env }),
    notes: () => readFileSync(join(tree.root, 'notes'), 'utf8'),
    isReady: () => existsSync(join(tree.root, '.tools/python/bin/python')),
  }
}

describe('hack/install-python', () => {
  it('installs the pinned packages once, by hash and without building', () => {
    const { run, notes, isReady } = machine()
    expect(run()).toMatchObject({ status: 0, stderr: '' })
    expect(isReady()).toBe(true)
    expect(notes()).toMatch(
      /^-m pip install .*--require-hashes --only-binary :all: --requirement hack\/python-requirements\.txt\n$/,
    )
    expect(run()).toEqual({ status: 0, stdout: '', stderr: '' })
    expect(notes().split('\n')).toHaveLength(2)
  })

  it('installs again after the pins changed', () => {
    const { tree, run, notes } = machine()
    run()
    writeFileSync(join(tree.root, 'hack/python-requirements.txt'), 'a==2 --hash=sha256:0\n')
    expect(run().status).toBe(0)
    expect(notes().split('\n')).toHaveLength(3)
  })

  it.each([
    ['no registry', { NO_INDEX: '1' }, PYTHON],
    ['only an old Python', {}, '#!/bin/bash\nexit 1\n'],
  ])('continues without them and leaves nothing behind, but fails with CI=true: %s', (_, env, fake) => {
    const { tree, run, isReady } = machine()
    writeFileSync(join(tree.root, 'bin/python3'), fake)
    const plain = run(env)
    expect(plain).toMatchObject({
      status: 0,
      stderr: expect.stringContaining('could not be installed; tests that need them are skipped'),
    })
    expect(isReady()).toBe(false)
    expect(run({ ...env, CI: 'true' })).toMatchObject({
      status: 1,
      stderr: expect.stringContaining('CI=true: they must be installed'),
    })
  })
})
