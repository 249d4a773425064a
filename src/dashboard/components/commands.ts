/**
 * @module dashboard/components/commands
 * Formats API calls as commands for a POSIX shell. Names from workers are quoted to prevent shell injection.
 */
import { addressOf, type Query } from '../api/client.ts'

export interface Command {
  /** `curl`, `muster`, `kubectl`. */
  readonly label: string
  readonly text: string
}

/** Quotes one argument with single quotes if it contains characters that are special in a shell. */
export const shellQuote = (text: string): string =>
  /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", String.raw`'\''`)}'`

export interface ApiRequest {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  /** Below `/api/v1`, not encoded. */
  readonly path: readonly string[]
  readonly query?: Query
  readonly body?: unknown
  readonly headers?: Readonly<Record<string, string>>
}

/** @param base `https://host/prefix/api/v1/` */
export function curlCommand(base: URL, { method, path, query = {}, body, headers = {} }: ApiRequest): Command {
  const text = [
    'curl -sS',
    ...(method === 'GET' ? [] : [`-X ${method}`]),
    '-H "Authorization: Bearer $SVC_API_TOKEN"',
    ...Object.entries(headers).map(([name, value]) => `-H ${shellQuote(`${name}: ${value}`)}`),
    ...(body === undefined ? [] : ["-H 'Content-Type: application/json'", `-d ${shellQuote(JSON.stringify(body))}`]),
    shellQuote(addressOf(base, path, query).href),
  ].join(' ')
  return { label: 'curl', text }
}

/** Formats a `muster` command for the master that serves this dashboard. */
export function musterCommand(base: URL, ...args: readonly string[]): Command {
  const master = base.href.replace(/\/api\/v1\/$/, '')
  return { label: 'muster', text: ['muster', ...args.map(shellQuote), '--master-url', shellQuote(master)].join(' ') }
}
