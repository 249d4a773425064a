import { afterEach, describe, expect, it } from '@jest/globals'
import { type Files, type Ran, Tree } from './tree.ts'

const trees: Tree[] = []
afterEach(() => trees.splice(0).forEach((tree) => tree.remove()))

function verified(files: Files): Ran {
  const tree = new Tree(files)
  trees.push(tree)
  return tree.run('verify-imports.mjs')
}

describe('hack/verify-imports', () => {
  it('accepts imports through an index.ts along the layout, and deep ones within an area', () => {
    const { status, stderr } = verified({
      'src/protocol/index.ts': "export * from './limits.ts'\n",
      'src/master/http/routes.ts':
        "import { MAX } from '../../protocol/index.ts'\n" +
        "import { queue } from '../queue/reserve.ts'\n" +
        "import express from 'express'\n",
      'src/storage/sqlite/driver.ts':
        "import Database from 'better-sqlite3'\nimport type { Backend } from '../index.ts'\n",
      'src/dashboard/api.tsx': "import type { Overview } from '../protocol/index.ts'\nimport './page.css'\n",
      'src/cmd/worker.ts': "const { run } = await import('../worker/index.ts')\n",
    })
    expect(stderr).toBe('')
    expect(status).toBe(0)
  })

  it('reports imports against the layout, past an index.ts, or of a package outside of its area', () => {
    const { status, stderr } = verified({
      'src/protocol/frames.ts': "import { log } from '../runtime/index.ts'\n",
      'src/master/a.ts':
        "import { MemoryBackend } from '../storage/memory/index.ts'\nimport { x } from '../protocol/limits.ts'\n",
      'src/worker/b.ts':
        "import Redis from 'ioredis/built/index.js'\nconst { master } = await import('../master/index.ts')\n",
      'src/automations/c.ts': "export { z } from 'muster/storage'\n",
    })
    expect(status).toBe(1)
    expect(stderr.trim().split('\n')).toEqual([
      "src/automations/c.ts: 'muster/storage': automations may not import storage",
      "src/master/a.ts: '../storage/memory/index.ts': master may not import storage/memory",
      "src/master/a.ts: '../protocol/limits.ts': bypasses protocol/index.ts",
      "src/protocol/frames.ts: '../runtime/index.ts': protocol may not import runtime",
      "src/worker/b.ts: 'ioredis/built/index.js': only storage/redis may import this package",
      "src/worker/b.ts: '../master/index.ts': worker may not import master",
    ])
  })

  it('reports an import past the index.ts of a folder inside an area', () => {
    const { status, stderr } = verified({
      'src/master/auth/index.ts': "export type * from './principal.ts'\n",
      'src/master/auth/principal.ts': 'export type Principal = string\n',
      'src/master/http/route.ts': "import type { Principal } from '../auth/principal.ts'\n",
      'src/master/http/app.ts': "import type { Principal } from '../auth/index.ts'\n",
    })
    expect(stderr).toBe("src/master/http/route.ts: '../auth/principal.ts': bypasses master/auth/index.ts\n")
    expect(status).toBe(1)
  })

  it('reports folders of an area that import each other', () => {
    const { status, stderr } = verified({
      'src/master/auth/index.ts': "export * from './a.ts'\n",
      'src/master/auth/a.ts': "import { route } from '../http/index.ts'\n",
      'src/master/http/index.ts': "export * from './b.ts'\n",
      'src/master/http/b.ts': "import { audit } from '../audit/index.ts'\n",
      'src/master/audit/index.ts': "import type { Principal } from '../auth/index.ts'\n",
      'src/master/queue/a.ts': "import { route } from '../http/index.ts'\n",
    })
    expect(stderr.split('\n')).toContain(
      'src/master/auth: imports itself: master/auth -> master/http -> master/audit -> master/auth',
    )
    expect(stderr).not.toContain('master/queue')
    expect(status).toBe(1)
  })

  it('allows the dashboard to import types only', () => {
    const { stderr } = verified({
      'src/dashboard/api.ts': "import { MAX, type Overview } from '../protocol/index.ts'\n",
    })
    expect(stderr).toContain('the dashboard may import only types')
  })

  it('allows the dashboard to import the event reader as a value', () => {
    const { stderr, status } = verified({
      'src/dashboard/live.ts': "import { EventReader } from '../protocol/event-stream/index.ts'\n",
    })
    expect([stderr, status]).toEqual(['', 0])
  })

  it('reports packages and modules of Node that the published client reaches, with the path to them', () => {
    const { stderr, status } = verified({
      'src/client/public.ts':
        "import { call } from './call.ts'\nimport type { Automation } from '../automation/public.ts'\n",
      'src/client/call.ts':
        "import { sleep } from '../runtime/backoff/index.ts'\nimport { MAX } from '../protocol/plain.ts'\n",
      'src/automation/public.ts': "export { Type } from 'typebox'\n",
      'src/protocol/plain.ts': 'export const MAX = 1\n',
      'src/runtime/backoff/index.ts':
        "import { setTimeout } from 'node:timers/promises'\nimport type { Pool } from 'undici'\n",
    })
    expect(stderr).toBe(
      "src/client/public.ts: reaches 'node:timers/promises': " +
        'client/public.ts -> client/call.ts -> runtime/backoff/index.ts\n',
    )
    expect(status).toBe(1)
  })

  it('allows the client to import only types of automations', () => {
    const { stderr } = verified({
      'src/client/a.ts': "import { defineBatch } from '../automation/public.ts'\n",
      'src/automation/public.ts': 'export const defineBatch = 1\n',
    })
    expect(stderr).toContain('the client may import only types')
  })

  it('rejects a file outside of all areas, even without imports', () => {
    const { status, stderr } = verified({ 'src/utils/strings.ts': 'export const EMPTY = 1\n' })
    expect(stderr).toBe('src/utils/strings.ts: no area of the layout holds this file\n')
    expect(status).toBe(1)
  })

  it('ignores imports in comments', () => {
    const { status } = verified({
      'src/protocol/a.ts': "/**\n * Not: import x from '../master/index.ts'\n */\nexport const A = 1\n",
    })
    expect(status).toBe(0)
  })

  it('reports a head comment that names another file', () => {
    const { status, stderr } = verified({
      'src/master/queue.ts': '/**\n * @module master/pump\n * Queues tasks.\n */\n',
      'src/master/sweep.ts': '/**\n * @module master/sweep\n * Sweeps.\n */\n',
    })
    expect(status).toBe(1)
    expect(stderr).toBe("src/master/queue.ts: its head says '@module master/pump', not 'master/queue'\n")
  })
})
