/**
 * Runs hack/kind-up.sh without apt-get. No container engine runs here: docker, kind, kubectl and helm are programs that
 * record their calls.
 */
import { describe, expect, it } from '@jest/globals'
import { spawnSync } from 'node:child_process'
import { cpSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { temporaryFolder } from '../kit/temporary-folder.ts'

const folder = temporaryFolder()
const calls = join(folder, 'calls')
const bin = join(folder, 'bin')

function setUp(): void {
  mkdirSync(bin)
  cpSync('hack', join(folder, 'hack'), { recursive: true, filter: (path) => !path.includes('node_modules') })
  cpSync('package.json', join(folder, 'package.json'))
  for (const name of ['bash', 'dirname', 'mkdir', 'grep', 'awk', 'env']) {
    symlinkSync(spawnSync('which', [name], { encoding: 'utf8' }).stdout.trim(), join(bin, name))
  }
  symlinkSync(process.execPath, join(bin, 'node'))
  for (const name of ['docker', 'kind', 'kubectl', 'helm']) {
    writeFileSync(join(bin, name), `#!${join(bin, 'bash')}\necho "${name} $*" >>"${calls}"\n`, { mode: 0o755 })
  }
}

function kindUp(...words: readonly string[]): {
  readonly status: number | null
  readonly stderr: string
  readonly calls: string
} {
  writeFileSync(calls, '')
  const { status, stderr } = spawnSync(join(bin, 'bash'), [join(folder, 'hack/kind-up.sh'), ...words], {
    env: { PATH: bin, HOME: folder },
    encoding: 'utf8',
  })
  return { status, stderr, calls: readFileSync(calls, 'utf8') }
}

describe('hack/kind-up on a machine without apt-get', () => {
  setUp()
  const { version } = JSON.parse(readFileSync('package.json', 'utf8')) as { version: string }

  it('builds the image with Docker, and lets the cluster pull the image of the store', () => {
    const ran = kindUp()
    expect(ran).toMatchObject({ status: 0, stderr: '' })
    expect(ran.calls).toContain(`docker build --tag localhost/muster:${version} .`)
    expect(ran.calls).toContain(`kind load docker-image --name muster localhost/muster:${version}`)
    expect(ran.calls).toContain('helm upgrade --install muster charts/muster')
    expect(ran.calls).not.toContain('redis.embedded.image')
  })

  it('rejects --ingress, whose image it cannot build', () => {
    expect(kindUp('--ingress')).toMatchObject({
      status: 1,
      stderr: expect.stringContaining('leave --ingress out'),
      calls: '',
    })
  })
})
