/**
 * @module master/http/entity-tag
 * Makes and compares the entity tags of reads, so that a client that polls is sent what it does not have (RFC 9110
 * section 13.1.2). They are weak, because the same tag stands for the compressed and the plain body.
 */
import { createHash } from 'node:crypto'

/** 132 bits: a client that chooses part of a body cannot produce one with the tag of another body. */
const HASH_CHARS = 22
const TAG = /(?:W\/)?"([\x21\x23-\x7e\x80-\xff]*)"/g

/** Returns the tag of a body: `W/"…"`. @param chunks The body, in order. */
export function tagOf(chunks: Iterable<Uint8Array>): string {
  const hash = createHash('sha256')
  for (const chunk of chunks) hash.update(chunk)
  return `W/"${hash.digest('base64url').slice(0, HASH_CHARS)}"`
}

/**
 * Whether `If-None-Match` names the tag, by weak comparison.
 * @param header One tag, a list, or `*` for any. What is no tag matches nothing.
 */
export function matchesTag(header: string | undefined, tag: string): boolean {
  if (header === undefined) return false
  if (header.trim() === '*') return true
  const opaque = tag.slice(tag.indexOf('"') + 1, -1)
  return [...header.matchAll(TAG)].some(([, each]) => each === opaque)
}
