/**
 * @module master/http/dashboard
 * Serves the dashboard: one page and its files. They need no token, because a browser cannot send one while it
 * navigates. The page fetches all data with the token (D20, D59).
 *
 * The files of `assets/` are read once at start and served from memory, so a request costs neither a read nor a copy
 * (D71). A request must name one of them: no path is ever built from what a client sent. File names contain a hash of
 * the content, so browsers may cache them without a limit. Source maps are not served.
 */
import { readdir, readFile } from 'node:fs/promises'
import { extname, join } from 'node:path'
import { FleetError } from '../../protocol/index.ts'
import type { Part } from '../deps.ts'
import { route, type HandlerResult } from './route.ts'

const PAGE_HEADERS = {
  'content-type': 'text/html; charset=utf-8',
  'content-security-policy':
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; " +
    "worker-src 'self'; base-uri 'none'; form-action 'none'; " +
    "frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types muster",
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
}
const HASHED = /-[\w-]{8}\.\w+$/
const SOURCE_MAP = /\.map(?:\.br|\.gz)?$/
/** Compressed variants, created at build time. The first one that the client accepts is sent. */
const ENCODINGS = [
  ['br', '.br'],
  ['gzip', '.gz'],
] as const

const NOT_BUILT =
  '<!doctype html><html lang="en"><title>Muster</title><p>The dashboard is not built. ' +
  'Run <code>npm run build</code> and start the master again; the API under /api/v1 works without it.\n'

/** The contents of the files, by name. */
type Assets = ReadonlyMap<string, Uint8Array>

/** @param directory Contains index.html and assets/; null if the dashboard was not built. */
export async function createDashboard(directory: string | null): Promise<Part> {
  const page = directory === null ? null : await readFile(join(directory, 'index.html')).catch(() => null)
  const assets: Assets = directory === null ? new Map() : await readAssets(join(directory, 'assets'))
  return {
    routes: [
      route({
        method: 'GET',
        path: '/',
        access: 'none',
        needs: null,
        summary: 'The dashboard.',
        media: 'text/html',
        others: { 404: { description: 'The dashboard is not built.', media: 'text/html' } },
        handle: () =>
          page === null
            ? { status: 404, headers: PAGE_HEADERS, body: NOT_BUILT }
            : { headers: PAGE_HEADERS, body: page },
      }),
      route({
        method: 'GET',
        path: '/assets/{file}',
        access: 'none',
        needs: null,
        summary: 'A file of the dashboard.',
        media: '*/*',
        handle: ({ params, header }) => asset(assets, params['file'] ?? '', header('accept-encoding') ?? ''),
      }),
    ],
  }
}

async function readAssets(directory: string): Promise<Assets> {
  const entries = await readdir(directory, { withFileTypes: true }).catch(() => [])
  const names = entries.filter((entry) => entry.isFile() && !SOURCE_MAP.test(entry.name)).map(({ name }) => name)
  return new Map(await Promise.all(names.map(async (name) => [name, await readFile(join(directory, name))] as const)))
}

function asset(assets: Assets, name: string, accepted: string): HandlerResult {
  const plain = assets.get(name)
  if (plain === undefined) throw new FleetError('NOT_FOUND', 'this file does not exist')
  const [encoding, suffix] = ENCODINGS.find(
    ([each, end]) => new RegExp(`\\b${each}\\b`).test(accepted) && assets.has(name + end),
  ) ?? ['identity', '']
  return {
    headers: {
      'content-type': TYPES[extname(name)] ?? 'application/octet-stream',
      'cache-control': HASHED.test(name) ? 'public, max-age=31536000, immutable' : 'no-cache',
      'cross-origin-resource-policy': 'same-origin',
      vary: 'Accept-Encoding',
      ...(suffix === '' ? {} : { 'content-encoding': encoding }),
    },
    body: assets.get(name + suffix) ?? plain,
  }
}
