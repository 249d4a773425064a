/**
 * Checks that Prometheus and Grafana of examples/grafana find what they name: the metrics of a real master, the rules,
 * and dashboards that query only exported metrics.
 */
import { existsSync, globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from '@jest/globals'
import { parse } from 'yaml'
import { runMaster } from '../kit/running-master.ts'

const EXAMPLE = 'examples/grafana'
const read = <T>(file: string, as: (content: unknown) => T): T => as(parse(readFileSync(join(EXAMPLE, file), 'utf8')))
const prometheus = read(
  'prometheus.yml',
  (content) =>
    content as { readonly scrape_configs: readonly { metrics_path: string }[]; readonly rule_files: readonly string[] },
)
const { options } = read(
  'provisioning/dashboards/muster.yml',
  (content) =>
    (content as { readonly providers: readonly [{ readonly options: { readonly path: string } }] }).providers[0],
)
const DASHBOARDS = options.path.replace('PATH_OF_THE_CLONE/', '')
const METRIC = /\b(?:svc|controller_runtime|workqueue|leader_election|rest_client)_[a-z_]+/g

describe('examples/grafana', () => {
  it('scrapes a path that the master serves without a token', async () => {
    const master = await runMaster()
    const responses = await Promise.all(
      prometheus.scrape_configs.map(({ metrics_path }) => master.call('GET', metrics_path, { token: '' })),
    )
    expect(responses.map(({ status, text }) => [status, text.includes('svc_master_up 1')])).toEqual([[200, true]])
  })

  it('loads rules that exist', () => {
    expect(prometheus.rule_files.filter((file) => !existsSync(join(EXAMPLE, file)))).toEqual([])
  })

  it('loads dashboards that query only documented metrics', () => {
    const pages = ['src/master/README.md', 'src/operator/README.md']
      .map((page) => readFileSync(page, 'utf8'))
      .join('\n')
    const documented = [...pages.matchAll(/^\| `([a-z_]+)` \| (?:gauge|counter|histogram)/gm)].map(([, name]) => name)
    const files = globSync(`${DASHBOARDS}/*.json`)
    const names = files.flatMap((file) => [...readFileSync(file, 'utf8').matchAll(METRIC)].map(([name]) => name))
    expect(files.length).toBe(2)
    expect(names.length).toBeGreaterThan(20)
    const unknown = names
      .map((name) => name.replace(/_(bucket|count|sum)$/, ''))
      .filter((name) => !documented.includes(name))
    expect(unknown).toEqual([])
  })
})
