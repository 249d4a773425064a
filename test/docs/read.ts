// Runs a page as a reader would who types every command.
import { cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { once } from 'node:events'
import { homedir, tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { PYTHON_ENVIRONMENT } from '../kit/python-client.ts'
import { type Packed, writeTools } from './package.ts'
import { type Step, stepsOf } from './page.ts'
import { Terminal } from './terminal.ts'

const MODULES = fileURLToPath(new URL('../../node_modules', import.meta.url))
const INSTALLS = /^npm (?:install|i) muster$/m
const WRITTEN_PORT = /\b8080\b/g

export interface Shelf {
  readonly packed: Packed
  readonly makeTargets: ReadonlySet<string>
}

/** Returns a port with four digits, so that the columns match the page. */
async function freePort(): Promise<number> {
  const port = 2000 + Math.floor(Math.random() * 8000)
  const server = createServer().listen(port, '127.0.0.1')
  try {
    await once(server, 'listening')
  } catch {
    return freePort()
  }
  server.close()
  await once(server, 'close')
  return port
}

function environment(bin: string, home: string, port: number): NodeJS.ProcessEnv {
  return {
    ...PYTHON_ENVIRONMENT,
    PATH: [bin, dirname(process.execPath), PYTHON_ENVIRONMENT.PATH].join(':'),
    HOME: home,
    LANG: 'C.UTF-8',
    NO_COLOR: '1',
    GOCACHE: join(homedir(), '.cache/go-build'), // An empty one takes minutes.
    SVC_LISTEN: `127.0.0.1:${port}`,
    NPM_CONFIG_OFFLINE: 'true',
    NPM_CONFIG_LOGLEVEL: 'error',
    NPM_CONFIG_UPDATE_NOTIFIER: 'false',
    NPM_CONFIG_FUND: 'false',
    NPM_CONFIG_AUDIT: 'false',
  }
}

function checkTargets(script: string, known: ReadonlySet<string>): void {
  const named = [...script.matchAll(/^\s*make ([a-z][a-z0-9-]*)/gm)].map((match) => match[1] ?? '')
  const unknown = named.filter((target) => !known.has(target))
  if (unknown.length > 0) throw new Error(`make has no target ${unknown.join(', ')}`)
}

async function take(step: Step, terminal: Terminal, folder: string, { makeTargets }: Shelf): Promise<void> {
  switch (step.kind) {
    case 'file':
      mkdirSync(dirname(join(folder, step.name)), { recursive: true })
      return writeFileSync(join(folder, step.name), step.content)
    case 'clone':
      return checkTargets(step.script, makeTargets)
    case 'dev':
      return terminal.keep(step.script, step.expected)
    case 'run':
      return terminal.run(step.script, step.expected)
  }
}

async function takeAll(steps: readonly Step[], terminal: Terminal, folder: string, shelf: Shelf): Promise<void> {
  for (const step of steps) {
    await take(step, terminal, folder, shelf).catch((cause: unknown) => {
      throw new Error(`line ${step.line}: ${cause instanceof Error ? cause.message : String(cause)}`, { cause })
    })
  }
  await terminal.interrupt()
}

/**
 * Runs every step of a page. Rejects with the line and the difference at the first failure.
 * @param example the folder with which the page begins; without it, an empty one.
 */
export async function readPage(markdown: string, shelf: Shelf, example?: string): Promise<void> {
  const place = mkdtempSync(join(tmpdir(), 'muster-docs-'))
  const [folder, home, bin] = [join(place, 'reader'), join(place, 'home'), join(place, 'bin')]
  mkdirSync(home)
  if (example === undefined) mkdirSync(folder)
  else cpSync(example, folder, { recursive: true })
  writeTools(bin, shelf.packed, MODULES)
  const port = await freePort()
  const terminal = new Terminal(folder, home, environment(bin, home, port))
  const steps = stepsOf(markdown.replaceAll(WRITTEN_PORT, String(port)))
  try {
    if (!INSTALLS.test(markdown)) await terminal.run('npm install muster')
    await takeAll(steps, terminal, folder, shelf)
  } finally {
    await terminal.close()
    rmSync(place, { recursive: true, force: true })
  }
}
