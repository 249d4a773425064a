/** @module dashboard/api/me  What this token may do (D32), and what a person is told about a token that may do nothing here. */
import type { MeBody } from '../../protocol/index.ts'
import type { Api } from './client.ts'
import { asProblem, type Problem } from './problem.ts'

export type Me = MeBody
/** What decides what is shown. */
export type Rights = Pick<Me, 'role' | 'automations'>

export type TokenCheck =
  | { readonly kind: 'accepted'; readonly me: Me }
  | { readonly kind: 'not_accepted' }
  | { readonly kind: 'worker' }
  | { readonly kind: 'no_answer'; readonly problem: Problem }

export async function checkToken(api: Api, signal?: AbortSignal): Promise<TokenCheck> {
  try {
    const { body: me } = await api.get<Me>(['me'], {}, signal)
    return me.role === 'worker' ? { kind: 'worker' } : { kind: 'accepted', me }
  } catch (error) {
    const problem = asProblem(error)
    return problem.status === 401 || problem.status === 403 ? { kind: 'not_accepted' } : { kind: 'no_answer', problem }
  }
}

/** What the person reads; null: nothing is wrong. */
export function checkText(check: TokenCheck): string | null {
  switch (check.kind) {
    case 'accepted':
      return null
    case 'not_accepted':
      return 'The master does not accept this token. Check that it was copied whole, and that it was not replaced since.'
    case 'worker':
      return 'This is a worker token. The dashboard needs an admin token, or one scoped to automation types.'
    case 'no_answer':
      return check.problem.status === null
        ? 'The master does not answer. The token was not checked; try again when the master is back.'
        : `The master could not check the token: ${check.problem.message}.`
  }
}

/** The short form beside the sign-out button. */
export function roleText({ role, automations }: Rights): string {
  if (role !== 'scoped') return role
  const [first = 'nothing', ...more] = automations
  if (first === '*') return 'scoped: all types'
  return `scoped: ${first}${more.length > 0 ? `, +${more.length}` : ''}`
}

/** A token can be a header value: printable ASCII without spaces. */
export const isTokenText = (text: string): boolean => /^[\x21-\x7e]+$/.test(text)
