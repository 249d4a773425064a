// Runs the script with fake programs in PATH: `apt-get` records its calls and "installs" by writing a program.
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, describe, expect, it } from '@jest/globals'
import { type Ran, hackPath, started, Tree } from './tree.ts'

const trees: Tree[] = []
afterEach(() => trees.splice(0).forEach((tree) => tree.remove()))

const program = (body: string): string => `#!/bin/bash\n${body}\n`
const NOTES = 'echo "$(basename "$0") $*" >>"$(dirname "$0")/../notes"\n'
const WRITES_PROGRAM =
  '[ "$1" = install ] && { printf "#!/bin/sh\\n" >"$(dirname "$0")/${@: ' +
  '-1}"; chmod +x "$(dirname "$0")/${@: -1}"; }; exit 0'

/** A copy of the script in its own tree, so that .tools is inside of it. */
function machine(fakes: { uid: number; aptGet: string }): {
  tree: Tree
  run: (names: string[], env?: Record<string, string>) => Ran
  notes: () => string[]
} {
  const tree = new Tree({
    'hack/install-debian.sh*': readFileSync(hackPath('install-debian.sh'), 'utf8'),
    'bin/id*': program(`echo ${fakes.uid}`),
    'bin/apt-get*': program(NOTES + fakes.aptGet),
    'bin/present*': program('exit 0'),
    notes: '',
  })
  trees.push(tree)
  const PATH = `${join(tree.root, 'bin')}:/usr/bin:/bin`
  return {
    tree,
    run: (names, env = {}) => started(join(tree.root, 'hack/install-debian.sh'), names, { PATH, ...env }),
    notes: () => readFileSync(join(tree.root, 'notes'), 'utf8').trim().split('\n').filter(Boolean),
  }
}

describe('hack/install-debian', () => {
  it('uses programs in PATH and prints nothing', () => {
    const { run, notes } = machine({ uid: 0, aptGet: WRITES_PROGRAM })
    expect(run(['present'])).toEqual({ status: 0, stdout: '', stderr: '' })
    expect(notes()).toEqual([])
  })

  it('installs the package as root, without recommended ones, with one line of progress', () => {
    const { run, notes } = machine({ uid: 0, aptGet: WRITES_PROGRAM })
    expect(run(['present', 'muster-test-a'])).toEqual({
      status: 0,
      stdout: 'installing muster-test-a (Debian package)\n',
      stderr: '',
    })
    expect(notes()).toEqual(['apt-get install --yes --no-install-recommends muster-test-a'])
    expect(run(['muster-test-a']).stdout).toBe('')
  })

  it('rejects options as package names, and lists what it accepts', () => {
    const { run, notes } = machine({ uid: 0, aptGet: WRITES_PROGRAM })
    for (const words of [['--help'], ['present', '-h'], []])
      expect(run(words)).toEqual({
        status: 1,
        stdout: '',
        stderr: 'name Debian packages, and nothing else: hack/install-debian.sh NAME…\n',
      })
    expect(notes()).toEqual([])
  })

  it('updates the package lists once if they lack a package', () => {
    const { run, notes } = machine({ uid: 0, aptGet: 'exit 100' })
    writeFileSync(join(trees.at(-1)?.root ?? '', 'bin/apt-get'), program(`${NOTES}[ "$1" = update ]`))
    expect(run(['muster-test-a', 'muster-test-b']).status).toBe(0)
    expect(notes().filter((line) => line === 'apt-get update')).toHaveLength(1)
  })

  it('continues without an unavailable package, and fails with CI=true', () => {
    const { run } = machine({ uid: 0, aptGet: 'exit 100' })
    const plain = run(['muster-test-a'])
    expect(plain.status).toBe(0)
    expect(plain.stderr).toContain('muster-test-a: could not be installed')
    const strict = run(['muster-test-a'], { CI: 'true' })
    expect(strict.status).toBe(1)
    expect(strict.stderr).toContain('CI=true: muster-test-a must be installed')
  })

  it('unpacks into .tools as another user and starts the program with its libraries', () => {
    const aptGet = [
      'if [ "$2" = --simulate ]; then echo "Inst libtest (1.0)"; echo "Inst muster-test-a (1.0)"; fi',
      'if [ "$1" = download ]; then touch libtest_1.deb muster-test-a_1.deb; fi',
    ].join('\n')
    const { run, tree, notes } = machine({ uid: 1000, aptGet })
    const unpacked =
      'mkdir -p "$3/usr/bin"; printf "#!/bin/sh\\necho \\$LD_LIBRARY_PATH \\$*\\n" >"$3/usr/bin/muster-test-a"; ' +
      'chmod +x "$3/usr/bin/muster-test-a"'
    writeFileSync(join(tree.root, 'bin/dpkg-deb'), program(unpacked), { mode: 0o755 })
    expect(run(['muster-test-a'])).toMatchObject({ status: 0, stderr: '' })
    expect(notes()).toContain('apt-get download libtest muster-test-a')
    const said = started(join(tree.root, '.tools/bin/muster-test-a'), ['--version']).stdout
    expect(said).toContain('/debian/usr/lib/')
    expect(said).toMatch(/ --version\n$/)
  })
})
