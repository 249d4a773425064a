#!/usr/bin/env node
// Packs the chart for Helm, so that the same files always give the same bytes.
// Usage: node hack/chart/pack.mjs [CHART [FOLDER]]    Writes FOLDER/NAME-VERSION.tgz; without them charts/muster into
// test/chart/releases.
// Exit: 0 written or already present, 1 the file exists with another content: a released chart is never changed.
import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { basename, dirname, join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { gunzipSync, gzipSync } from 'node:zlib'
import { parse } from 'yaml'
import { tar } from '../tar.mjs'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))
const [chart = join(ROOT, 'charts/muster'), folder = join(ROOT, 'test/chart/releases')] = process.argv
  .slice(2)
  .map((path) => resolve(path))
const { name, version } = parse(readFileSync(join(chart, 'Chart.yaml'), 'utf8'))
const path = join(folder, `${name}-${version}.tgz`)
const packed = tar(dirname(chart), basename(chart))

if (!existsSync(path)) {
  mkdirSync(folder, { recursive: true })
  writeFileSync(`${path}.tmp`, gzipSync(packed, { level: 9 }))
  renameSync(`${path}.tmp`, path)
  console.log(`${path}: written`)
} else if (gunzipSync(readFileSync(path)).equals(packed)) console.log(`${path}: unchanged`)
else {
  console.error(
    `${path}: exists and contains another chart; raise the version ` +
      'in package.json and run node hack/chart/update-chart.mjs, or remove the file if it was not published yet',
  )
  process.exitCode = 1
}
