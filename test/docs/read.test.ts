// Tests the runner of documentation pages, with its own page and package.
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { Tree } from '../hack/tree.ts'
import { type Packed, pack } from './package.ts'
import { readPage } from './read.ts'
import { temporaryFolder } from '../kit/temporary-folder.ts'

const COMMAND = `#!/usr/bin/env node
import { createServer } from 'node:http'
const [verb] = process.argv.slice(2)
if (verb === 'dev') {
  const [host, port] = process.env.SVC_LISTEN.split(':')
  const server = createServer((_, response) => response.end('alive\\n')).listen(port, host, () => {
    console.error('starting after 123 ms')
    setTimeout(() => console.log('ready   http://' + process.env.SVC_LISTEN + '   state .muster'), 50)
  })
  process.on('SIGINT', () => { server.closeAllConnections(); server.close() })
} else if (verb === 'get') console.log(await (await fetch(process.env.SVC_MASTER_URL)).text())
else { console.error('unknown verb ' + verb); process.exitCode = 2 }
`
let tree: Tree
let folder: string
let packed: Packed
beforeAll(() => {
  folder = temporaryFolder()
  tree = new Tree({
    'package.json': JSON.stringify({
      name: 'muster',
      version: '0.0.1',
      type: 'module',
      bin: { muster: './cmd/muster.js' },
    }),
    'cmd/muster.js*': COMMAND,
  })
  packed = pack(tree.root, folder)
}, 60_000)
afterAll(() => {
  tree.remove()
})

const read = (markdown: string): Promise<void> =>
  readPage(markdown.replaceAll("'''", '```'), { packed, makeTargets: new Set(['dev', 'test']) })

describe('reading a page', () => {
  it('runs its commands in order against the package, with one that keeps running', async () => {
    await read(`# Quick start
'''sh clone
make dev
'''
'''sh
npm install muster
'''
'''sh dev
npx muster dev
'''
which prints
'''text
starting after … ms
ready   http://127.0.0.1:8080   state .muster
'''
'''sh
export SVC_MASTER_URL=http://127.0.0.1:8080
mkdir notes && cd notes
'''
'''json notes/a.json
{ "a": 1 }
'''
'''sh
npx muster get
cat a.json
'''
'''text
al…

…
'''
## Drawing
'''text
worker ──▶ master
'''
'''sh cluster
kubectl apply -f does-not-exist.yaml
'''
`)
  }, 60_000)

  it('finds the package installed if the page does not install it', async () => {
    await read(`'''sh\nnpx muster gett || echo "exit $?"\n'''\n'''text\nunknown verb gett\nexit 2\n'''\n`)
  }, 60_000)

  it.each([
    [
      'another output',
      `'''sh\necho one\n'''\n'''text\ntwo\n'''\n`,
      /^line 1: the page says:\ntwo\n\nprinted was:\none\n$/,
    ],
    ['unexpected output', `'''sh\necho one; echo two\n'''\n'''text\none\n'''\n`, /^line 1: the page says/],
    ['a command that fails', `text\n'''sh\nfalse\necho on\n'''\n`, /^line 2: exit 1 instead of 0/],
    ['an unknown target', `'''sh clone\nmake it-so\n'''\n`, /make has no target it-so/],
    ['an unknown kind of commands', `'''sh soon\nls\n'''\n`, /"sh soon" is not known/],
    [
      'a command that should keep running but ends',
      `'''sh dev\necho one\n'''\n'''text\ntwo\n'''\n`,
      /^line 1: it ended/,
    ],
    [
      'a command that Ctrl-C breaks',
      `'''sh dev\necho one; exec sleep 60\n'''\n`,
      /exit SIGINT after Ctrl-C instead of 0/,
    ],
  ])(
    'reports the line of %s',
    async (_, markdown, message) => {
      await expect(read(markdown)).rejects.toThrow(message)
    },
    60_000,
  )
})
