import { execFileSync } from 'node:child_process'
import { describe, expect, it } from '@jest/globals'
import fc from 'fast-check'
import { curlCommand, musterCommand, shellQuote } from '../../../src/dashboard/components/commands.ts'

const BASE = new URL('https://host/fleet/api/v1/')
/** The arguments that a shell parses from the command. */
const words = (line: string): string[] =>
  execFileSync('sh', ['-c', `for each in ${line}; do printf '%s\\0' "$each"; done`], {
    env: { SVC_API_TOKEN: 'the token' },
  })
    .toString()
    .split('\0')
    .slice(0, -1)

describe('a command to copy', () => {
  it('quotes names with any characters', () => {
    for (const text of ['m-7', 'a b', '$(reboot)', '`x`', "'; rm -rf / #", '-n', 'é\u202E', '"', '\\', '*', ''])
      expect([text, ...words(`x ${shellQuote(text)}`).slice(1)]).toEqual([text, text])
    fc.assert(
      fc.property(
        fc.string({ unit: 'grapheme' }).filter((text) => !text.includes('\0')),
        (text) => {
          expect(
            shellQuote(text)
              .replaceAll(String.raw`'\''`, '')
              .replaceAll(/^'|'$/g, ''),
          ).not.toContain("'")
        },
      ),
    )
  })

  it('repeats a parameter with several values', () => {
    const path = ['automations', 'mailer', 'tasks']
    const { text } = curlCommand(BASE, { method: 'GET', path, query: { label: ['tenant:acme', 'env:a b'], text: 'x' } })
    expect(words(text).at(-1)).toBe(
      'https://host/fleet/api/v1/automations/mailer/tasks?label=tenant%3Aacme&label=env%3Aa+b&text=x',
    )
  })

  it('is the same call with curl, with the token from the environment', () => {
    const { text } = curlCommand(BASE, {
      method: 'PATCH',
      path: ['automations', 'mailer', 'workers', 'a b'],
      body: { name: "it's" },
      headers: { 'if-match': '"e.1"' },
      query: { n: 5 },
    })
    expect(words(text)).toEqual([
      'curl',
      '-sS',
      '-X',
      'PATCH',
      '-H',
      'Authorization: Bearer the token',
      '-H',
      'if-match: "e.1"',
      '-H',
      'Content-Type: application/json',
      '-d',
      '{"name":"it\'s"}',
      'https://host/fleet/api/v1/automations/mailer/workers/a%20b?n=5',
    ])
  })

  it('calls muster with the URL of the current master', () => {
    expect(musterCommand(BASE, 'workers', 'drain', 'mailer/m-7').text).toBe(
      'muster workers drain mailer/m-7 --master-url https://host/fleet',
    )
  })
})
