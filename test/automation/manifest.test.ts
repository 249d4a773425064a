/** Tests automations that a manifest declares without code. */
import { beforeEach, describe, expect, it } from '@jest/globals'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import {
  AutomationError,
  buildCatalog,
  defineBatch,
  defineContinuous,
  isRunnable,
  loadAutomations,
  manifestOf,
  Type,
  type Catalog,
  type InstalledAutomation,
} from '../../src/automation/index.ts'
import { httpProbe, httpRequest } from '../../src/automations/index.ts'
import { temporaryFolder } from '../kit/temporary-folder.ts'

let directory: string
beforeEach(() => {
  directory = temporaryFolder()
})

const CRAWLER = `
muster: automation/v1
type: page-crawler
kind: batch
config: {type: object, properties: {depth: {type: integer, default: 2}}}
payload: {type: object, required: [url], properties: {url: {type: string, format: uri}}}
output: {type: object, properties: {bytes: {type: integer}}}
pools: {proxies: {payload: {type: object}, tags: {type: object}}}
visibility_timeout_seconds: 120
retain_seconds: 90
retry: {base_seconds: 2, factor: 3, cap_seconds: 60}
groups: {max_in_flight: 3, rate: {tasks: 10, per_seconds: 0.5}}
dev: {command: [python3, my_worker.py]}
`

function write(name: string, text: string): string {
  writeFileSync(join(directory, name), text)
  return `./${name}`
}

async function load(...specifiers: readonly string[]): Promise<Catalog> {
  return buildCatalog(await loadAutomations({ specifiers, directory }))
}

/** The faults of a manifest, without its name. */
async function faultsOf(text: string, name = 'a.automation.yaml'): Promise<readonly string[]> {
  const specifier = write(name, text)
  const error: unknown = await load(specifier).then(
    () => undefined,
    (thrown: unknown) => thrown,
  )
  if (!(error instanceof AutomationError)) throw new Error(`expected an AutomationError, got ${String(error)}`)
  return error.faults.map((fault) => fault.replace(`manifest ${specifier}: `, ''))
}

/** What the catalog says of a type, without the parts that belong to its code and without compiled functions. */
const declaredBy = (catalog: Catalog, type: string): unknown => {
  const entry = catalog.get(type)
  return JSON.parse(JSON.stringify({ ...entry, pools: [...(entry?.pools ?? [])], run: null, devCommand: null }))
}

describe('a manifest', () => {
  it('declares the same as a module with the same schemas (D108)', async () => {
    const catalog = await load(write('crawler.automation.yaml', CRAWLER))
    const module = defineBatch({
      type: 'page-crawler',
      config: { type: 'object', properties: { depth: { type: 'integer', default: 2 } } },
      payload: { type: 'object', required: ['url'], properties: { url: { type: 'string', format: 'uri' } } },
      output: { type: 'object', properties: { bytes: { type: 'integer' } } },
      pools: { proxies: { payload: { type: 'object' }, tags: { type: 'object' } } },
      visibilityTimeoutSeconds: 120,
      retainSeconds: 90,
      retry: { baseSeconds: 2, factor: 3, capSeconds: 60 },
      groups: { maxInFlight: 3, rate: { tasks: 10, perSeconds: 0.5, burst: 10 } },
      run: () => {},
    })
    expect(declaredBy(catalog, 'page-crawler')).toEqual(declaredBy(buildCatalog([module]), 'page-crawler'))
    expect(catalog.get('page-crawler')).toMatchObject({ name: 'PageCrawler', visibilityMs: 120_000 })
    expect(catalog.get('page-crawler')).toMatchObject({ run: null, devCommand: ['python3', 'my_worker.py'] })
    expect(isRunnable(catalog.get('page-crawler'))).toBe(false)
  })

  it('has the defaults of a module, for both kinds, in JSON and in a list', async () => {
    const list = [
      { muster: 'automation/v1', type: 'small', kind: 'batch', payload: {} },
      { muster: 'automation/v1', type: 'watch', kind: 'continuous', class: 'Watcher' },
    ]
    const catalog = await load(write('two.automation.json', JSON.stringify(list)))
    const modules = buildCatalog([
      defineBatch({ type: 'small', payload: {}, run: () => {} }),
      defineContinuous({ type: 'watch', name: 'Watcher', run: () => {} }),
    ])
    for (const type of ['small', 'watch']) expect(declaredBy(catalog, type)).toEqual(declaredBy(modules, type))
    expect(catalog.get('small')?.devCommand).toBeUndefined()
  })

  it('is as the page of automations shows it', async () => {
    const page = readFileSync(new URL('../../src/automation/README.md', import.meta.url), 'utf8')
    const [, example = ''] = /```yaml crawler\.automation\.yaml\n([^]*?)```/.exec(page) ?? []
    const catalog = await load(write('crawler.automation.yaml', example))
    expect(catalog.get('crawler')).toMatchObject({ name: 'Crawler', visibilityMs: 120_000, defaults: { depth: 2 } })
  })

  it('names the automation and the field of every fault (D108)', async () => {
    const faulty = [
      { muster: 'automation/v2', type: 'a', kind: 'batch', payload: {} },
      { muster: 'automation/v1', type: 'B', kind: 'continuous', payload: {} },
      { muster: 'automation/v1', type: 'c', kind: 'cron' },
      { muster: 'automation/v1', type: 'd', kind: 'batch', payload: {}, visibility_timeout_seconds: 0 },
      7,
    ]
    expect(await faultsOf(JSON.stringify(faulty))).toEqual([
      'automation "a": /muster must be "automation/v1", the version of this format',
      'automation "B": /payload is not a known field',
      expect.stringMatching(/^automation "B": \/type must match pattern/),
      'automation "c": /kind must be "batch" or "continuous"',
      'automation "d": /visibility_timeout_seconds must be >= 1',
      'manifest 5 of 5: must be an object',
    ])
    expect(await faultsOf(`${CRAWLER}\nretries: 3\n`)).toEqual([
      expect.stringMatching(/^automation "page-crawler": .*retries/),
    ])
    expect(await faultsOf(CRAWLER.replace('cap_seconds: 60', 'cap_seconds: 1'))).toEqual([
      'automation "page-crawler": /retry/cap_seconds must be >= base_seconds (2)',
    ])
    expect(await faultsOf(CRAWLER.replace('per_seconds: 0.5', 'per_seconds: 0'))).toEqual([
      'automation "page-crawler": /groups/rate/per_seconds must be > 0',
    ])
    expect(await faultsOf('[]')).toEqual(['declares no automation'])
  })

  it('has its schemas checked as those of a module are', async () => {
    expect(await faultsOf(CRAWLER.replace('depth: {type: integer', 'depth: {type: whole'))).toEqual([
      expect.stringMatching(/automation "page-crawler": \/config\/properties\/depth/),
    ])
    expect(
      await faultsOf(CRAWLER.replace('payload: {type: object, required', 'payload: {type: array, required')),
    ).toEqual(['automation "page-crawler": /payload/type must be "object": only objects travel'])
  })

  it('names the line of text that is not YAML, and refuses several documents', async () => {
    expect(await faultsOf(`${CRAWLER}\n  x: [1\n`)).toEqual([expect.stringMatching(/^line \d+: /)])
    expect(await faultsOf(`${CRAWLER}---${CRAWLER}`)).toEqual([
      expect.stringMatching(/^line \d+: has several documents; declare several automations in one list$/),
    ])
    expect(await faultsOf('{"muster": "automation/v1", "type": }', 'b.automation.json')).not.toEqual([])
  })

  it('is at most 1 MiB and uses at most 100 aliases', async () => {
    expect(await faultsOf(`${CRAWLER}#${'x'.repeat(1_048_576)}`)).toEqual([
      expect.stringMatching(/^is larger than 1 MiB \(\d+ bytes\)$/),
    ])
    const bomb = [
      'a: &a [x, x, x, x, x, x, x, x, x, x]',
      'b: &b [*a, *a, *a, *a, *a, *a, *a, *a, *a, *a]',
      'c: [*b, *b, *b, *b, *b, *b, *b, *b, *b, *b, *b, *b]',
    ].join('\n')
    expect(await faultsOf(`${CRAWLER}${bomb}\n`)).toEqual(['uses more than 100 aliases'])
  })

  it('declares no type that a module or another manifest declares (D108)', async () => {
    const one = write('one.automation.yaml', CRAWLER)
    const two = write('two.automation.yml', CRAWLER)
    await expect(load(one, two)).rejects.toThrow(
      `automation "page-crawler": is defined 2 times, in manifest ${one} and manifest ${two}`,
    )
    await expect(load('./none.automation.yaml')).rejects.toThrow(
      `manifest ./none.automation.yaml: there is no file ${join(directory, 'none.automation.yaml')}`,
    )
  })
})

