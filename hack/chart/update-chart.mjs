#!/usr/bin/env node
// Writes the generated files of charts/muster.
// Usage: node hack/chart/update-chart.mjs    Exit: 0 written or up to date.
import { fileURLToPath } from 'node:url'
import { chartFiles } from './files.mjs'
import { write } from '../generated.mjs'

process.chdir(fileURLToPath(new URL('../..', import.meta.url)))
write(chartFiles())
