/**
 * Runs kube-score, checkov and yamllint on the render and on the files. Each finding needs a waiver in
 * test/chart/waivers.yaml, and test/chart/scores.json contains the scores (R3). A score is the percentage of passed
 * checks. Scores may only rise; UPDATE_SCORES=1 make test-chart ONLY=graders writes higher ones. polaris and
 * kube-linter are not used, because neither is available as a Go module.
 */
import { beforeAll, describe, expect, it } from '@jest/globals'
import { readFileSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { parse } from 'yaml'
import { started } from '../hack/tree.ts'
import { render, run, SCENARIOS, type Json } from './chart.ts'
import { temporaryFolder } from '../kit/temporary-folder.ts'

interface Waiver {
  readonly tool: string
  readonly check: string
  readonly object: string
  readonly reason: string
}
interface Finding {
  readonly tool: string
  readonly check: string
  readonly object: string
}
type Grade = {
  readonly object_name: string
  readonly checks: readonly {
    readonly check: { readonly id: string }
    readonly grade: number
    readonly skipped: boolean
  }[]
}
type Report = {
  readonly summary: { readonly passed: number; readonly parsing_errors: number }
  readonly results: { readonly failed_checks: readonly { readonly check_id: string; readonly resource: string }[] }
}

const GRADED = ['default', 'production', 'everything']
const OK_GRADE = 10
const CHECKOV = resolve('.tools/checkov/bin/checkov')
const waivers = parse(readFileSync('test/chart/waivers.yaml', 'utf8')) as readonly Waiver[]
const SCORES = 'test/chart/scores.json'
const UPDATE = process.env['UPDATE_SCORES'] === '1'
type Scores = Readonly<Record<string, Readonly<Record<string, number>>>>
const isLike = (pattern: string, text: string): boolean => new RegExp(`^${pattern.replaceAll('*', '.*')}$`).test(text)
const waives = (waiver: Waiver, { tool, check, object }: Finding): boolean =>
  waiver.tool === tool && waiver.check === check && isLike(waiver.object, object)

/** Results of one tool for one scenario: the number of passed checks, and the failed ones. */
interface Graded {
  readonly tool: string
  readonly scenario: string
  readonly passed: number
  readonly findings: readonly Finding[]
}

/** The file of a rendered scenario, with the namespace that Helm would set. */
function inFile<T>(scenario: string, inside: (file: string) => T): T {
  const folder = temporaryFolder()
  const objects = render(SCENARIOS[scenario] as Json).map((each) => ({
    ...each,
    metadata: { namespace: 'muster', ...each.metadata },
  }))
  const file = join(folder, `${scenario}.yaml`)
  writeFileSync(file, objects.map((each) => JSON.stringify(each)).join('\n---\n'))
  return inside(file)
}

function kubeScore(scenario: string, file: string): Graded {
  const grades = JSON.parse(run('kube-score', ['score', '--output-format', 'json', file]).stdout) as readonly Grade[]
  const asked = grades.flatMap(({ object_name: id, checks }) =>
    checks.filter(({ skipped }) => !skipped).map(({ check, grade }) => ({ id, check: check.id, grade })),
  )
  const findings = asked
    .filter(({ grade }) => grade < OK_GRADE)
    .map(({ id, check }) => ({ tool: 'kube-score', check, object: id.replace(/^([^/]+)\/.*\/([^/]+)$/, '$1/$2') }))
  return { tool: 'kube-score', scenario, passed: asked.length - findings.length, findings }
}

function checkov(scenario: string, file: string): Graded {
  const { stdout, stderr } = started(CHECKOV, [
    '--file',
    file,
    '--framework',
    'kubernetes',
    '--output',
    'json',
    '--compact',
    '--quiet',
    '--skip-download',
  ])
  if (!/^\s*[{[]/.test(stdout))
    throw new Error(`checkov said no findings (hack/install-python.sh checkov brings it):\n${stderr}`)
  const { summary, results } = JSON.parse(stdout) as Report
  expect(summary.parsing_errors).toBe(0)
  const findings = results.failed_checks.map(({ check_id: check, resource }) => ({
    tool: 'checkov',
    check,
    object: resource.replace(/^([^.]+)\..*\.([^.]+)$/, '$1/$2'),
  }))
  return { tool: 'checkov', scenario, passed: summary.passed, findings }
}

const scoreOf = ({ passed, findings }: Graded): number =>
  Math.floor((10_000 * passed) / (passed + findings.length)) / 100

describe('the graders', () => {
  let graded: readonly Graded[] = []
  let findings: readonly Finding[] = []
  beforeAll(() => {
    graded = GRADED.flatMap((scenario) =>
      inFile(scenario, (file) => [kubeScore(scenario, file), checkov(scenario, file)]),
    )
    findings = graded.flatMap((each) => each.findings)
  }, 240_000)

  it.each(['kube-score', 'checkov'])(
    '%s gives each scenario its recorded score; a higher one must be recorded',
    (tool) => {
      const recorded = JSON.parse(readFileSync(SCORES, 'utf8')) as Scores
      const scores = Object.fromEntries(
        graded.filter((each) => each.tool === tool).map((each) => [each.scenario, scoreOf(each)]),
      )
      expect(graded.filter((each) => each.tool === tool && each.passed < 50)).toEqual([])
      if (UPDATE) {
        const higher = Object.fromEntries(
          Object.entries(scores).map(([scenario, score]) => [
            scenario,
            Math.max(score, recorded[tool]?.[scenario] ?? 0),
          ]),
        )
        writeFileSync(SCORES, `${JSON.stringify({ ...recorded, [tool]: higher }, null, 2)}\n`)
        expect(scores).toEqual(higher)
      } else expect(scores).toEqual(recorded[tool])
    },
  )

  it.each(['kube-score', 'checkov'])('%s finds nothing without a waiver', (tool) => {
    const open = findings.filter((each) => each.tool === tool && !waivers.some((waiver) => waives(waiver, each)))
    expect([...new Set(open.map(({ check, object }) => `${check} ${object}`))]).toEqual([])
  })

  it('waivers have a reason, and match a finding', () => {
    expect(waivers.filter((waiver) => !findings.some((each) => waives(waiver, each)))).toEqual([])
    expect(waivers.filter(({ reason }) => reason.length < 20)).toEqual([])
  })

  it('yamllint accepts every file', () => {
    const files = [
      'manifests',
      ...['values.yaml', 'Chart.yaml', 'examples', 'files'].map((name) => `charts/muster/${name}`),
    ]
    expect(
      started('yamllint', [
        '--strict',
        '-c',
        resolve('hack/chart/yamllint.yaml'),
        ...files.map((name) => resolve(name)),
      ]),
    ).toEqual({ status: 0, stdout: '', stderr: '' })
  })

  it('shellcheck accepts the scripts that install tools', () => {
    expect(
      started(
        'shellcheck',
        ['install-tools.sh', 'install-python.sh', 'install-debian.sh'].map((name) => resolve('hack', name)),
      ),
    ).toEqual({ status: 0, stdout: '', stderr: '' })
  })
})
