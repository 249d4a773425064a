/**
 * @module master/http/dashboard
 * The dashboard: one page and its files, served without a token: a browser cannot send one while navigating, and every
 * datum in the page is fetched with it (D20, D59).
 *
 * The files are those that stood in `assets/` at start. A request names one of that list or gets 404: no path is ever
 * made from what a client sent. Names carry a hash of their content, so browsers may keep them for ever.
 */
import { readdir, readFile } from 'node:fs/promises'
import { extname, join } from 'node:path'
import { FleetError } from '../../protocol/index.ts'
import type { Part } from '../deps.ts'
import { route, type Answer } from './route.ts'

const PAGE_HEADERS = {
  'content-type': 'text/html; charset=utf-8',
  'content-security-policy':
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; worker-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types muster",
  'referrer-policy': 'no-referrer',
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
} as const

const TYPES: Readonly<Record<string, string>> = {
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
  '.png': 'image/png',
  '.ico': 'image/x-icon',
  '.woff2': 'font/woff2',
  '.json': 'application/json; charset=utf-8',
  '.map': 'application/json; charset=utf-8',
}
const HASHED = /-[\w-]{8}\.\w+(\.map)?$/
/** Made at build beside the file; the first that the client takes is sent. */
const ENCODINGS = [
  ['br', '.br'],
  ['gzip', '.gz'],
] as const

const NOT_BUILT =
  '<!doctype html><html lang="en"><title>Muster</title><p>The dashboard is not built. Run <code>npm run build</code> and start the master again; the API under /api/v1 works without it.\n'

/** @param directory holds index.html and assets/; null: the page was not built. */
export async function createDashboard(directory: string | null): Promise<Part> {
  const assets = directory === null ? '' : join(directory, 'assets')
  const files: ReadonlySet<string> = new Set(directory === null ? [] : await readdir(assets).catch(() => []))
  return {
    routes: [
      route({
        method: 'GET',
        path: '/',
        access: 'none',
        summary: 'The dashboard.',
        media: 'text/html',
        others: { 404: { description: 'The dashboard is not built.', media: 'text/html' } },
        handle: async () => {
          const page =
            directory === null ? null : await readFile(join(directory, 'index.html'), 'utf8').catch(() => null)
          return page === null
            ? { status: 404, headers: PAGE_HEADERS, body: NOT_BUILT }
            : { headers: PAGE_HEADERS, body: page }
        },
      }),
      route({
        method: 'GET',
        path: '/assets/{file}',
        access: 'none',
        summary: 'A file of the dashboard.',
        media: '*/*',
        handle: ({ params, header }) => asset(assets, files, params['file'] ?? '', header('accept-encoding') ?? ''),
      }),
    ],
  }
}

async function asset(directory: string, files: ReadonlySet<string>, name: string, accepted: string): Promise<Answer> {
  if (!files.has(name)) throw new FleetError('NOT_FOUND', 'there is no such file')
  const [encoding, suffix] = ENCODINGS.find(
    ([each, end]) => new RegExp(`\\b${each}\\b`).test(accepted) && files.has(name + end),
  ) ?? ['identity', '']
  const body = await readFile(join(directory, name + suffix)).catch((error: unknown) => {
    throw new FleetError('NOT_FOUND', 'there is no such file', { cause: error })
  })
  return {
    headers: {
      'content-type': TYPES[extname(name)] ?? 'application/octet-stream',
      'cache-control': HASHED.test(name) ? 'public, max-age=31536000, immutable' : 'no-cache',
      'cross-origin-resource-policy': 'same-origin',
      vary: 'Accept-Encoding',
      ...(suffix === '' ? {} : { 'content-encoding': encoding }),
    },
    body,
  }
}
