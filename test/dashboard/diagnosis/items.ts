/** @module test/dashboard/diagnosis/items  Makes items of the attention list. */
import type { Attention } from '../../../src/dashboard/diagnosis/attention.ts'

export const attentionItem = (part: Partial<Attention> = {}): Attention => ({
  kind: 'error',
  item: part.kind ?? 'error',
  type: 'mailer',
  tone: 'bad',
  subject: 'mailer',
  text: '2 workers are in ERROR: timeout',
  rate: null,
  since: null,
  count: 2,
  link: { text: 'Show workers', href: '#/workers' },
  act: { text: 'Show workers', href: '#/workers', needs: null },
  mark: 'timeout',
  affected: [],
  ...part,
})
