/**
 * Checks the Kubernetes part of the tutorial: each command and file of it is one of README.md, which `make e2e` runs in
 * a cluster in this order. test/docs.test.ts runs the other parts.
 */
import { readFileSync } from 'node:fs'
import { describe, expect, it } from '@jest/globals'
import { type Step, stepsOf } from './page.ts'

const textOf = (page: string, heading: string): string =>
  readFileSync(page, 'utf8').split(`\n## ${heading}\n`)[1]?.split('\n## ')[0] ?? ''
/** A step as text, without the line of the page that it is on. */
const contentOf = (step: Step): string => JSON.stringify({ ...step, line: 0 })

describe('the Kubernetes part of the tutorial', () => {
  const tested = stepsOf(textOf('README.md', 'On Kubernetes'), true).map(contentOf)
  const steps = stepsOf(textOf('docs/tutorial.md', '8. On Kubernetes'), true)

  it('contains only commands, outputs and files that README.md contains, in the same order', () => {
    const places = steps.map((step) => tested.indexOf(contentOf(step)))
    expect(places).not.toContain(-1)
    expect(places).toEqual(places.toSorted((a, b) => a - b))
  })

  it('installs, configures and uninstalls', () => {
    const scripts = steps.flatMap((step) => ('script' in step ? [step.script.split(' ').slice(0, 2).join(' ')] : []))
    expect(scripts).toEqual(['helm install', 'kubectl apply', 'helm uninstall'])
  })
})
