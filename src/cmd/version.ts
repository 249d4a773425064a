/**
 * @module cmd/version
 * The version of this package, read from the package.json beside the code (dist/) or above it (a checkout).
 */
import { findPackageJSON } from 'node:module'
import { readFileSync } from 'node:fs'

function read(): string {
  const file = findPackageJSON(import.meta.url)
  return file === undefined ? 'unknown' : (JSON.parse(readFileSync(file, 'utf8')) as { version: string }).version
}

export const VERSION = read()
