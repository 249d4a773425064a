/** @module dashboard/overview/attention-text  Shows the text of a problem, cut to what fits into the attention list. */
import { cutText } from '../components/json-text.ts'
import type { Attention } from '../diagnosis/attention.ts'

const SHOWN_CHARACTERS = 400

export function AttentionText({ item: { text } }: { readonly item: Pick<Attention, 'text'> }) {
  return <bdi>{cutText(text, SHOWN_CHARACTERS)}</bdi>
}
