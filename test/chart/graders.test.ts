/** What kube-score, checkov and yamllint say of the render and of the files: nothing that test/chart/waivers.yaml does not answer (R3). */
import { beforeAll, describe, expect, it } from '@jest/globals'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { parse } from 'yaml'
import { started } from '../hack/tree.ts'
import { render, run, SCENARIOS, type Json } from './chart.ts'

interface Waiver { readonly tool: string; readonly check: string; readonly object: string; readonly reason: string }
interface Finding { readonly tool: string; readonly check: string; readonly object: string }
type Grade = { readonly object_name: string; readonly checks: readonly { readonly check: { readonly id: string }; readonly grade: number; readonly skipped: boolean }[] }
type Report = { readonly summary: { readonly passed: number; readonly parsing_errors: number }; readonly results: { readonly failed_checks: readonly { readonly check_id: string; readonly resource: string }[] } }

const GRADED = ['default', 'production', 'everything']
const OK_GRADE = 10
const CHECKOV = resolve('.tools/checkov/bin/checkov')
const waivers = parse(readFileSync('test/chart/waivers.yaml', 'utf8')) as readonly Waiver[]
const isLike = (pattern: string, text: string): boolean => new RegExp(`^${pattern.replaceAll('*', '.*')}$`).test(text)
const waives = (waiver: Waiver, { tool, check, object }: Finding): boolean => waiver.tool === tool && waiver.check === check && isLike(waiver.object, object)

/** The files of each graded scenario, with the namespace that Helm would give. */
function inFiles<T>(inside: (folder: string) => T): T {
  const folder = mkdtempSync(join(tmpdir(), 'muster-graders-'))
  try {
    for (const name of GRADED) {
      const objects = render(SCENARIOS[name] as Json).map((each) => ({ ...each, metadata: { namespace: 'muster', ...each.metadata } }))
      writeFileSync(join(folder, `${name}.yaml`), objects.map((each) => JSON.stringify(each)).join('\n---\n'))
    }
    return inside(folder)
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

function kubeScore(folder: string): readonly Finding[] {
  return GRADED.flatMap((name) => {
    const grades = JSON.parse(run('kube-score', ['score', '--output-format', 'json', join(folder, `${name}.yaml`)]).stdout) as readonly Grade[]
    return grades.flatMap(({ object_name: id, checks }) => checks.filter(({ grade, skipped }) => !skipped && grade < OK_GRADE).map(({ check }) => ({ tool: 'kube-score', check: check.id, object: id.replace(/^([^/]+)\/.*\/([^/]+)$/, '$1/$2') })))
  })
}

function checkov(folder: string): readonly Finding[] {
  const { stdout, stderr } = started(CHECKOV, ['--directory', folder, '--framework', 'kubernetes', '--output', 'json', '--compact', '--quiet', '--skip-download'])
  if (!/^\s*[{[]/.test(stdout)) throw new Error(`checkov said no findings (hack/install-python.sh checkov brings it):\n${stderr}`)
  const report = JSON.parse(stdout) as Report
  expect([report.summary.passed > 500, report.summary.parsing_errors]).toEqual([true, 0])
  return report.results.failed_checks.map(({ check_id: check, resource }) => ({ tool: 'checkov', check, object: resource.replace(/^([^.]+)\..*\.([^.]+)$/, '$1/$2') }))
}

describe('the graders', () => {
  let findings: readonly Finding[] = []
  beforeAll(() => {
    findings = inFiles((folder) => [...kubeScore(folder), ...checkov(folder)])
  }, 240_000)

  it.each(['kube-score', 'checkov'])('%s finds nothing that is not answered', (tool) => {
    const open = findings.filter((each) => each.tool === tool && !waivers.some((waiver) => waives(waiver, each)))
    expect([...new Set(open.map(({ check, object }) => `${check} ${object}`))]).toEqual([])
  })

  it('are answered with a reason, and only where they ask', () => {
    expect(waivers.filter((waiver) => !findings.some((each) => waives(waiver, each)))).toEqual([])
    expect(waivers.filter(({ reason }) => reason.length < 20)).toEqual([])
  })

  it('yamllint takes every file', () => {
    const files = ['manifests', ...['values.yaml', 'Chart.yaml', 'examples', 'files'].map((name) => `charts/muster/${name}`)]
    expect(started('yamllint', ['--strict', '-c', resolve('hack/chart/yamllint.yaml'), ...files.map((name) => resolve(name))])).toEqual({ status: 0, stdout: '', stderr: '' })
  })

  it('shellcheck takes the scripts that bring tools', () => {
    expect(started('shellcheck', ['install-tools.sh', 'install-python.sh', 'install-debian.sh'].map((name) => resolve('hack', name)))).toEqual({ status: 0, stdout: '', stderr: '' })
  })
})