describe('the manifest of an automation with code', () => {
  /** What the master knows of an automation, as JSON: without code and the markers of TypeBox. */
  const declared = (automation: InstalledAutomation): unknown =>
    JSON.parse(JSON.stringify({ ...automation, run: undefined }))
  const full = defineBatch({
    type: 'page-crawler',
    name: 'Spider',
    config: Type.Object({ depth: Type.Integer({ default: 2 }), password: Type.String({ writeOnly: true }) }),
    payload: Type.Object({ url: Type.String({ format: 'uri' }) }),
    output: Type.Object({ bytes: Type.Integer() }),
    result: Type.Object({ pages: Type.Integer() }),
    pools: { proxies: { payload: Type.Object({}), tags: Type.Object({ row: Type.Optional(Type.String()) }) } },
    visibilityTimeoutSeconds: 90.5,
    retainSeconds: 3_600,
    retry: { baseSeconds: 0.5, factor: 3, capSeconds: 60 },
    groups: { maxInFlight: 2, rate: { tasks: 5, perSeconds: 60, burst: 1 } },
    run: () => ({ pages: 1 }),
  })
  const fair = defineBatch({ type: 'fair', payload: {}, groups: {}, run: () => undefined })
  const plain = defineContinuous({ type: 'ticks', run: () => undefined })

  it.each([httpProbe, httpRequest, full, fair, plain])(
    'declares $type as its module does (D112)',
    async (automation) => {
      const file = write('a.automation.json', JSON.stringify(manifestOf(automation)))
      const [read] = await loadAutomations({ specifiers: [file], directory })
      expect(read && declared(read)).toEqual(declared(automation))
    },
  )

  it('leaves out what equals a default', () => {
    expect(manifestOf(plain)).toEqual({
      muster: 'automation/v1',
      type: 'ticks',
      kind: 'continuous',
      config: { type: 'object', properties: {} },
    })
    expect(Object.keys(manifestOf(full))).toEqual([
      'muster',
      'type',
      'kind',
      'class',
      'config',
      'payload',
      'output',
      'result',
      'pools',
      'visibility_timeout_seconds',
      'retain_seconds',
      'retry',
      'groups',
    ])
    expect(manifestOf(fair)).toMatchObject({ groups: {} })
  })

  it('keeps the command of a manifest', async () => {
    const [crawler] = await loadAutomations({ specifiers: [write('c.automation.yaml', CRAWLER)], directory })
    expect(crawler && manifestOf(crawler)).toMatchObject({ dev: { command: ['python3', 'my_worker.py'] } })
  })
})
