// Packs folders into a tar. The same files always give the same bytes. Used by image/oci.mjs and chart/pack.mjs.
import { execFileSync } from 'node:child_process'

/** Of every file: were it that of the commit, each commit would change the layers that it did not touch. */
export const EPOCH = process.env.SOURCE_DATE_EPOCH ?? '0'
export const PLAIN = [
  '--sort=name',
  '--format=gnu',
  '--owner=0',
  '--group=0',
  '--numeric-owner',
  '--mode=u=rwX,go=rX',
  `--mtime=@${EPOCH}`,
]

/** What `folder` holds under these names. */
export const tar = (folder, ...names) =>
  execFileSync('tar', [...PLAIN, '-C', folder, '-cf', '-', ...names], { maxBuffer: 2 ** 31 })
